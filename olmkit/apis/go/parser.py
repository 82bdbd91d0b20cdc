"""Go source text → the outline of a file, with tree-sitter and without a Go toolchain.

Only the parts for types and markers are parsed, not function bodies.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from olmkit.apis.findings import Findings
from olmkit.apis.go import comments
from olmkit.apis.go.comments import Above, GoGroup
from olmkit.apis.go.file import GoFile, string_value, text_of, with_groups
from olmkit.apis.markers.language import Comment
from olmkit.base.diagnostics import ConfigurationError

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# The grammar accepts only types in `new(…)`, while Go also accepts values since 1.26. With another
# name of the same length, it is an ordinary call. Comment lines are not changed.
_CODE_WITH_NEW = re.compile(rb"^(?![ \t]*//).*\bnew\(.*$", re.MULTILINE)
_NEW = re.compile(rb"\bnew\(")


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
    """Raise `ConfigurationError` if the extra `go` is not installed."""
    _parser()


def parse(
    data: bytes, path: str, findings: Findings, keeps_package: Callable[[Comment], bool]
) -> GoFile:
    """Read the outline of a file: its package, imports, names of types, markers at file scope.

    `keeps_package` returns whether a marker above a type belongs to the package. Syntax errors
    become findings. Raises `ConfigurationError` without the extra `go`.
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
    """Return the first place outside function bodies where the text is not Go."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            return node
        if node.has_error and node.type != "block":
            waiting.extend(reversed(node.children))
    return None


def _outline(file: GoFile, root: Node, keeps_package: Callable[[Comment], bool]) -> None:
    for node, groups in with_groups(file, root.children):
        if node is None:
            file.package_comments += _markers(file, groups)
            continue
        above = comments.divide_groups(groups, node.start_point[0] + 1)
        rest = list(above.rest)
        match node.type:
            case "package_clause":
                rest += [group for group in (above.near, above.doc) if group]
                name = node.named_children[0] if node.named_children else node
                file.package, file.package_at = text_of(name), file.at(name)
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


def _types(
    file: GoFile, node: Node, above: Above, keeps_package: Callable[[Comment], bool]
) -> bool:
    """Record the types of a declaration; return whether the comments belong to its only type."""
    children = node.children
    is_grouped = any(child.type == "(" for child in children)
    for child, groups in with_groups(file, children):
        if child is None or child.type not in ("type_spec", "type_alias"):
            continue
        own = comments.divide_groups(groups, child.start_point[0] + 1) if is_grouped else above
        if own.near:
            own = _without_package(file, own, keeps_package)
        name = child.child_by_field_name("name")
        if name is not None:
            file.types[text_of(name)] = (child, own, child.type == "type_alias")
            file.type_names.append(name)
    return not is_grouped


def _without_package(file: GoFile, above: Above, keeps_package: Callable[[Comment], bool]) -> Above:
    """Move markers of the near group that are valid only for a package to the package."""
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
            if receiver is not None and name is not None and _marshals(node):
                file.methods.append((_receiver(receiver), text_of(name)))
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
        file.import_paths.append(path)
        text = text_of(path)[1:-1]
        name = spec.child_by_field_name("name")
        if name is None:
            file.unnamed.append(text)
        elif name.type == "dot":
            file.dots.append(text)
        elif name.type != "blank_identifier":
            file.imports[text_of(name)] = text


def _marshals(node: Node) -> bool:
    """Return whether a method has no parameters and returns bytes and an error, as to marshal."""
    taken, given = node.child_by_field_name("parameters"), node.child_by_field_name("result")
    if taken is None or given is None or _types_of(taken):
        return False
    return _types_of(given) in (["[]byte", "error"], ["[]uint8", "error"])


def _types_of(parameters: Node) -> list[str]:
    """Return the types of parameters, one for each name."""
    return [
        text_of(kind)
        for one in parameters.named_children
        for kind in one.children_by_field_name("type")
        for _ in range(len(one.children_by_field_name("name")) or 1)
    ]


def _receiver(node: Node) -> str:
    """Return the type of `(x *T)`, `(T[K])` and similar receivers."""
    waiting = [node]
    while waiting:
        one = waiting.pop(0)
        if one.type == "type_identifier":
            return text_of(one)
        if one.type != "identifier":
            waiting += one.named_children
    return ""


def _constant(file: GoFile, spec: Node) -> None:
    kind, value = spec.child_by_field_name("type"), spec.child_by_field_name("value")
    while kind is not None and kind.type == "parenthesized_type":
        kind = kind.named_children[0]
    if kind is None or value is None:
        return
    for one in value.named_children:
        if one.type in ("interpreted_string_literal", "raw_string_literal"):
            file.constants.append((text_of(kind), string_value(text_of(one))))
