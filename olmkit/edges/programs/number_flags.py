"""Flags that keep the whole numbers of values.

Helm reads the numbers of a file of values as floats: a template prints 1000000 as `1e+06`, and
cannot compare it with an integer. `--set` has integers, as the Go API that operator-sdk uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_INT64 = range(-(1 << 63), 1 << 63)
_MAX_DEPTH = 30  # names in a path; helm rejects more
_MAX_INDEX = 65536  # helm rejects a larger one
_FLAG = 64 << 10  # characters; Linux allows 128 KiB in an argument
_ALL = 512 << 10  # characters; Linux allows about 2 MiB in all arguments
_ESCAPES = str.maketrans({sign: f"\\{sign}" for sign in "\\.,=["})


def number_flags(values: Any) -> list[str]:
    """Return flags that set each whole number; numbers beyond the limits stay floats."""
    flags: list[str] = []
    part: list[str] = []
    size = total = 0
    for one in _assignments(values, "", 0):
        if total + len(one) > _ALL:
            break
        if size + len(one) > _FLAG:
            flags += ["--set", ",".join(part)]
            part, size = [], 0
        part.append(one)
        size += len(one) + 1
        total += len(one) + 1
    return [*flags, "--set", ",".join(part)] if part else flags


def _assignments(value: Any, path: str, depth: int) -> Iterator[str]:
    """Yield `path=number` for each whole number."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key:  # helm has no path to the value of an empty key
                name = str(key).translate(_ESCAPES)
                yield from _assignments(inner, f"{path}.{name}" if path else name, depth + 1)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for index, inner in enumerate(value[: _MAX_INDEX + 1]):
            yield from _assignments(inner, f"{path}[{index}]", depth + 1)
    elif type(value) is int and value in _INT64:
        yield f"{path}={value}"
