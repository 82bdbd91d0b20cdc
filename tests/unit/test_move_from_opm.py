"""The page for users of opm: each command and each option of olmkit that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from olmkit.cli import main
from olmkit.cli.frame import other_names
from olmkit.cli.table import COMMANDS, GROUPS

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/move-from-opm.md"
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split(" | "))
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| opm"))
]
CODE = re.compile(r"`([^`]+)`")


def _commands(cell: str) -> list[list[str]]:
    return [text.split() for text in CODE.findall(cell) if text.startswith("olmkit ")]


def _command(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that the words name, and those behind its name."""
    for length in (3, 2, 1):
        path = " ".join(words[1 : 1 + length])
        if path in COMMANDS:
            group: click.Command = main.root
            for name in path.split():
                assert isinstance(group, click.Group)
                found = group.get_command(click.Context(group), name)
                assert found is not None, path
                group = found
            return group, words[1 + length :]
    raise AssertionError(f"`{' '.join(words)}` does not exist")


def _check(words: list[str]) -> None:
    if words[1:] == ["--version"]:
        return
    command, rest = _command(words)
    options = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    for word in rest:
        if word.startswith("-"):
            assert word in options, f"`{' '.join(words)}`: `{word}` does not exist"


def test_the_page_has_its_tables() -> None:
    assert len(ROWS) > 60
    assert {len(row) for row in ROWS} == {2}
    for _, ours in ROWS:
        assert _commands(ours) or ours.startswith(("none", "the same", "as `opm")), ours


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_each_command_and_option_of_the_page_exists(row: tuple[str, str]) -> None:
    for words in _commands(row[1]):
        _check(words)


def test_each_command_elsewhere_on_the_page_exists() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for line in re.findall(r"^\$ (olmkit .*)$", text, re.MULTILINE):
        _check(line.split())


def test_the_command_line_names_the_same_commands() -> None:
    """`olmkit` with the words of opm suggests what the page says, where it says one command."""
    asked: set[str] = set()
    for theirs, ours in ROWS[: [row[0] for row in ROWS].index("`opm registry mirror`") + 1]:
        words = CODE.findall(theirs)[0].removeprefix("opm ").split()
        names = [word for word in words if re.fullmatch(r"[a-z][a-z-]*", word)]
        path = " ".join(names)
        if path == "validate":
            continue  # what `olmkit validate` may mean: bundles are validated more often
        if path in asked:
            continue  # the first row of a command says what it is
        if path in COMMANDS or names[0] in COMMANDS or not _commands(ours):
            continue  # of the same name, or without a counterpart
        meant, *_ = other_names.suggestions("", names, [*COMMANDS, *GROUPS])
        suggested = meant.partition(" --")[0]
        expected = " ".join(_commands(ours)[0][1:])
        is_same = expected.startswith(suggested)
        is_general = suggested == "catalog render-template" and expected.startswith(
            "catalog template"
        )
        assert meant, path
        assert is_same or is_general, f"{path}: {meant}, the page has {expected}"
        asked.add(path)
    assert len(asked) >= 20
