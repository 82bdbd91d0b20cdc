"""Go source text → declarations, with tree-sitter and without a Go toolchain.

Only what types and markers need is looked at: function bodies are not. A type is
read when it is asked for, because packages of Kubernetes have a thousand and a
project uses ten.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from olmkit.apis import go_comments
from olmkit.apis.findings import Findings
from olmkit.apis.go_comments import Above, GoComment, GoGroup
from olmkit.apis.go_model import (
    GoDeclaration,
    GoField,
    GoType,
    Map,
    Name,
    Other,
    Pointer,
    Slice,
    StructBody,
)
from olmkit.apis.marker_values import MarkerError, unquote
from olmkit.apis.markers import Comment
from olmkit.base.diagnostics import ConfigurationError, Location

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_TOO_DEEP = 60
# The grammar takes types only in `new(…)`, while Go takes values too since 1.26. Under another
# name of the same length it is a call like any other. Lines of comments stay as they are.
_CODE_WITH_NEW = re.compile(rb"^(?![ \t]*//).*\bnew\(.*$", re.MULTILINE)
_NEW = re.compile(rb"\bnew\(")
# `gopkg.in/yaml.v3` is the package `yaml`, `example.com/x/v2` the package `x`, or `v2`.
_VERSION = re.compile(r"v[0-9]+", re.ASCII)


@functools.cache
def _parser() -> Parser:
    try:
        import tree_sitter
        import tree_sitter_go
    except ImportError as error:
        raise ConfigurationError(
            f"Go sources cannot be read: `{error.name}` is not installed",
            hint='install it: `pip install "olmkit[go]"`',
        ) from None
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_go.language()))


def check_installed() -> None:
    """Raise `ConfigurationError` when the extra `go` is not installed."""
    _parser()


@dataclass(slots=True)
class GoFile:
    """One parsed file. Its types are nodes until `declaration` reads one."""

    path: str
    data: bytes
    package: str = ""
    package_at: Location | None = None
    imports: dict[str, str] = field(default_factory=dict)
    unnamed: list[str] = field(default_factory=list)
    dots: list[str] = field(default_factory=list)
    types: dict[str, tuple[Node, Above, bool]] = field(default_factory=dict)
    methods: list[tuple[str, str]] = field(default_factory=list)
    constants: list[tuple[str, str]] = field(default_factory=list)
    package_comments: list[Comment] = field(default_factory=list)
    _lines: list[bytes] | None = None

    def at(self, node: Node) -> Location:
        """Where a node stands, columns in characters."""
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
        text = _text(node).rstrip("\r")
        return GoComment(text, line + 1, self._column(line, column), node.end_point[0] + 1)

    def declaration(self, name: str) -> GoDeclaration:
        """The declared type `name`, which must be in `types`."""
        node, above, is_alias = self.types[name]
        body = node.child_by_field_name("type")
        name_node = node.child_by_field_name("name")
        return GoDeclaration(
            name=name,
            type=_TypeReader(self).read(body) if body else Other("a type that is not finished"),
            at=self.at(name_node or node),
            is_alias=is_alias,
            is_generic=node.child_by_field_name("type_parameters") is not None,
            doc=above.text(),
            comments=above.markers(self.path),
            dots=tuple(self.dots),
        )

    def imported(self, local: str) -> str:
        """The path that a package's local name stands for, or an empty text."""
        if local in self.imports:
            return self.imports[local]
        for guess in (_last_name, _name_before_version):
            for path in self.unnamed:
                if guess(path) == local:
                    return path
        return next((path for path in self.unnamed if local in _last_name(path)), "")


def _last_name(path: str) -> str:
    return path.rpartition("/")[2]


def _name_before_version(path: str) -> str:
    last = _last_name(path)
    if _VERSION.fullmatch(last):
        last = _last_name(path.rpartition("/")[0])
    head, dot, tail = last.rpartition(".")
    name = head if dot and _VERSION.fullmatch(tail) else last
    return name.removeprefix("go-").removesuffix("-go").replace("-", "_")


