"""The tables of the pages for users of opm and operator-sdk."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

CODE = re.compile(r"`([^`]+)`")
PROGRAMS = ("opm", "operator-sdk")
_FOLDER = Path(__file__).resolve().parents[1] / "docs/how-to"


def text_of(program: str) -> str:
    """The page for users of that program."""
    return (_FOLDER / f"move-from-{program}.md").read_text(encoding="utf-8")


def rows(program: str) -> Iterator[tuple[str, str]]:
    """Return the rows of all tables: the features of the program, and those of olmkit."""
    heads = ("| ---", f"| {program}", "| target")
    for line in text_of(program).splitlines():
        if line.startswith("| ") and not line.startswith(heads):
            theirs, ours = (cell.strip() for cell in line.strip("|").split(" | "))
            yield theirs, ours


def path_of(words: list[str]) -> str:
    """Return the names of commands at the beginning."""
    named = itertools.takewhile(lambda word: re.fullmatch(r"[a-z][a-z0-9-]*", word), words)
    return " ".join(named)


def options_of(words: list[str]) -> list[str]:
    """Return the options among arguments."""
    return [word for word in words if re.match(r"--?[A-Za-z]", word)]
