"""The man pages of olmkit, from the same help texts as docs/reference/commands.md."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from olmkit.cli import main as program
from olmkit.cli import table
from olmkit.cli.frame.app import Command

FOLDER = "man"
_WIDTH = 10_000  # man wraps lines itself
_EXIT_CODES = (
    ("0", "Success."),
    ("1", "The check failed, for example findings of severity error."),
    ("2", "Invalid usage or configuration."),
    ("3", "An error of a registry, a cluster or the disk; a retry can help."),
    ("70", "An internal error of olmkit."),
    ("130", "Interrupted by Ctrl-C, or by SIGTERM while it uses the network."),
    ("143", "Terminated by SIGTERM."),
)


def pages() -> dict[str, str]:
    """Return path → page: `olmkit.1`, one of each group, and one of each command."""
    paths = ["", *table.GROUPS, *table.COMMANDS]
    groups = {path.rpartition(" ")[0] for path in table.COMMANDS}
    paths += sorted(group for group in groups if group and group not in table.GROUPS)
    return {f"{FOLDER}/{_name(path)}.1": _page(path) for path in sorted(paths)}


def _name(path: str) -> str:
    return "-".join(["olmkit", *path.split()])


def _page(path: str) -> str:
    context = _context(path)
    command = context.command
    title, summary = _name(path), _summary(path, command)
    lines = [
        f'.TH "{_text(title.upper())}" "1" "" "olmkit" "olmkit manual"',
        ".SH NAME",
        f"{_text(title)} \\- {_text(summary)}",
        ".SH SYNOPSIS",
        f".B {_text(context.command_path)}",
        _text(" ".join(command.collect_usage_pieces(context))),
        ".SH DESCRIPTION",
        *_paragraphs(command.help or summary),
    ]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for name in command.list_commands(context):
            below = f"{path} {name}".strip()
            lines += [".TP", f".BR {_text(_name(below))} (1)", _text(_summary(below, None))]
    options = [
        record
        for one in command.get_params(context)
        if isinstance(one, click.Option) and (record := _record(one, context))
    ]
    if options:
        lines.append(".SH OPTIONS")
        for words, meaning in options:
            lines += [".TP", f".B {_text(words)}", _text(meaning)]
    variables = sorted(
        {one.envvar for one in command.params if isinstance(one.envvar, str) and one.envvar}
    )
    if variables:
        lines += [".SH ENVIRONMENT", "These variables set the corresponding options:"]
        lines += [".P", _text(", ".join(variables))]
    if isinstance(command, Command) and command.example:
        lines += [".SH EXAMPLES", ".EX"]
        lines += [_text(line.strip()) for line in command.example.strip().splitlines()]
        lines.append(".EE")
    lines.append(".SH EXIT STATUS")
    for code, meaning in _EXIT_CODES:
        lines += [".TP", f".B {code}", _text(meaning)]
    above = path.rpartition(" ")[0]
    if path:
        lines += [".SH SEE ALSO", f".BR {_text(_name(above))} (1)"]
    return "\n".join(lines) + "\n"


def _context(path: str) -> click.Context:
    root = program.root
    context = click.Context(
        root, info_name="olmkit", terminal_width=_WIDTH, **root.context_settings
    )
    for word in path.split():
        assert isinstance(context.command, click.Group)
        found = context.command.get_command(context, word)
        assert found is not None, path
        context = click.Context(
            found,
            info_name=word,
            parent=context,
            terminal_width=_WIDTH,
            **found.context_settings,
        )
    return context


def _summary(path: str, command: click.Command | None) -> str:
    if path in table.COMMANDS:
        return table.COMMANDS[path].summary
    if path in table.GROUPS:
        return table.GROUPS[path]
    return (command.help or "") if command is not None else ""


def _record(option: click.Option, context: click.Context) -> tuple[str, str] | None:
    record = option.get_help_record(context)
    return None if record is None else (record[0], " ".join(record[1].split()))


def _paragraphs(text: str) -> Iterator[str]:
    for at, paragraph in enumerate(re.split(r"\n\s*\n", text.strip())):
        if at:
            yield ".P"
        yield _text(" ".join(paragraph.replace("\b", "").split()))


def _text(words: str) -> str:
    """Escape `words` for roff; dashes can be copied."""
    escaped = (
        words.replace("…", "...").replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    )
    escaped = "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in escaped)
    return "\\&" + escaped if escaped.startswith((".", "'")) else escaped
