from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.base import diagnostics
from olmkit.cli import main
from olmkit.rules import codes, pages


def test_the_docs_of_every_code_are_an_existing_page_and_anchor(root: Path) -> None:
    for code in codes.register().values():
        path, _, anchor = diagnostics.docs_page(code.code).partition("#")
        text = (root / path).read_text()
        assert text.count(f"\n## {anchor.upper()}\n") == 1
        assert code.doc in text


def test_the_command_of_every_code_prints_its_page(capsys: pytest.CaptureFixture[str]) -> None:
    for code in ("CSV012", "API004", "PRJ101", "FBC902", "BUG001"):
        assert main.run(diagnostics.explain_command(code).split()[1:]) == 0
        assert codes.find(code).doc.splitlines()[0] in capsys.readouterr().out


def test_the_index_names_profiles_and_rules() -> None:
    index = pages.pages().data(f"{pages.FOLDER}/README.md").decode()

    assert "| `operatorhub` |" in index
    assert "[CSV012](csv.md#csv012) `repeated-install-mode`" in index


def test_the_pages_in_the_repository_are_up_to_date(root: Path) -> None:
    made = {path: file.data for path, file in pages.pages().items()}
    found = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in (root / pages.FOLDER).iterdir()
    }

    assert found == made, "run `make docs`"
