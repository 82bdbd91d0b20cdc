"""One Go file as its outline: package, imports, names of types, and the comments around them.

`go_parser` fills it; `go_expressions` reads the contents of a type on request, because packages of
Kubernetes have a thousand types and a project uses ten.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from olmkit.apis.go import comments
from olmkit.apis.go.comments import Above, GoComment, GoGroup
from olmkit.apis.markers.language import Comment
from olmkit.apis.markers.values import MarkerError, unquote
from olmkit.base.diagnostics import Location

if TYPE_CHECKING:
    from tree_sitter import Node

# `gopkg.in/yaml.v3` is the package `yaml`, `example.com/x/v2` the package `x`, or `v2`.
_VERSION = re.compile(r"v[0-9]+", re.ASCII)


@dataclass(slots=True)
class GoFile:
    """The outline of one file. Its types are nodes until `go_expressions` reads one."""

    path: str
    data: bytes
    package: str = ""
    package_at: Location | None = None
    imports: dict[str, str] = field(default_factory=dict)
    unnamed: list[str] = field(default_factory=list)
    # By import path, for packages whose files are read; other names are guessed.
    package_names: Mapping[str, str] = field(default_factory=dict)
    dots: list[str] = field(default_factory=list)
    types: dict[str, tuple[Node, Above, bool]] = field(default_factory=dict)
    methods: list[tuple[str, str]] = field(default_factory=list)
    constants: list[tuple[str, str]] = field(default_factory=list)
    package_comments: list[Comment] = field(default_factory=list)
    # The names of all types, and the paths of all imports, in source order.
    type_names: list[Node] = field(default_factory=list)
    import_paths: list[Node] = field(default_factory=list)
    _lines: list[bytes] | None = None

    def at(self, node: Node) -> Location:
        """Return the place of a node, with columns in characters."""
        line, column = node.start_point
        end_line, end = node.end_point
        return Location(
            path=self.path,
            line=line + 1,
            column=self._column(line, column),
            end_line=end_line + 1,
            end_column=self._column(end_line, end),
        )

    def _column(self, row: int, column: int) -> int:
        if self._lines is None:
            self._lines = self.data.split(b"\n")
        before = self._lines[row][:column] if row < len(self._lines) else b""
        return len(before.decode("utf-8", "replace")) + 1

    def comment(self, node: Node) -> GoComment:
        line, column = node.start_point
        text = text_of(node).rstrip("\r")
        return GoComment(text, line + 1, self._column(line, column), node.end_point[0] + 1)

    def imported(self, local: str) -> str:
        """Return the path that a package's local name refers to, or an empty string."""
        if local in self.imports:
            return self.imports[local]
        guessed: list[str] = []
        for path in self.unnamed:
            name = self.package_names.get(path)
            if name == local:
                return path
            guessed += [path] if name is None else []
        for guess in (_last_name, _name_before_version):
            for path in guessed:
                if guess(path) == local:
                    return path
        return next((path for path in guessed if local in _last_name(path)), "")


def _last_name(path: str) -> str:
    return path.rpartition("/")[2]


def _name_before_version(path: str) -> str:
    last = _last_name(path)
    if _VERSION.fullmatch(last):
        last = _last_name(path.rpartition("/")[0])
    head, dot, tail = last.rpartition(".")
    name = head if dot and _VERSION.fullmatch(tail) else last
    return name.removeprefix("go-").removesuffix("-go").replace("-", "_")


def with_groups(file: GoFile, children: list[Node]) -> Iterator[tuple[Node | None, list[GoGroup]]]:
    """Yield each node with the comment groups above it; then the remaining groups.

    Comments after a declaration on the same line document nothing and are left out.
    """
    waiting: list[GoComment] = []
    line = 0
    before = ""
    for node in children:
        if node.type == "comment":
            waiting.append(file.comment(node))
            continue
        if node.type in ("\n", ";"):
            continue
        yield node, _keep_groups(waiting, line, before)
        waiting, line, before = [], node.end_point[0] + 1, node.type
    yield None, _keep_groups(waiting, line, before)


# After these, a comment on the same line is an ordinary comment.
_OPENING = frozenset({"{", "(", "package_clause"})


def _keep_groups(waiting: list[GoComment], line: int, before: str) -> list[GoGroup]:
    if not waiting:
        return []
    groups = list(comments.group_comments(waiting, line))
    if groups[0].is_trailing and before not in _OPENING:
        groups.pop(0)
    return groups


def string_value(literal: str) -> str:
    """Return the value of a Go string literal; one with an invalid escape is unchanged."""
    if literal.startswith("`"):
        return literal[1:-1].replace("\r", "")
    try:
        return unquote(literal)
    except MarkerError:
        return literal[1:-1]


def json_tag(tag: str | None) -> str | None:
    """Return the value of the key `json` in a struct tag, like Go's `reflect.StructTag`."""
    rest = (tag or "").lstrip(" ")
    while rest:
        key, quote, rest = rest.partition(':"')
        if not quote or not key or any(char <= " " or char in ':"' for char in key):
            return None
        end = 0
        while end < len(rest) and rest[end] != '"':
            end += 2 if rest[end] == "\\" else 1
        if end >= len(rest):
            return None
        value, rest = rest[:end], rest[end + 1 :].lstrip(" ")
        if key == "json":
            return string_value(f'"{value}"')
    return None


def text_of(node: Node) -> str:
    """Return the source text of a node of the syntax tree, decoded."""
    return (node.text or b"").decode("utf-8", "replace")
