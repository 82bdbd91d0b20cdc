"""Select the catalog files of a folder: all except those in `.indexignore` files.

The patterns are those of `.gitignore`, with differences that users rely on: lines are trimmed, and
a file is tested with each part of its path, so a later pattern can include a file below an ignored
folder.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from olmkit.base.quoting import SPACE
from olmkit.base.tree import Tree

FILE_NAME = ".indexignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """One line of an `.indexignore` file in the folder `domain`."""

    domain: tuple[str, ...]
    parts: tuple[str, ...]
    include: bool
    folders_only: bool
    anchored: bool

    @classmethod
    def parse(cls, line: str, domain: tuple[str, ...]) -> Pattern:
        include = line.startswith("!")
        line = line.removeprefix("!")
        if not line.endswith("\\ "):
            line = line.rstrip(" ")
        folders_only = line.endswith("/")
        line = line.removesuffix("/")
        return cls(
            domain=domain,
            parts=tuple(line.split("/")),
            include=include,
            folders_only=folders_only,
            anchored="/" in line,
        )

    def matches(self, path: Sequence[str]) -> bool:
        """Return whether the pattern matches a file (not a folder)."""
        depth = len(self.domain)
        if len(path) <= depth or tuple(path[:depth]) != self.domain:
            return False
        rest = path[depth:]
        return self._match_anchored(rest) if self.anchored else self._name_match(rest)

    def _name_match(self, path: Sequence[str]) -> bool:
        for position, name in enumerate(path):
            if _match(self.parts[0], name):
                return not (self.folders_only and position == len(path) - 1)
        return False

    def _match_anchored(self, path: Sequence[str]) -> bool:
        position = 0
        matched = False
        anywhere = False
        for number, part in enumerate(self.parts):
            if part == "":
                anywhere = False
            elif part == "**":
                if number == len(self.parts) - 1:
                    break
                anywhere = True
            elif "**" in part or position == len(path):
                return False
            elif anywhere:
                anywhere = False
                found = next(
                    (at for at in range(position, len(path)) if _match(part, path[at])), None
                )
                matched = found is not None
                position = len(path) if found is None else found + 1
            elif _match(part, path[position]):
                matched = True
                position += 1
            else:
                return False
        return matched and not (self.folders_only and position == len(path))


def catalog_files(tree: Tree, root: str = "") -> Iterator[str]:
    """Yield the paths below `root` that are read as catalog files, in walk order.

    `root` is empty or ends in a slash.
    """
    paths = sorted((path for path in tree if path.startswith(root)), key=lambda p: p.split("/"))
    found: list[Pattern] = []
    for path in paths:
        relative = path[len(root) :].split("/")
        if relative[-1] == FILE_NAME:
            found.extend(patterns(tree.data(path), tuple(relative[:-1])))
    for path in paths:
        relative = path[len(root) :].split("/")
        if relative[-1] != FILE_NAME and not is_ignored(relative, found):
            yield path


def patterns(data: bytes, domain: tuple[str, ...]) -> Iterator[Pattern]:
    """Yield the patterns of one file, in order."""
    for line in data.decode("utf-8", "surrogateescape").split("\n"):
        text = line.strip(SPACE)
        if text and not text.startswith("#"):
            yield Pattern.parse(text, domain)


def is_ignored(path: Sequence[str], found: Sequence[Pattern]) -> bool:
    """Return whether the last matching pattern excludes the file."""
    for pattern in reversed(found):
        if pattern.matches(path):
            return not pattern.include
    return False


def _match(pattern: str, name: str) -> bool:
    compiled = _compile(pattern)
    return compiled is not None and compiled.fullmatch(name) is not None


@functools.lru_cache(maxsize=256)
def _compile(pattern: str) -> re.Pattern[str] | None:
    """Return the pattern of Go's `path.Match` as a regular expression; None if it is malformed."""
    text = ""
    position = 0
    while position < len(pattern):
        char = pattern[position]
        position += 1
        if char == "*":
            text += "[^/]*"
        elif char == "?":
            text += "[^/]"
        elif char == "[":
            members, position = _class(pattern, position)
            if position < 0:
                return None
            text += members
        elif char == "\\":
            if position == len(pattern):
                return None
            text += re.escape(pattern[position])
            position += 1
        else:
            text += re.escape(char)
    return re.compile(text, re.DOTALL)


def _class(pattern: str, position: int) -> tuple[str, int]:
    """Return the class that follows a `[`, and its end; -1 if it is malformed."""
    negated = pattern[position : position + 1] == "^"
    position += negated
    ranges = ""
    while True:
        if ranges and pattern[position : position + 1] == "]":
            return f"[{'^' if negated else ''}{ranges}]", position + 1
        low, position = _member(pattern, position)
        high = low
        if position >= 0 and pattern[position : position + 1] == "-":
            high, position = _member(pattern, position + 1)
        if position < 0:
            return "", -1
        # A range from high to low has no members; it becomes one that never matches.
        ranges += f"{re.escape(low)}-{re.escape(high)}" if low <= high else "\\udfff"


def _member(pattern: str, position: int) -> tuple[str, int]:
    char = pattern[position : position + 1]
    if not char or char in "-]":
        return "", -1
    position += 1
    if char == "\\":
        char = pattern[position : position + 1]
        position += 1
        if not char:
            return "", -1
    # Something must follow: at least the end of the class.
    return (char, position) if position < len(pattern) else ("", -1)
