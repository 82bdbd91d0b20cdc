"""Write YAML byte for byte like Go's yaml.v2 after a conversion through JSON.

Block style, two spaces, lists not indented below their key, keys in natural order (`a2` before
`a10`), strings plain where they may be, folded at 80 columns. All tools written in Go use this
form, and catalogs and bundles are compared byte by byte.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from olmkit.base.go import floats
from olmkit.base.json import text as json_text
from olmkit.base.yaml import scalars

_WIDTH: Final = 80
# Longer keys are written after a question mark; libyaml counts bytes here.
_LONGEST_KEY: Final = 128
# A reader finds a key's colon only within this many characters of its start.
_LONGEST_JSON_KEY: Final = 1024
_LONGEST_ESCAPE: Final = 6

# Certainly plain: no space to fold at, no possible number.
_SAFE: Final = re.compile(
    r"[A-Za-z/_$(][A-Za-z0-9/_.+=@$()-]*(?::[A-Za-z0-9/_.+=@$()-]+)*", re.ASCII
)
# For ASCII text. The patterns for all characters take milliseconds to compile: see `_any_special`.
_SPECIAL: Final = re.compile("[^\n -~]")
_BREAK: Final = re.compile("[\n\u2028\u2029]")
_KEY_BREAK: Final = re.compile("[\r\n\u2028\u2029]")
_SPACE_BREAK: Final = re.compile(" [\n\u2028\u2029]")
_BREAK_SPACE: Final = re.compile("[\n\u2028\u2029] ")
_INDICATOR: Final = re.compile(
    r"[#,\[\]{}&*!|>'\"%@`]|---|\.\.\.|[?:-](?=[ \t]|\Z)|.*?(?::(?=[ \t]|\Z)|[ \t]#)", re.DOTALL
)
_LONE_SPACE: Final = re.compile(r"(?<=[^ ]) (?=[^ ])")
_FIRST_SPACE: Final = re.compile(r"(?<=[^ ]) ")
_BREAK_RUN: Final = re.compile("([\u2028\u2029]+)")
_LINE: Final = re.compile("[^\n\u2028\u2029]+")
_BASE60: Final = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?", re.ASCII)
# Characters that a YAML reader refuses in JSON text, and that it folds like a line break.
_CONTROL: Final = re.compile("[\x7f-\x84\x86-\x9f\ufffe\uffff]")
_NEXT_LINE: Final = re.compile(" *\x85[ \x85]*")

_ESCAPES: Final = {
    0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r",
    27: "\\e", 0xA0: "\\_", 34: '\\"', 92: "\\\\", 0x85: "\\N", 0x2028: "\\L", 0x2029: "\\P",
}  # fmt: skip
_ESCAPED: Final = re.compile('[^ -~]|["\\\\]')
_ANYTHING: Final = re.compile(".", re.DOTALL)


class UnwritableError(ValueError):
    """A string that this form of YAML cannot represent; the message says why."""


def write(value: Any) -> str:
    """Return the text of one document. Raises `UnwritableError`."""
    parts: list[str] = []
    if type(value) is dict and value:
        _mapping(parts, value, 0, inline=False)
    elif type(value) is list and value:
        _sequence(parts, value, 0, inline=False)
    else:
        parts.append(_scalar(value, 0, 2))
    return "".join(parts)


def _mapping(parts: list[str], mapping: dict[str, Any], indent: int, *, inline: bool) -> None:
    """Yield the entries on separate lines; with `inline`, the first is already indented."""
    pad = " " * indent
    for key in natural_order(tuple(mapping)):
        value = mapping[key]
        text = _key(key)
        lead = "" if inline else pad
        inline = False
        if text is None:
            parts.append(f"{lead}? {_string(_round_trip(key), indent + 2, indent + 2)}{pad}: ")
            _below(parts, value, indent + 2)
        elif type(value) is str:
            width = indent + len(text) + 2
            parts.append(f"{lead}{text}: {_string(_round_trip(value), width, indent + 2)}")
        elif type(value) is dict and value:
            parts.append(f"{lead}{text}:\n")
            _mapping(parts, value, indent + 2, inline=False)
        elif type(value) is list and value:
            parts.append(f"{lead}{text}:\n")
            _sequence(parts, value, indent, inline=False)
        else:
            parts.append(f"{lead}{text}: {_scalar(value, indent + len(text) + 2, indent + 2)}")


def _sequence(parts: list[str], items: list[Any], indent: int, *, inline: bool) -> None:
    pad = " " * indent
    for item in items:
        parts.append("- " if inline else f"{pad}- ")
        inline = False
        _below(parts, item, indent + 2)


def _below(parts: list[str], value: Any, indent: int) -> None:
    """Yield a value on the line of its indicator, which ends at the column `indent`."""
    if type(value) is dict and value:
        _mapping(parts, value, indent, inline=True)
    elif type(value) is list and value:
        _sequence(parts, value, indent, inline=True)
    else:
        parts.append(_scalar(value, indent, indent))


def _scalar(value: Any, column: int, indent: int) -> str:
    """Return a scalar or an empty collection, with its line end."""
    match value:
        case str():
            return _string(_round_trip(value), column, indent)
        case None:
            return "null\n"
        case bool():
            return "true\n" if value else "false\n"
        case int():
            if -(2**63) <= value < 2**64:
                return f"{value}\n"
            return f"{floats.yaml_text(float(value))}\n"
        case float():
            number = floats.normal(value)
            if isinstance(number, int):
                return _scalar(number, column, indent)
            # Only minus zero has no fraction here; as JSON text it is an integer.
            return f"{floats.yaml_text(number) if number else '0'}\n"
        case list() if not value:
            return "[]\n"
        case dict() if not value:
            return "{}\n"
        case _:
            raise TypeError(f"cannot write a {type(value).__name__} as YAML")


@functools.lru_cache(maxsize=4096)
def _key(key: str) -> str | None:
    """Return a key as written on one line; None if it must follow a question mark."""
    if "\x85" in key or len(key) * _LONGEST_ESCAPE > _LONGEST_JSON_KEY:
        # As JSON text, it would span two lines, or be too long for a reader to find its colon.
        text = json_text.compact(key, escape_html=False).decode()
        if "\x85" in key or len(text) > _LONGEST_JSON_KEY:
            raise UnwritableError("could not find expected ':'")
    text = _round_trip(key)
    if len(text.encode()) > _LONGEST_KEY or _KEY_BREAK.search(text):
        return None
    return _inline(text)


def unwritable(value: Any) -> tuple[str | int, ...] | None:
    """Return the path to the first string or key that `write` refuses; None if there is none."""
    entries: Iterable[tuple[str | int, Any]]
    match value:
        case str():
            return () if _is_refused(_round_trip, value) else None
        case dict():
            entries = value.items()
        case list():
            entries = enumerate(value)
        case _:
            return None
    for key, inner in entries:
        if isinstance(key, str) and _is_refused(_key, key):
            return (key,)
        found = unwritable(inner)
        if found is not None:
            return (key, *found)
    return None


def _is_refused(write: Callable[[str], str | None], text: str) -> bool:
    try:
        write(text)
    except UnwritableError:
        return True
    return False


def _round_trip(text: str) -> str:
    """Return a string after the passage through JSON text that is read as YAML."""
    if text.isascii():
        if "\x7f" in text:
            raise UnwritableError("control characters are not allowed")
        return text
    if _CONTROL.search(text):
        raise UnwritableError("control characters are not allowed")
    if "\x85" in text:
        return _NEXT_LINE.sub(_fold_line, text)
    return text


def _fold_line(match: re.Match[str]) -> str:
    breaks = match.group().count("\x85")
    return " " if breaks == 1 else "\n" * (breaks - 1)


def _string(text: str, column: int, indent: int) -> str:
    """Return a string that starts at a column, its further lines indented, and its line end."""
    if _SAFE.fullmatch(text) and text not in scalars.WORDS:
        return text + "\n"
    if "\n" in text:
        if text[-1] == " " or _SPACE_BREAK.search(text) or _is_special(text):
            return _fold_double(_double(text), column, indent) + "\n"
        return _literal(text, indent)
    written = _inline(text)
    if written[0] == "'" and _BREAK.search(written):
        return _broken(written, column, indent) + "\n"
    if column + len(written) <= _WIDTH:
        return written + "\n"
    if written[0] == '"':
        return _fold_double(written, column, indent) + "\n"
    if written[0] == "'":
        # The string cannot be folded at its first or last character.
        return _fold(written, column, indent, 2, len(written) - 1) + "\n"
    return _fold(written, column, indent, 1, len(written)) + "\n"


def _is_special(text: str) -> bool:
    """Return whether the text has a character that needs an escape."""
    pattern = _SPECIAL if text.isascii() else _any_special()
    return pattern.search(text) is not None


@functools.cache
def _any_special() -> re.Pattern[str]:
    """Compile on first use: most text is ASCII, and this takes longer than all other patterns."""
    return re.compile("[^\n -~\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]")


@functools.cache
def _any_escaped() -> re.Pattern[str]:
    """Like `_any_special`, with quotes, backslashes and line breaks."""
    return re.compile('[^\n -~\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]|["\\\\\n\u2028\u2029]')


def _inline(text: str) -> str:
    """Return a string without folding: plain, or with the quotes that it needs."""
    if not _is_string(text):
        return _double(text)
    if not (
        text[0] == " " or text[-1] == " " or _BREAK.search(text) or _is_special(text)
    ) and not _INDICATOR.match(text):
        return text
    if _is_special(text) or _SPACE_BREAK.search(text) or _BREAK_SPACE.search(text):
        return _double(text)
    return "'" + text.replace("'", "''") + "'"


def _is_string(text: str) -> bool:
    """Return whether a reader parses the unquoted text as a string."""
    if type(scalars.plain(text)) is not str:
        return False
    if text[0] not in "+-0123456789":
        return True
    return not (_BASE60.fullmatch(text) or scalars.is_timestamp(text))


def _double(text: str) -> str:
    # Go checks for a byte order mark at the start whenever it reads a character.
    if text.startswith("\ufeff"):
        escaped = _ANYTHING
    else:
        escaped = _ESCAPED if text.isascii() else _any_escaped()
    return '"' + escaped.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code in _ESCAPES:
        return _ESCAPES[code]
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _literal(text: str, indent: int) -> str:
    hint = "2" if text[0] in " \n\u2028\u2029" else ""
    if not _BREAK.match(text[-1]):
        chomp = "-"
    elif len(text) == 1 or _BREAK.match(text[-2]):
        chomp = "+"
    else:
        chomp = ""
    pad = " " * indent
    lines = _LINE.sub(lambda match: pad + match.group(), text)
    end = "\n" if chomp == "-" else ""
    return f"|{hint}{chomp}\n{lines}{end}"


def _fold(text: str, column: int, indent: int, first: int, last: int) -> str:
    """Fold at single spaces beyond the width; only those from `first` to `last` count."""
    parts: list[str] = []
    start = 0
    while True:
        # The column of a character is that of `start` plus its distance from there.
        earliest = max(start + _WIDTH + 1 - column, first)
        match = _LONE_SPACE.search(text, earliest, last)
        if match is None:
            parts.append(text[start:])
            return "".join(parts)
        parts.append(text[start : match.start()] + "\n" + " " * indent)
        start = match.end()
        column = indent


def _fold_double(text: str, column: int, indent: int) -> str:
    parts: list[str] = []
    start = 0
    while True:
        earliest = max(start + _WIDTH + 1 - column, 2)
        match = _FIRST_SPACE.search(text, earliest, len(text) - 2)
        if match is None:
            parts.append(text[start:])
            return "".join(parts)
        parts.append(text[start : match.start()] + "\n" + " " * indent)
        start = match.end()
        column = indent
        if text[start] == " ":
            parts.append("\\")
            column += 1


def _broken(text: str, column: int, indent: int) -> str:
    """Write single-quoted text; line breaks that are not line feeds are not changed."""
    parts: list[str] = []
    lines = _BREAK_RUN.split(text)
    for number, line in enumerate(lines):
        if number % 2:
            ends = number == len(lines) - 2 and lines[-1] == "'"
            parts.append(line if ends else line + " " * indent)
            column = indent
        else:
            parts.append(_fold(line, column, indent, 0 if number else 2, len(line)))
    return "".join(parts)


def natural_order(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sort key of yaml.v2: letters after all else, runs of digits as numbers."""
    if len(keys) < 2:
        return keys
    return _natural_order(keys)


