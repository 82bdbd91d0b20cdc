"""Commands in hints exist and have the options that the hints name.

The test reads each string of the program with a command of olmkit, the output of golden cases,
and the pages of the reference.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from olmkit.cli import main

_ROOT = Path(__file__).resolve().parents[2]
_COMMAND = re.compile(r"`(olmkit(?: [^`]*)?)`")
_OPTION = re.compile(r"`(--?[a-z][-a-z]*)(?: [^`]*)?`")
_HINT = re.compile(r"^(?:hint: |\s+\"hint\": )(?P<words>.*)$", re.MULTILINE)
# The modules whose hints `why` prints; `install`, `upgrade` and `status` also print them.
_EXPLAIN = ("olmkit/olm/explain", "olmkit/olm/v1/explain.py", "olmkit/olm/v1/messages.py",
            "olmkit/olm/v1/catalogs.py")  # fmt: skip


def problem(command: str) -> str:
    """Return the error in a command; empty if it is valid."""
    try:
        words = shlex.split(command)[1:]
    except ValueError:
        return "its quotes do not match"
    found: click.Command = main.root
    context = click.Context(found)
    while isinstance(found, click.Group) and words and not words[0].startswith("-"):
        below = found.get_command(context, words[0])
        if below is None:
            return f"there is no command `{words[0]}`"
        found, words = below, words[1:]
    options = {
        name: param
        for param in found.params
        if isinstance(param, click.Option)
        for name in (*param.opts, *param.secondary_opts)
    }
    return _arguments(found, options, words)


def _arguments(command: click.Command, options: dict[str, click.Option], words: list[str]) -> str:
    count = 0
    while words:
        name, _, value = words.pop(0).partition("=")
        if not re.match(r"--?[a-z]", name):
            count += 1
            continue
        option = options.get(name)
        if option is None:
            if name in ("-h", "--help", "--version"):
                continue
            return f"it has no option `{name}`"
        if not option.is_flag and not option.count and not value and words:
            value = words.pop(0)
        if isinstance(option.type, click.Choice) and value.islower():
            choices = [str(getattr(one, "value", one)) for one in option.type.choices]
            if value not in choices:
                return f"`{name}` does not take `{value}`"
    places = [one for one in command.params if isinstance(one, click.Argument)]
    if any(place.nargs == -1 for place in places) or isinstance(command, click.Group):
        return ""
    return f"it takes {len(places)} arguments, not {count}" if count > len(places) else ""


def _literals(path: Path) -> Iterator[str]:
    """Return the strings of a module; a replacement field counts as one word."""
    tree = ast.parse(path.read_text("utf-8"))
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
             for part in ast.walk(node) if part is not node}  # fmt: skip
    for node in ast.walk(tree):
        if id(node) in inner:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values
            ).replace("X--", "--")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _commands(text: str) -> Iterator[str]:
    for found in _COMMAND.finditer(text):
        yield " ".join(found[1].replace("…", "").replace("[", "").replace("]", "").split())


def sources() -> list[tuple[str, str]]:
    found = {
        (path.relative_to(_ROOT).as_posix(), command)
        for path in sorted((_ROOT / "olmkit").rglob("*.py"))
        for text in _literals(path)
        for command in _commands(text)
    }
    return sorted(found)


def outputs() -> list[tuple[str, str]]:
    found = set()
    for path in sorted((_ROOT / "tests/golden").rglob("*")):
        is_output = path.name in ("stdout", "stderr") or path.parent.parent.name == "broken"
        if path.is_file() and is_output:
            for hint in _HINT.finditer(path.read_text("utf-8", "replace")):
                for command in _commands(hint["words"]):
                    found.add((path.relative_to(_ROOT / "tests/golden").as_posix(), command))
    return sorted(found)


def pages() -> list[tuple[str, str]]:
    return sorted({
        (path.relative_to(_ROOT).as_posix(), command)
        for path in sorted((_ROOT / "docs/reference").rglob("*.md"))
        for command in _commands(path.read_text("utf-8"))
    })  # fmt: skip


@pytest.mark.parametrize("where", [sources, outputs, pages])
def test_each_command_in_a_hint_is_valid(where: object) -> None:
    found = where()  # type: ignore[operator]
    assert len(found) > 10
    wrong = [f"{place}: `{command}`: {said}" for place, command in found
             if (said := problem(command))]  # fmt: skip
    assert not wrong, "\n".join(wrong)


def test_options_without_a_command_are_those_of_why() -> None:
    """A hint that `why` prints names an option of `why`, or the whole command."""
    why = main.root.get_command(click.Context(main.root), "why")
    assert why is not None
    own = {name for param in why.params for name in (*param.opts, *param.secondary_opts)}
    wrong = []
    for place in _EXPLAIN:
        path = _ROOT / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    if node.value.count("\n") > 1:  # a docstring
                        continue
                    options = {found[1] for found in _OPTION.finditer(node.value)} - own
                    wrong += [f"{file.name}:{node.lineno}: {one}" for one in sorted(options)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("olmkit why X -n apps", ""),
        ("olmkit why X --channel beta", "no option"),
        ("olmkit explode", "no command"),
        ("olmkit why X Y", "takes 1"),
        ("olmkit why X --olm v7", "does not take"),
        ("olmkit catalog init X -c beta", ""),
    ],
)
def test_an_invalid_command_is_detected(command: str, said: str) -> None:
    assert said in problem(command) and bool(said) == bool(problem(command))  # noqa: PT018
