"""Break long lines of Python like formatters do.

Templates and statements are written for short names. A long line is broken inside its last
brackets, or those of a function's parameters: first into one line for the contents, then into one
line for each item.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

MAX_LINE = 100

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_IMPORT = re.compile(r"from (\S+) import ([^()#]+)")


def text(value: str) -> str:
    """Return a Python string literal, with the quotes that need fewer escapes."""
    inside = json.dumps(value, ensure_ascii=False)[1:-1]
    if value.count('"') <= value.count("'"):
        return f'"{inside}"'
    return "'" + inside.replace('\\"', '"').replace("'", "\\'") + "'"


def shaped(source: str) -> str:
    """Return a source text with all long lines broken."""
    return "\n".join(part for line in source.split("\n") for part in broken(line))


def import_lines(module: str, names: Sequence[str]) -> list[str]:
    """Return the lines of an import."""
    line = f"from {module} import {', '.join(names)}"
    return [line] if len(line) <= MAX_LINE else import_block(module, names)


def import_block(module: str, names: Sequence[str]) -> list[str]:
    """Return the lines of an import with one for each name."""
    return [f"from {module} import (", *(f"    {name}," for name in names), ")"]


def broken(line: str) -> list[str]:
    """Return a line, or the lines that it is broken into; one without brackets is not changed."""
    if len(line) <= MAX_LINE:
        return [line]
    if found := _IMPORT.fullmatch(line):
        return import_lines(found[1], found[2].split(", "))
    groups = [(start, end) for start, end in _groups(line) if end > start + 1]
    if not groups:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    is_function = line.lstrip().startswith(("def ", "async def "))
    start, end = groups[0 if is_function else -1]
    inner = indent + "    "
    name, is_assigned, value = line.partition(" = ")
    if start >= MAX_LINE and is_assigned:
        return [f"{name} = (", inner + value, f"{indent})"]
    items = list(_items(line[start + 1 : end]))
    whole = inner + ", ".join(items) + ("," if is_function and len(items) == 1 else "")
    # Several items of a list or a similar literal get a line each, those of a call only if needed.
    is_display = len(items) > 1 and not re.search(r"[\w\])]$", line[:start])
    if len(whole) <= MAX_LINE and not is_display:
        middle = [whole]
    elif len(items) == 1:
        middle = broken(whole)
    else:
        middle = [part for item in items for part in broken(f"{inner}{item},")]
    return [line[: start + 1], *middle, indent + line[end:]]


def _items(inside: str) -> Iterator[str]:
    """Yield the comma-separated parts; ignore commas in brackets and strings."""
    start = 0
    for place, character, depth in _code(inside):
        if character == "," and depth == 0:
            yield inside[start:place].strip()
            start = place + 1
    if rest := inside[start:].strip():
        yield rest


def _groups(line: str) -> Iterator[tuple[int, int]]:
    """Yield the positions of the outer brackets of a line; none if the line is incomplete."""
    found: list[tuple[int, int]] = []
    opened = depth = 0
    for place, character, depth in _code(line):
        if character == "#" or depth < 0:
            return
        if character in _CLOSING and depth == 1:
            opened = place
        elif character in _CLOSING.values() and depth == 0:
            found.append((opened, place))
    if depth == 0:
        yield from found


def _code(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield positions and characters outside strings, with the bracket depth."""
    depth, quote, is_escaped = 0, "", False
    for place, character in enumerate(text):
        if quote:
            if character == quote and not is_escaped:
                quote = ""
            is_escaped = character == "\\" and not is_escaped
            continue
        if character in "\"'":
            quote = character
            continue
        depth += (character in _CLOSING) - (character in _CLOSING.values())
        yield place, character, depth