def parse(
    data: bytes, path: str, findings: Findings, keeps_package: Callable[[Comment], bool]
) -> GoFile:
    """Read the outline of a file: its package, imports, names of types, markers at file scope.

    `keeps_package` says of a marker above a type whether it belongs to the package.
    What cannot be parsed is a finding. Raises `ConfigurationError` without the extra `go`.
    """
    root = _parser().parse(data).root_node
    if root.has_error and _NEW.search(data):
        renamed = _CODE_WITH_NEW.sub(lambda line: _NEW.sub(b"nev(", line.group()), data)
        root = _parser().parse(renamed).root_node
    file = GoFile(path, data)
    if root.has_error:
        problem = _first_problem(root)
        if problem is not None:
            what = f"expected `{problem.type}`" if problem.is_missing else "unexpected text"
            findings.add("API001", f"the source cannot be parsed: {what}", file.at(problem))
    _outline(file, root, keeps_package)
    return file


def _first_problem(root: Node) -> Node | None:
    """The first place outside of function bodies where the text is no Go."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            return node
        if node.has_error and node.type != "block":
            waiting.extend(reversed(node.children))
    return None


def _outline(file: GoFile, root: Node, keeps_package: Callable[[Comment], bool]) -> None:
    for node, groups in _with_groups(file, root.children):
        if node is None:
            file.package_comments += _markers(file, groups)
            continue
        above = go_comments.above(groups, node.start_point[0] + 1)
        rest = list(above.rest)
        match node.type:
            case "package_clause":
                rest += [group for group in (above.near, above.doc) if group]
                name = node.named_children[0] if node.named_children else node
                file.package, file.package_at = _text(name), file.at(name)
            case "type_declaration":
                if not _types(file, node, above, keeps_package) and above.near:
                    rest.append(above.near)
            case _:
                if above.near:
                    rest.append(above.near)
                _other(file, node)
        file.package_comments += _markers(file, rest)
    file.package_comments.sort(key=lambda comment: comment.at.line or 0)


def _markers(file: GoFile, groups: list[GoGroup]) -> list[Comment]:
    return [marker for group in groups for marker in group.markers(file.path)]


def _with_groups(file: GoFile, children: list[Node]) -> Iterator[tuple[Node | None, list[GoGroup]]]:
    """Each node that is no comment with the groups above it; at the end the groups that are left.

    Comments behind a declaration on the same line document nothing and are left out.
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
        yield node, _kept(waiting, line, before)
        waiting, line, before = [], node.end_point[0] + 1, node.type
    yield None, _kept(waiting, line, before)


# Behind these, a comment on the same line is one like any other.
_OPENING = frozenset({"{", "(", "package_clause"})


def _kept(waiting: list[GoComment], line: int, before: str) -> list[GoGroup]:
    if not waiting:
        return []
    groups = list(go_comments.grouped(waiting, line))
    if groups[0].is_trailing and before not in _OPENING:
        groups.pop(0)
    return groups


def _types(
    file: GoFile, node: Node, above: Above, keeps_package: Callable[[Comment], bool]
) -> bool:
    """Note the types of a declaration; whether the comments above it belong to its one type."""
    children = node.children
    is_grouped = any(child.type == "(" for child in children)
    for child, groups in _with_groups(file, children):
        if child is None or child.type not in ("type_spec", "type_alias"):
            continue
        mine = go_comments.above(groups, child.start_point[0] + 1) if is_grouped else above
        if mine.near:
            mine = _without_package(file, mine, keeps_package)
        name = child.child_by_field_name("name")
        if name is not None:
            file.types[_text(name)] = (child, mine, child.type == "type_alias")
    return not is_grouped


def _without_package(file: GoFile, above: Above, keeps_package: Callable[[Comment], bool]) -> Above:
    """Move markers of the near group that only a package can have to the package."""
    near = above.near
    if near is None:
        return above
    kept = []
    for comment in near.comments:
        marker = comment.marker(file.path)
        if marker and keeps_package(marker):
            file.package_comments.append(marker)
        else:
            kept.append(comment)
    return Above(above.doc, GoGroup(tuple(kept)) if kept else None, above.rest)


