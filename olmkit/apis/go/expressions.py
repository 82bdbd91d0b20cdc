"""Convert nodes of Go type declarations to values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from olmkit.apis.go import comments
from olmkit.apis.go.comments import GoGroup
from olmkit.apis.go.file import GoFile, string_value, text_of, with_groups
from olmkit.apis.go.model import (
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

if TYPE_CHECKING:
    from tree_sitter import Node

_TOO_DEEP = 60


def declaration(file: GoFile, name: str) -> GoDeclaration:
    """Return the declared type `name`, which must be in `file.types`."""
    node, above, is_alias = file.types[name]
    body = node.child_by_field_name("type")
    name_node = node.child_by_field_name("name")
    return GoDeclaration(
        name=name,
        type=_TypeReader(file).read(body) if body else Other("a type that is not finished"),
        at=file.at(name_node or node),
        is_alias=is_alias,
        is_generic=node.child_by_field_name("type_parameters") is not None,
        doc=above.text(),
        comments=above.markers(file.path),
        dots=tuple(file.dots),
    )


@dataclass(slots=True)
class _TypeReader:
    """Reads type expressions of one file."""

    file: GoFile
    depth: int = 0

    def read(self, node: Node) -> GoType:
        self.depth += 1
        try:
            return (
                self._read(node)
                if self.depth <= _TOO_DEEP
                else Other(f"a type nested more than {_TOO_DEEP} levels deep")
            )
        finally:
            self.depth -= 1

    def _read(self, node: Node) -> GoType:
        inner = [child for child in node.named_children if child.type != "comment"]
        match node.type:
            case "type_identifier":
                return Name(text_of(node))
            case "qualified_type":
                local, name = text_of(inner[0]), text_of(inner[-1])
                path = self.file.imported(local)
                return Name(name, path or local)
            case "pointer_type":
                return Pointer(self.read(inner[0]))
            case "slice_type":
                return Slice(self.read(inner[0]))
            case "array_type":
                return Slice(self.read(inner[-1]), text_of(inner[0]))
            case "map_type":
                return Map(self.read(inner[0]), self.read(inner[-1]))
            case "struct_type":
                return StructBody(tuple(self._fields(node)))
            case kind:
                return Other(_OTHERS.get(kind, "a type that no schema can express"))

    def _fields(self, node: Node) -> Iterator[GoField]:
        for listed in node.named_children:
            if listed.type != "field_declaration_list":
                continue
            for child, groups in with_groups(self.file, listed.children):
                if child is not None and child.type == "field_declaration":
                    yield self._field(child, groups)

    def _field(self, node: Node, groups: list[GoGroup]) -> GoField:
        above = comments.divide_groups(groups, node.start_point[0] + 1)
        names = node.children_by_field_name("name")
        kind = node.child_by_field_name("type")
        tag = node.child_by_field_name("tag")
        read: GoType = self.read(kind) if kind else Other("a type that is not finished")
        if not names and node.children and node.children[0].type == "*":
            read = Pointer(read)
        return GoField(
            names=tuple(text_of(name) for name in names),
            type=read,
            at=self.file.at(names[0] if names else node),
            tag=string_value(text_of(tag)) if tag else None,
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
