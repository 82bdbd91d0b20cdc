"""Find the place of a key in a TOML file.

The parser of the standard library does not report places, which only findings need. For a finding,
the file is parsed repeatedly, each time with one more line, until the key exists.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

from olmkit.base.diagnostics import Location

_SAID = re.compile(r" \(at line (\d+), column (\d+)\)$")


def find(text: str, path: str, *keys: str) -> Location:
    """Return the place of a key in a valid text, or the file if the key is missing."""
    lines = text.splitlines(keepends=True)
    before = 0  # lines that can be read, and lack the key
    for count in range(1, len(lines) + 1):
        try:
            value: Any = tomllib.loads("".join(lines[:count]))
        except tomllib.TOMLDecodeError:
            continue  # in the middle of a value
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            column = max(lines[before].find(keys[-1]), 0)
            return Location(path=path, line=before + 1, column=column + 1)
        before = count
    return Location(path=path)


def of_error(error: Exception, path: str) -> tuple[str, Location]:
    """Return message and position of a TOML syntax error, from the parser's message."""
    words = str(error)
    match = _SAID.search(words)
    if match is None:
        return words, Location(path=path)
    return words[: match.start()], Location(path=path, line=int(match[1]), column=int(match[2]))
