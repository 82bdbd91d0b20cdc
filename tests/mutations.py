"""Changes that make a file of a bundle invalid, from random numbers with a known seed."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from olmkit.base import documents
from olmkit.base.diagnostics import OlmkitError
from olmkit.base.tree import File, Tree

_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 2**70, "", "x", "\u0000", "~", "a/b/c", [], [None], [[]], {},
    {"": None}, {"a": {"b": []}}, ["x", 1, None, {}], "ü" * 300, "1.2.3", "v1", "$ref", "- a\nb",
)  # fmt: skip


def _flip(data: bytes, dice: random.Random) -> bytes:
    """Replace some bytes."""
    changed = bytearray(data)
    for _ in range(dice.randint(1, 8)):
        if changed:
            changed[dice.randrange(len(changed))] = dice.randrange(256)
    return bytes(changed)


def _truncate(data: bytes, dice: random.Random) -> bytes:
    return data[: dice.randint(0, len(data))]


def _double(data: bytes, dice: random.Random) -> bytes:
    """Duplicate a line, and perhaps the lines below it."""
    lines = data.splitlines(keepends=True)
    start = dice.randrange(len(lines))
    part = lines[start : start + dice.randint(1, 6)]
    return b"".join([*lines[:start], *part, *part, *lines[start + len(part) :]])


def _drop(data: bytes, dice: random.Random) -> bytes:
    """Remove some lines."""
    lines = data.splitlines(keepends=True)
    start = dice.randrange(len(lines))
    return b"".join([*lines[:start], *lines[start + dice.randint(1, 6) :]])


def _indent(data: bytes, dice: random.Random) -> bytes:
    """Change the indentation of a line."""
    lines = data.splitlines(keepends=True)
    at = dice.randrange(len(lines))
    lines[at] = b"  " + lines[at] if dice.random() < 0.5 else lines[at].lstrip()
    return b"".join(lines)


def _retype(data: bytes, dice: random.Random) -> bytes:
    """Replace some values by others of any type."""
    value = documents.load(data, "x").value
    for _ in range(dice.randint(1, 3)):
        places = list(_places(value))
        if places:
            holder, key = dice.choice(places)
            holder[key] = copy.deepcopy(dice.choice(ODD))
    return _dump(value)


def _rekey(data: bytes, dice: random.Random) -> bytes:
    """Rename a key, shorten a list, or move a value."""
    value = documents.load(data, "x").value
    holder, key = dice.choice(list(_places(value)))
    if isinstance(holder, dict):
        moved = holder.pop(key)
        holder[dice.choice([key.upper(), f"{key}s", "", "<<", "kind", "x.y/z"])] = moved
    else:
        del holder[key]
    return _dump(value)


def _dump(value: Any) -> bytes:
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text.encode("utf-8", "replace")


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    stack = [value]
    while stack:
        node = stack.pop()
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, inner in list(items):
            found.append((node, key))
            if isinstance(inner, dict | list):
                stack.append(inner)
    return found


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flip, _truncate, _double, _drop, _indent, _retype, _retype, _retype, _rekey, _rekey,
)  # fmt: skip


def mutated(files: Mapping[str, File], dice: random.Random) -> Tree:
    """Return the files with one or two of them changed."""
    changed = {path: file.data for path, file in files.items()}
    for _ in range(dice.randint(1, 2)):
        path = dice.choice(sorted(changed))
        try:
            changed[path] = dice.choice(MUTATIONS)(changed[path], dice)
        except (OlmkitError, AttributeError, IndexError, TypeError, ValueError, yaml.YAMLError):
            continue  # the result of the first change cannot be changed this way
    return Tree(changed)
