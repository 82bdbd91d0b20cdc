"""What the names in a Python module stand for, worked out from its text.

Imports, classes and simple assignments at module level are looked at, inside
`if` and `try` too. Nothing is imported: a name from a module that is not among
the sources keeps its dotted name, and the tables of `python_types` decide
whether it is known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
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
    _lines: list[str] | None = None

    def at(self, node: ast.AST) -> Location:
        """Where a node stands; columns count characters, the syntax tree counts bytes."""
        line = getattr(node, "lineno", 1)
        end_line = getattr(node, "end_lineno", None) or line
        column = self._column(line, getattr(node, "col_offset", 0))
        end = self._column(end_line, getattr(node, "end_col_offset", None) or 0)
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            # The name is meant, not the whole body.
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
    for statement in _statements(module.tree.body):
        match statement:
            case ast.Import(names=names):
                for alias in names:
                    first = alias.name.partition(".")[0]
                    module.imports[alias.asname or first] = alias.name if alias.asname else first
            case ast.ImportFrom():
                _read_from(module, statement)
            case ast.ClassDef(name=name):
                module.classes[name] = statement
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                module.assigned[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                module.assigned[name] = value
            case _:
                # `type X = …` is an `ast.TypeAlias`, which older Pythons do not have.
                if type(statement).__name__ == "TypeAlias":
                    alias_name = getattr(statement, "name", None)
                    if isinstance(alias_name, ast.Name):
                        module.assigned[alias_name.id] = statement.value  # type: ignore[attr-defined]


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.If):
            yield from _statements(statement.body)
            yield from _statements(statement.orelse)
        elif isinstance(statement, ast.Try):
            yield from _statements(statement.body)
            for handler in statement.handlers:
                yield from _statements(handler.body)


def imported_from(module: Module, statement: ast.ImportFrom) -> str:
    """The full name of the module that a `from … import` names, dots or no dots."""
    origin = statement.module or ""
    if statement.level:
        parts = module.name.split(".")
        keep = len(parts) - statement.level + (1 if module.is_package else 0)
        base = ".".join(parts[: max(keep, 0)])
        origin = f"{base}.{origin}" if base and origin else base or origin
    return origin


def _read_from(module: Module, statement: ast.ImportFrom) -> None:
    origin = imported_from(module, statement)
    for alias in statement.names:
        if alias.name == "*":
            module.stars.append(origin)
        else:
            module.imports[alias.asname or alias.name] = f"{origin}.{alias.name}"


@dataclass(frozen=True, slots=True)
class Names:
    """Looks names up across the modules of a project."""

    modules: Mapping[str, Module]

    def dotted(self, module: Module, expression: ast.expr) -> str:
        """The full dotted name of an expression, or an empty text when it is no plain name."""
        attributes: list[str] = []
        while isinstance(expression, ast.Attribute):
            attributes.append(expression.attr)
            expression = expression.value
        if not isinstance(expression, ast.Name):
            return ""
        name = ".".join([self._local(module, expression.id), *reversed(attributes)])
        return self._follow(name)

    def declared(self, dotted: str) -> Named | None:
        """The class or assignment of the sources that a dotted name leads to."""
        module_name, _, name = dotted.rpartition(".")
        module = self.modules.get(module_name)
        if module and (name in module.classes or name in module.assigned):
            return Named(module_name, name)
        return None

    def _local(self, module: Module, name: str) -> str:
        if name in module.classes or name in module.assigned:
            return f"{module.name}.{name}"
        if name in module.imports:
            return module.imports[name]
        for origin in module.stars:
            other = self.modules.get(origin)
            if other and (name in other.classes or name in other.assigned or name in other.imports):
                return f"{origin}.{name}"
        if name in _BUILTINS:
            return f"builtins.{name}"
        return f"{module.name}.{name}"

    def _follow(self, dotted: str) -> str:
        """Through modules of the sources that only pass a name on."""
        for _ in range(20):  # a chain of re-exports is short; this also ends circles
            module_name, _, name = dotted.rpartition(".")
            module = self.modules.get(module_name)
            if module is None or name in module.classes or name in module.assigned:
                return dotted
            if name in module.imports:
                dotted = module.imports[name]
                continue
            passed_on = [o for o in module.stars if o in self.modules]
            if not passed_on:
                return dotted
            dotted = f"{passed_on[0]}.{name}"
        return dotted
