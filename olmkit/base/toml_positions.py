"""Find the place of a key in a TOML file.

The parser of the standard library does not report places, which only findings need. For a finding,
the beginning of the file is parsed up to each line with the name of the key, until the key exists.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

from olmkit.base.diagnostics import Location

_MOST_TRIES = 200  # each one parses the beginning of the file
_SAID = re.compile(r" \(at line (\d+), column (\d+)\)$")


def find(text: str, path: str, *keys: str | int) -> Location:
    """Return the place of a key in a valid text, or the file if the key is missing.

    The last key is a name; the others may be indexes of lists.
    """
    name = str(keys[-1])
    lines = text.splitlines(keepends=True)
    tries = _MOST_TRIES
    for number, line in enumerate(lines, 1):
        if name not in line:
            continue
        for count in range(number, len(lines) + 1):
            tries -= 1
            if tries < 0:
                return Location(path=path)
            try:
                value: Any = tomllib.loads("".join(lines[:count]))
            except tomllib.TOMLDecodeError:
                continue  # in the middle of a value
            if _has(value, keys):
                return Location(path=path, line=number, column=line.find(name) + 1)
            break
    return Location(path=path)


def _has(value: Any, keys: tuple[str | int, ...]) -> bool:
    for key in keys:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def of_error(error: Exception, path: str) -> tuple[str, Location]:
    """Return message and position of a TOML syntax error, from the parser's message."""
    words = str(error)
    match = _SAID.search(words)
    if match is None:
        return words, Location(path=path)
    return words[: match.start()], Location(path=path, line=int(match[1]), column=int(match[2]))