def _other(file: GoFile, node: Node) -> None:
    match node.type:
        case "import_declaration":
            _imports(file, node)
        case "method_declaration":
            receiver = node.child_by_field_name("receiver")
            name = node.child_by_field_name("name")
            if receiver is not None and name is not None:
                file.methods.append((_receiver(receiver), _text(name)))
        case "const_declaration":
            for spec in node.named_children:
                _constant(file, spec)
        case _:
            pass


def _imports(file: GoFile, node: Node) -> None:
    waiting = list(node.named_children)
    while waiting:
        spec = waiting.pop(0)
        if spec.type == "import_spec_list":
            waiting = [*spec.named_children, *waiting]
            continue
        path = spec.child_by_field_name("path")
        if spec.type != "import_spec" or path is None:
            continue
        text = _text(path)[1:-1]
        name = spec.child_by_field_name("name")
        if name is None:
            file.unnamed.append(text)
        elif name.type == "dot":
            file.dots.append(text)
        elif name.type != "blank_identifier":
            file.imports[_text(name)] = text


def _receiver(node: Node) -> str:
    """The type of `(x *T)`, `(T[K])` and the like."""
    waiting = [node]
    while waiting:
        one = waiting.pop(0)
        if one.type == "type_identifier":
            return _text(one)
        if one.type != "identifier":
            waiting += one.named_children
    return ""


def _constant(file: GoFile, spec: Node) -> None:
    kind, value = spec.child_by_field_name("type"), spec.child_by_field_name("value")
    if kind is None or value is None:
        return
    for one in value.named_children:
        if one.type in ("interpreted_string_literal", "raw_string_literal"):
            file.constants.append((_text(kind), string_value(_text(one))))


def string_value(literal: str) -> str:
    """The text of a Go string literal; one with a broken escape is kept as written."""
    if literal.startswith("`"):
        return literal[1:-1].replace("\r", "")
    try:
        return unquote(literal)
    except MarkerError:
        return literal[1:-1]


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


@dataclass(slots=True)
class _TypeReader:
    """Reads type expressions of one file."""

    file: GoFile
    depth: int = 0

    def read(self, node: Node) -> GoType:
        self.depth += 1
        try:
            return self._read(node) if self.depth <= _TOO_DEEP else Other("a type nested too deep")
        finally:
            self.depth -= 1

    def _read(self, node: Node) -> GoType:
        inner = [child for child in node.named_children if child.type != "comment"]
        match node.type:
            case "type_identifier":
                return Name(_text(node))
            case "qualified_type":
                local, name = _text(inner[0]), _text(inner[-1])
                path = self.file.imported(local)
                return Name(name, path or local)
            case "pointer_type":
                return Pointer(self.read(inner[0]))
            case "slice_type":
                return Slice(self.read(inner[0]))
            case "array_type":
                return Slice(self.read(inner[-1]), _text(inner[0]))
            case "map_type":
                return Map(self.read(inner[0]), self.read(inner[-1]))
            case "struct_type":
                return StructBody(tuple(self._fields(node)))
            case kind:
                return Other(_OTHERS.get(kind, "a type that no schema has a form for"))

    def _fields(self, node: Node) -> Iterator[GoField]:
        for listed in node.named_children:
            if listed.type != "field_declaration_list":
                continue
            for child, groups in _with_groups(self.file, listed.children):
                if child is not None and child.type == "field_declaration":
                    yield self._field(child, groups)

    def _field(self, node: Node, groups: list[GoGroup]) -> GoField:
        above = go_comments.above(groups, node.start_point[0] + 1)
        names = node.children_by_field_name("name")
        kind = node.child_by_field_name("type")
        tag = node.child_by_field_name("tag")
        read: GoType = self.read(kind) if kind else Other("a type that is not finished")
        if not names and node.children and node.children[0].type == "*":
            read = Pointer(read)
        return GoField(
            names=tuple(_text(name) for name in names),
            type=read,
            at=self.file.at(names[0] if names else node),
            tag=string_value(_text(tag)) if tag else None,
            doc=above.text(),
            comments=above.markers(self.file.path),
        )


_OTHERS = {
    "interface_type": "an interface",
    "channel_type": "a channel",
    "function_type": "a function",
    "generic_type": "an instance of a generic type",
    "parenthesized_type": "a type in parentheses",
}
