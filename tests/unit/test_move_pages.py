"""The pages for users of opm and operator-sdk: named commands exist, in olmkit and there."""

from __future__ import annotations

import re

import click
import pytest

from olmkit.cli import main
from olmkit.cli.frame import other_names
from olmkit.cli.table import COMMANDS, GROUPS
from tests.move_pages import CODE, PROGRAMS, options_of, path_of, rows, text_of

PATHS = [*COMMANDS, *GROUPS]
ROWS = [(program, *row) for program in PROGRAMS for row in rows(program)]


def _commands(cell: str) -> list[list[str]]:
    return [text.split() for text in CODE.findall(cell) if text.startswith("olmkit ")]


def _command(words: list[str]) -> click.Command:
    """Return the command in these words."""
    path = other_names.command_of(words[1:], PATHS)
    assert path in COMMANDS, f"`{' '.join(words)}` does not exist"
    group: click.Command = main.root
    for name in path.split():
        assert isinstance(group, click.Group)
        found = group.get_command(click.Context(group), name)
        assert found is not None, path
        group = found
    return group


def _names(words: list[str]) -> set[str]:
    params = _command(words).params
    return {name for param in params for name in (*param.opts, *param.secondary_opts)}


def _check(words: list[str]) -> None:
    if words[1:] == ["--version"]:
        return
    known = _names(words)
    for word in options_of(words):
        assert word in known, f"`{' '.join(words)}`: `{word}` does not exist"


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_page_has_its_tables(program: str) -> None:
    found = list(rows(program))
    assert len(found) > 60
    for _, ours in found:
        assert _commands(ours) or ours.startswith(("none", "the same", "as `opm", "`--verbose`"))


@pytest.mark.parametrize(("program", "theirs", "ours"), ROWS)
def test_each_command_and_option_of_a_row_exists(program: str, theirs: str, ours: str) -> None:
    named = [words for words in _commands(ours) if words[1:] != ["--version"]]
    for words in named:
        _check(words)
    known = {name for words in named for name in _names(words)}
    for code in CODE.findall(ours) if known else ():
        if code.startswith("-"):
            assert code.split()[0] in known, f"{program}: `{code}` does not exist"
    if known and ours.startswith("the same"):
        assert (
            set(options_of([code for cell in CODE.findall(theirs) for code in cell.split()]))
            <= known
        )


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_command_of_another_tool_on_a_page_exists(program: str) -> None:
    for line in re.findall(r"^\$ (olmkit .*)$", text_of(program), re.MULTILINE):
        _check(line.split())


@pytest.mark.parametrize(("program", "least"), [("opm", 20), ("operator-sdk", 8)])
def test_the_command_line_suggests_the_same_commands(program: str, least: int) -> None:
    """`olmkit` with a command of another program suggests the command on the page."""
    asked: set[str] = set()
    for theirs, ours in rows(program):
        words = CODE.findall(theirs)[0].removeprefix(f"{program} ").split()
        if not theirs.startswith(f"`{program} "):
            continue
        path = path_of(words)
        if path in asked or not _commands(ours):
            continue  # The first row of a command has its meaning.
        expected = " ".join(_commands(ours)[0][1:])
        meant, *_ = other_names.suggestions("", [program, *path.split()], PATHS)
        assert expected.startswith(meant.partition(" --")[0]), f"{path}: {meant}, not {expected}"
        asked.add(path)
    assert len(asked) >= least
