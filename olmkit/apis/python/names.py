"""Resolve the names in a Python module from its source.

Imports, classes and simple assignments at module level are read, also inside `if`, `try` and
`with`; definitions in `else` or `except` count only if the first branch has none. Nothing is
imported: a name from a module outside the sources keeps its dotted name, and the tables of
`python_types` decide whether it is known.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from olmkit.apis.model import Named
from olmkit.base.diagnostics import Location

_BUILTINS = frozenset(
    {
        *("bool", "bytearray", "bytes", "complex", "float", "int", "object", "str", "type"),
        *("dict", "frozenset", "list", "set", "tuple"),
    }
)


@dataclass(slots=True)
class Module:
    """One source file: its tree and its names."""

    name: str
    path: str
    text: str
    tree: ast.Module
    is_package: bool = False
    imports: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    assigned: dict[str, ast.expr] = field(default_factory=dict)
    aliases: set[str] = field(default_factory=set)
    """The names in `assigned` that are explicitly types."""
    _lines: list[str] | None = None

    def has(self, name: str) -> bool:
        """Return whether the module itself defines or imports a name."""
        return name in self.classes or name in self.assigned or name in self.imports

    def lacks(self, name: str) -> bool:
        """Return whether nothing in the module can have bound a name."""
        return name not in _BUILTINS and not self.has(name) and not self.stars

    def at(self, node: ast.AST) -> Location:
        """Return the place of a node, with columns in characters instead of bytes."""
        line = getattr(node, "lineno", 1)
        end_line = getattr(node, "end_lineno", None) or line
        column = self._column(line, getattr(node, "col_offset", 0))
        end = self._column(end_line, getattr(node, "end_col_offset", None) or 0)
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            # The name is the place, not the whole body.
            end_line, end = line, column + len("class ") + len(node.name)
            column += len("class ")
        return Location(path=self.path, line=line, column=column, end_line=end_line, end_column=end)

    def _column(self, line: int, offset: int) -> int:
        if self._lines is None:
            self._lines = self.text.split("\n")
        if line > len(self._lines):
            return offset + 1
        text = self._lines[line - 1]
        return len(text.encode()[:offset].decode("utf-8", "ignore")) + 1


def read_names(module: Module) -> None:
    """Fill the tables of a module."""
    for statement, is_instead in _statements(module.tree.body):
        match statement:
            case ast.Import(names=names):
                for alias in names:
                    first = alias.name.partition(".")[0]
                    name = alias.asname or first
                    if not (is_instead and module.has(name)):
                        module.imports[name] = alias.name if alias.asname else first
            case ast.ImportFrom():
                _read_from(module, statement, is_instead=is_instead)
            case ast.ClassDef(name=name):
                # Of two classes, the last is kept; they are reported when the first is read.
                if not (is_instead and module.has(name)) or name in module.classes:
                    module.classes[name] = statement
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                _assign(module, name, value, is_instead=is_instead)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                _assign(module, name, value, is_instead=is_instead)
                if ast.unparse(statement.annotation).rpartition(".")[2] == "TypeAlias":
                    module.aliases.add(name)
            case _:
                # `type X = …` is an `ast.TypeAlias`, which older Python versions do not have.
                if type(statement).__name__ == "TypeAlias":
                    alias_name = getattr(statement, "name", None)
                    if isinstance(alias_name, ast.Name):
                        value = statement.value  # type: ignore[attr-defined]
                        _assign(module, alias_name.id, value, is_instead=is_instead)
                        module.aliases.add(alias_name.id)


def _assign(module: Module, name: str, value: ast.expr, *, is_instead: bool) -> None:
    if not (is_instead and module.has(name)):
        module.assigned[name] = value


def blocks(statement: ast.stmt) -> Iterator[tuple[list[ast.stmt], bool]]:
    """Return the inner blocks of a statement, and whether they are alternatives."""
    match statement:
        case ast.If(body=body, orelse=orelse):
            yield body, False
            yield orelse, True
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
            yield body, False
            yield from ((handler.body, True) for handler in handlers)
            yield from ((orelse, False), (final, False))
        case ast.With(body=body):
            yield body, False
        case _:
            return


def _statements(
    body: list[ast.stmt], *, is_instead: bool = False
) -> Iterator[tuple[ast.stmt, bool]]:
    for statement in body:
        yield statement, is_instead
        for block, is_other in blocks(statement):
            yield from _statements(block, is_instead=is_instead or is_other)


def imported_from(module: Module, statement: ast.ImportFrom) -> str:
    """Return the full name of the module in a `from … import`, absolute or relative."""
    origin = statement.module or ""
    if statement.level:
        parts = module.name.split(".")
        keep = len(parts) - statement.level + (1 if module.is_package else 0)
        base = ".".join(parts[: max(keep, 0)])
        origin = f"{base}.{origin}" if base and origin else base or origin
    return origin


def _read_from(module: Module, statement: ast.ImportFrom, *, is_instead: bool) -> None:
    origin = imported_from(module, statement)
    for alias in statement.names:
        name = alias.asname or alias.name
        if name == "*":
            module.stars.append(origin)
        elif not (is_instead and module.has(name)):
            module.imports[name] = f"{origin}.{alias.name}"


@dataclass(frozen=True, slots=True)
class Names:
    """Resolves names across the modules of a project.

    `known`: dotted names of other modules, which `from … import *` may import.
    """

    modules: Mapping[str, Module]
    known: Collection[str] = frozenset()

    def dotted(self, module: Module, expression: ast.expr) -> str:
        """Return the dotted name of an expression; empty if it is not a name."""
        attributes: list[str] = []
        while isinstance(expression, ast.Attribute):
            attributes.append(expression.attr)
            expression = expression.value
        if not isinstance(expression, ast.Name):
            return ""
        name = ".".join([self._local(module, expression.id), *reversed(attributes)])
        return self._follow(name)

    def declared(self, dotted: str) -> Named | None:
        """Return the class or assignment in the sources that a dotted name refers to."""
        module_name, _, name = dotted.rpartition(".")
        module = self.modules.get(module_name)
        if module and (name in module.classes or name in module.assigned):
            return Named(module_name, name)
        return None

    def is_nested(self, module: Module, dotted: str) -> bool:
        """Return whether the last part of a name is a nested class."""
        before, _, name = dotted.rpartition(".")
        owner = self.declared(before)
        around = module.classes if owner is None else self.modules[owner.module].classes
        return any(
            isinstance(node, ast.ClassDef) and node.name == name
            for one in around.values()
            for node in one.body
        )

    def _local(self, module: Module, name: str) -> str:
        found = self._origin(module, name, set())
        if found:
            return found
        return f"builtins.{name}" if name in _BUILTINS else f"{module.name}.{name}"

    def _follow(self, dotted: str) -> str:
        """Follow modules of the sources that only re-export a name."""
        for _ in range(20):  # chains of re-exports are short; this also ends cycles
            module_name, _, name = dotted.rpartition(".")
            module = self.modules.get(module_name)
            origin = self._origin(module, name, set()) if module else ""
            if origin in ("", dotted):
                return dotted
            dotted = origin
        return dotted

    def _origin(self, module: Module, name: str, seen: set[str]) -> str:
        """Return the source of an imported name, one import back; empty if unknown."""
        if name in module.classes or name in module.assigned:
            return f"{module.name}.{name}"
        if name in module.imports:
            return module.imports[name]
        seen.add(module.name)
        for origin in reversed(module.stars):  # the last one counts
            other = self.modules.get(origin)
            if other is None and f"{origin}.{name}" in self.known:
                return f"{origin}.{name}"
            if other is not None and origin not in seen:
                found = self._origin(other, name, seen)
                if found:
                    return found
        return ""
