"""The entry point: help and version without importing the command-line library.

Importing that library takes longer than starting the interpreter, and the help of olmkit itself is
requested most often. `olmkit.cli.main` does everything else. A test compares the help with that of
the library.
"""

from __future__ import annotations

import os
import sys

from olmkit import __version__
from olmkit.cli.table import COMMANDS, EPILOG, GROUPS, MAX_WIDTH, SECTIONS, SUMMARY

# Only for types: importing `typing` takes milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_HELP = ((), ("-h",), ("--help",))
_OPTIONS = (
    ("--version", "Show the version and exit."),
    ("-h, --help", "Show this message and exit."),
)
_NARROWEST = 50


def main() -> None:
    """Run the program and end it with the exit code of the cause."""
    text = _text(tuple(sys.argv[1:]))
    if not text or not _write(text):
        from olmkit.cli import main as program

        program.main()


def _text(arguments: Sequence[str]) -> str:
    """Return the output of a command line without a command; empty for all others."""
    if "_OLMKIT_COMPLETE" in os.environ:
        return ""
    if arguments in _HELP:
        return first_page(_columns())
    return f"olmkit {__version__}\n" if arguments == ("--version",) else ""


def _write(text: str) -> bool:
    """Write to stdout; return False if that fails, which the program reports."""
    if sys.stdout is None:
        return False
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except (OSError, UnicodeError):
        return False
    return True


def _columns() -> int:
    """Return the width of the terminal, like `shutil.get_terminal_size`."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1).columns or 80
    except (AttributeError, ValueError, OSError):
        return 80


def first_page(columns: int) -> str:
    """Return the help of olmkit itself for a terminal of that width."""
    width = max(min(columns, MAX_WIDTH) - 2, _NARROWEST)
    lines = ["Usage: olmkit [OPTIONS] COMMAND [ARGS]...", ""]
    lines += [f"  {line}" for line in _wrap(SUMMARY, width - 2)]
    lines += ["", "Options:", *_definitions(_OPTIONS, width)]
    left = sorted({path.partition(" ")[0] for path in (*COMMANDS, *GROUPS)})
    longest = max(map(len, left))
    sections = [*SECTIONS.items(), ("Other", ())]
    for title, names in sections:
        shown = names or left
        rows = [(name.ljust(longest), _summary(name)) for name in shown]
        lines += ["", f"{title}:", *_definitions(rows, width)]
        left = [name for name in left if name not in shown]
    lines += ["", *(f"  {line}" for line in _wrap(EPILOG, width - 2))]
    return "\n".join(lines) + "\n"


def _summary(name: str) -> str:
    return COMMANDS[name].summary if name in COMMANDS else GROUPS[name]


def _definitions(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Format terms and their descriptions in two columns."""
    column = max(len(term) for term, _ in rows) + 2
    for term, text in rows:
        first, *others = _wrap(text, width - column - 2)
        yield f"  {term.ljust(column)}{first}"
        yield from (f"  {'':>{column}}{line}" for line in others)


def _wrap(text: str, width: int) -> Iterator[str]:
    """Wrap to lines of at most `width` characters, unless a word is longer."""
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line
