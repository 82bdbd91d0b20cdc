"""The completion scripts for shells."""

from __future__ import annotations

import pytest

from olmkit.cli import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["completion", shell]) == 0
    assert "_OLMKIT_COMPLETE" in capsys.readouterr().out


def test_fish_shows_whole_descriptions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["completion", "fish"]) == 0
    assert '(string split --max 1 "," $completion)' in capsys.readouterr().out