@functools.lru_cache(maxsize=4096)
def _natural_order(keys: tuple[str, ...]) -> tuple[str, ...]:
    ordered = sorted(keys)
    if all(key.isalpha() for key in ordered):
        return tuple(ordered)
    return tuple(sorted(ordered, key=functools.cmp_to_key(_compare)))


def _compare(left: str, right: str) -> int:
    for position, (one, two) in enumerate(zip(left, right, strict=False)):
        if one == two:
            continue
        if one.isalpha() or two.isalpha():
            if one.isalpha() and two.isalpha():
                return -1 if one < two else 1
            return -1 if two.isalpha() else 1
        start = 1 if "0" in (one, two) and _in_number(left, position) else 0
        first, first_end = _number(left, position, start)
        second, second_end = _number(right, position, start)
        if first != second:
            return -1 if first < second else 1
        if first_end != second_end:
            return first_end - second_end
        return -1 if one < two else 1
    return len(left) - len(right)


def _in_number(text: str, position: int) -> bool:
    """Return whether digits other than zero are directly before a position."""
    while position > 0 and text[position - 1].isdecimal():
        position -= 1
        if text[position] != "0":
            return True
    return False


def _number(text: str, position: int, value: int) -> tuple[int, int]:
    while position < len(text) and text[position].isdecimal():
        value = value * 10 + ord(text[position]) - 48
        position += 1
    # Go counts in 64 bits and ignores overflows.
    return (value + 2**63) % 2**64 - 2**63, position
