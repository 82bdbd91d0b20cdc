"""Comments of Go sources: groups, the declarations that they document, and markers.

A group is a run of comments without a blank line between them; a comment after code on the same
line is a separate group. Only line comments contain markers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from olmkit.apis import docs
from olmkit.apis.markers.language import Comment
from olmkit.base.diagnostics import Location

# Directives for the compiler and other tools, which do not belong in documentation.
_DIRECTIVE = re.compile(r"line |extern |export |[a-z0-9]+:[a-z0-9]", re.ASCII)
# Other white space at the end of a line is text.
_SPACE = " \t\r\n"


@dataclass(frozen=True, slots=True)
class GoComment:
    """One comment with its delimiters; lines and columns count from 1."""

    text: str
    line: int
    column: int
    end_line: int

    def marker(self, path: str) -> Comment | None:
        """Return the marker in this comment, if it is one."""
        if not self.text.startswith("//"):
            return None
        rest = self.text[2:]
        stripped = rest.lstrip()
        if not stripped.startswith("+"):
            return None
        column = self.column + 2 + len(rest) - len(stripped)
        text = stripped.rstrip()
        return Comment(
            text=text[1:],
            at=Location(
                path=path,
                line=self.line,
                column=column,
                end_line=self.line,
                end_column=column + len(text),
            ),
        )

    @property
    def is_block(self) -> bool:
        return self.text.startswith("/*")

    def lines(self) -> Iterator[str]:
        """Yield the text without delimiters, directives and white space at ends of lines."""
        if self.is_block:
            for line in self.text[2:-2].split("\n"):
                yield line.rstrip(_SPACE)
            return
        line = self.text[2:]
        if line.startswith(" "):
            yield line[1:].rstrip(_SPACE)
        elif not _DIRECTIVE.match(line):
            yield line.rstrip(_SPACE)


@dataclass(frozen=True, slots=True)
class GoGroup:
    """Comments without an empty line between them; `is_trailing`: after code on the same line."""

    comments: tuple[GoComment, ...]
    is_trailing: bool = False

    @property
    def end_line(self) -> int:
        return self.comments[-1].end_line

    def documents(self, line: int) -> bool:
        """Return whether it documents a declaration that starts on `line`."""
        return self.end_line == line - 1 and not self.is_trailing

    def markers(self, path: str) -> Iterator[Comment]:
        for comment in self.comments:
            marker = comment.marker(path)
            if marker:
                yield marker

    def doc(self) -> str:
        """Return the documentation text: no markers, no notes.

        Next to a block comment, whose lines may have any indentation, no line is a marker.
        """
        comments = [comment for comment in self.comments if comment.marker("") is None]
        lines = [line for comment in comments for line in comment.lines()]
        if any(comment.is_block for comment in comments):
            lines = [line.strip() for line in lines]
        return docs.from_lines(lines)


def group_comments(comments: Iterable[GoComment], code_line: int) -> Iterator[GoGroup]:
    """Group consecutive comments; the first one may be after code on `code_line`."""
    run: list[GoComment] = []
    is_trailing = False
    for comment in comments:
        if run and comment.line > run[-1].end_line + (0 if is_trailing else 1):
            yield GoGroup(tuple(run), is_trailing)
            run = []
        if not run:
            is_trailing = comment.line == code_line
        run.append(comment)
        if comment.end_line > comment.line:
            code_line = 0
    if run:
        yield GoGroup(tuple(run), is_trailing)


@dataclass(frozen=True, slots=True)
class Above:
    """The comments above a declaration: its documentation, the group above, and others."""

    doc: GoGroup | None
    near: GoGroup | None
    rest: tuple[GoGroup, ...]

    def text(self) -> str:
        return self.doc.doc() if self.doc else ""

    def markers(self, path: str) -> tuple[Comment, ...]:
        groups = [group for group in (self.near, self.doc) if group]
        return tuple(marker for group in groups for marker in group.markers(path))


def divide_groups(groups: list[GoGroup], line: int) -> Above:
    """Divide the groups between two declarations, the second of which starts on `line`."""
    left = list(groups)
    doc = left.pop() if left and left[-1].documents(line) else None
    near = left.pop() if left else None
    return Above(doc, near, tuple(left))
