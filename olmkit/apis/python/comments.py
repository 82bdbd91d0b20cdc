"""Comments of a Python file, in groups, and which declaration each group belongs to.

A group is a run of whole-line comments without a blank line between them. The group that ends
directly above a declaration is its documentation; the closest group above that also belongs to it;
all others belong to nothing. The same rule applies to Go sources, so marker comments have the same
meaning in both languages.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from olmkit.apis.markers.language import Comment
from olmkit.base.diagnostics import Location


@dataclass(frozen=True, slots=True)
class Line:
    """One comment: its text after the `#`, and the column of the `#` (from 1).

    The colon of `#:`, which marks documentation, is not part of the text.
    """

    text: str
    line: int
    column: int

    def words(self) -> str:
        """Return the text without one space before it."""
        return self.text.removeprefix(":").removeprefix(" ")

    def marker(self, path: str) -> Comment | None:
        """Return the marker on this line, if it is one."""
        text = self.words().lstrip()
        if not text.startswith("+"):
            return None
        column = self.column + 1 + len(self.text) - len(text)
        at = Location(
            path=path,
            line=self.line,
            column=column,
            end_line=self.line,
            end_column=column + len(text.rstrip()),
        )
        return Comment(text=text[1:].rstrip(), at=at)


@dataclass(frozen=True, slots=True)
class Group:
    lines: tuple[Line, ...]

    @property
    def first(self) -> int:
        return self.lines[0].line

    @property
    def last(self) -> int:
        return self.lines[-1].line

    @property
    def column(self) -> int:
        return self.lines[0].column

    def markers(self, path: str) -> Iterator[Comment]:
        for line in self.lines:
            marker = line.marker(path)
            if marker:
                yield marker

    def doc(self) -> str:
        """Return the text of the lines that are not markers."""
        words = (line.words() for line in self.lines)
        return "\n".join(text for text in words if not text.lstrip().startswith("+"))


@dataclass(frozen=True, slots=True)
class Claim:
    """The groups of one declaration: the near one above it, and its documentation."""

    near: Group | None = None
    docs: tuple[Group, ...] = ()

    def groups(self) -> tuple[Group, ...]:
        return (*((self.near,) if self.near else ()), *self.docs)

    def doc(self) -> str:
        return "\n".join(group.doc() for group in self.docs)


class Comments:
    """All comments of one file. It records which groups a declaration has claimed."""

    def __init__(self, text: str) -> None:
        self.groups: list[Group] = []
        self.trailing: list[Line] = []
        self._claimed: set[int] = set()
        self._read(text)

    def _read(self, text: str) -> None:
        run: list[Line] = []
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type != tokenize.COMMENT:
                continue
            row, column = token.start
            line = Line(token.string[1:], row, column + 1)
            if token.line[:column].strip():
                self.trailing.append(line)
                continue
            if run and (run[-1].line + 1 != row or run[-1].column != line.column):
                self.groups.append(Group(tuple(run)))
                run = []
            run.append(line)
        if run:
            self.groups.append(Group(tuple(run)))

    def claim(self, start: int, column: int, after: int, *, inner: range = range(0)) -> Claim:
        """Return the groups of a declaration that starts on line `start`, below line `after`.

        They are not indented deeper: such groups belong to the code above. `inner` are further
        lines whose groups document it: between decorators and class.
        """
        above = [
            group
            for group in self.groups
            if after < group.first and group.last < start and group.column <= column
        ]
        docs = [above.pop()] if above and above[-1].last == start - 1 else []
        docs += [group for group in self.groups if group.first in inner]
        claim = Claim(above[-1] if above else None, tuple(docs))
        self._claimed.update(id(group) for group in claim.groups())
        return claim

    def drop(self, group: Group) -> None:
        """Claim a group without a type."""
        self._claimed.add(id(group))

    def unclaimed(self) -> tuple[Group, ...]:
        return tuple(group for group in self.groups if id(group) not in self._claimed)
