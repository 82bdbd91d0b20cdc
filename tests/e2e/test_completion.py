"""Completion in the shells themselves: the suggestions for a partly typed line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

pytestmark = pytest.mark.e2e

# Loads the script as a user does, and prints the suggestions.
BASH = r"""
source <(olmkit completion bash)
COMP_WORDS=(@WORDS@); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}
function=$(complete -p olmkit | sed 's/.*-F \([^ ]*\) .*/\1/')
$function olmkit "${COMP_WORDS[COMP_CWORD]}" ""
printf '%s\n' "${COMPREPLY[@]}"
"""
FISH = """
olmkit completion fish | source
complete --do-complete "@LINE@" | string replace -r '\\t.*' ''; true
"""
# zsh only completes in a terminal: a second zsh in a pseudo-terminal gets the line and a tab.
ZSH = r"""
zmodload zsh/zpty
zpty -b shell zsh -f -i
zpty -w shell 'PROMPT=; RPROMPT=; unsetopt zle_bracketed_paste'
zpty -w shell 'autoload -Uz compinit && compinit -u -D'
zpty -w shell 'zstyle ":completion:*" list-prompt ""; LISTMAX=1000'
zpty -w shell 'setopt no_beep list_ambiguous auto_list'
zpty -w shell 'source <(olmkit completion zsh); print ready-""now'
zpty -r -m shell seen '*ready-now*'
rm -f "$HOME/asked"
zpty -w -n shell $'@LINE@\t\t'
# zsh shows no suggestions if it has more input to read, so it gets none before olmkit has ended.
until [[ -e "$HOME/asked" ]]; do sleep 0.1; done
sleep 2
# This empties the line, and prints a word.
zpty -w shell $'\x15print fin-""ished'
zpty -r -m shell seen '*fin-ished*'
print -rn -- "$seen"
zpty -d shell
"""


@pytest.fixture
def complete(tmp_path: Path, missing: Callable[[str], NoReturn]) -> Callable[[str, str], str]:
    """Return the completions of a shell for a line."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/olmkit"
    program.write_text(
        f'#!/bin/sh\n{sys.executable} -m olmkit "$@"; code=$?; touch "$HOME/asked"; exit $code\n'
    )
    program.chmod(0o755)

    def run(shell: str, line: str) -> str:
        if shutil.which(shell) is None:
            missing(f"no {shell} here")
        words = line.split(" ")
        quoted = " ".join(f"'{word}'" for word in words)
        script = {"bash": BASH, "fish": FISH, "zsh": ZSH}[shell]
        options = {"bash": ["--norc"], "fish": ["--no-config"], "zsh": ["-f"]}[shell]
        done = subprocess.run(
            [shell, *options, "-c", script.replace("@WORDS@", quoted).replace("@LINE@", line)],
            capture_output=True,
            text=True,
            check=True,
            env={
                **os.environ,
                "PATH": f"{program.parent}:{os.environ['PATH']}",
                "HOME": str(tmp_path),
                "TERM": "dumb",
                "LC_ALL": "C.UTF-8",
            },
            timeout=300,
        )
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\x07", "", done.stdout)

    return run


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "offered", "not_offered"),
    [
        ("olmkit bun", ["bundle"], ["catalog"]),
        ("olmkit catalog list ", ["bundles", "channels", "packages"], ["validate"]),
        ("olmkit bundle generate --ver", ["--version", "--verbose"], ["--channels"]),
        ("olmkit completion ", ["bash", "zsh", "fish"], ["catalog"]),
    ],
)
def test_a_shell_suggests_what_can_follow(
    shell: str,
    line: str,
    offered: list[str],
    not_offered: list[str],
    complete: Callable[[str, str], str],
) -> None:
    words = complete(shell, line).split()
    assert set(offered) <= set(words), words
    assert not set(not_offered) & set(words), words
