"""Annotations of Python fields as type expressions.

Types are identified by their dotted names; one that cannot be expressed in a CRD is a finding with
a replacement.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from olmkit.apis.findings import Findings
from olmkit.apis.model import (
    MISSING,
    Choice,
    Constrained,
    Constraint,
    ListType,
    MapType,
    Named,
    Scalar,
    TypeExpression,
    Untyped,
    WellKnown,
)
from olmkit.apis.python import bases
from olmkit.apis.python.field_constraints import FactReader, Facts
from olmkit.apis.python.literals import Literals, format_expression
from olmkit.apis.python.names import Module, Names
from olmkit.apis.python.type_names import (
    ABSENT,
    LIMITED,
    LISTS,
    MAKERS,
    MAPS,
    PLAIN,
    PYDANTIC,
    SETS,
    SKIPPED,
    TYPING,
    UNTYPED,
    WRAPPERS,
    import_hint,
    typing_names,
)

_TOO_DEEP = 60


@dataclass(slots=True)
class TypeReader:
    """Reads annotations of one module."""

    module: Module
    names: Names
    findings: Findings
    depth: int = 0

    @property
    def literals(self) -> Literals:
        return Literals(self.module, self.names)

    @property
    def facts(self) -> FactReader:
        return FactReader(self.literals, self.findings)

    def dotted(self, expression: ast.expr) -> str:
        return self.names.dotted(self.module, expression)

    def is_skipped(self, annotation: ast.expr) -> bool:
        """Return whether an annotation says that the attribute is not a field."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            annotation = _parse(annotation.value) or annotation
        head = annotation.value if isinstance(annotation, ast.Subscript) else annotation
        return self.dotted(head) in SKIPPED

    def is_alias(self, value: ast.expr) -> bool:
        """Return whether `X = value` defines a type, such as `str | None` or `list[int]`."""
        match value:
            case ast.Call(func=maker, args=args):
                return self.dotted(maker) in typing_names("NewType") and len(args) == 2
            case ast.Subscript(value=head):
                name = self.dotted(head)
                is_typing = name.startswith(tuple(f"{module}." for module in TYPING))
                return is_typing or name in LISTS | SETS | MAPS
            case ast.BinOp(op=ast.BitOr()):
                return all(
                    self._is_absent(one) or self.is_alias(one) for one in _alternatives(value)
                )
            case ast.Name() | ast.Attribute():
                dotted = self.dotted(value)
                if dotted in PLAIN or self._pydantic(value) in LIMITED:
                    return True
                declared = self.names.declared(dotted)
                return declared is not None and self._is_type(declared)
            case _:
                return False

    def _is_type(self, name: Named) -> bool:
        module = self.names.modules[name.module]
        node = module.classes.get(name.name)
        if node is not None:
            return bases.sort_of(self.names, module, node) is not None
        inner = TypeReader(module, self.names, Findings(), self.depth + 1)
        is_alias = inner.depth < _TOO_DEEP and inner.is_alias(module.assigned[name.name])
        return is_alias or name.name in module.aliases

    def read(self, expression: ast.expr, facts: Facts | None = None) -> TypeExpression:
        """Return the type of an annotation. Without `facts`, metadata applies to the type."""
        self.depth += 1
        try:
            if self.depth > _TOO_DEEP:
                return self._refuse(
                    expression, f"the type is nested more than {_TOO_DEEP} levels deep"
                )
            return self._read(expression, facts)
        finally:
            self.depth -= 1

    def _read(self, expression: ast.expr, facts: Facts | None) -> TypeExpression:
        match expression:
            case ast.Constant(value=str() as text):
                return self._read_text(expression, text, facts)
            case ast.Constant(value=None):
                return self._refuse(expression, "`None` alone is not a type of a field")
            case ast.BinOp(op=ast.BitOr()):
                return self._union(expression, _alternatives(expression), facts)
            case ast.Subscript(value=head, slice=inner):
                return self._subscript(expression, self.dotted(head), _items(inner), facts)
            case ast.Name() | ast.Attribute():
                return self._name(expression, self.dotted(expression))
            case ast.Call(func=maker) if self._pydantic(maker) in MAKERS:
                return self._made(expression, self._pydantic(maker))
            case _:
                return self._refuse(expression, f"`{format_expression(expression)}` is not a type")

    def _read_text(
        self, expression: ast.Constant, text: str, facts: Facts | None
    ) -> TypeExpression:
        inner = _parse(text)
        if inner is None:
            return self._refuse(expression, f"`{text}` is not a type")
        for node in ast.walk(inner):
            ast.copy_location(node, expression)
        return self.read(inner, facts)

    def _name(self, expression: ast.expr, dotted: str) -> TypeExpression:
        if dotted in PLAIN:
            return PLAIN[dotted]
        if (limited := self._pydantic(expression)) in LIMITED:
            return self._limited(expression, limited)
        if dotted in LISTS | SETS | MAPS:
            return self._refuse(
                expression,
                f"`{format_expression(expression)}` does not declare its item type",
                "name the type of its items, such as `list[str]` or `dict[str, str]`",
            )
        if dotted in UNTYPED:
            return Untyped(f"`{format_expression(expression)}` does not declare its value type")
        declared = self.names.declared(dotted)
        if declared:
            return self._declared(expression, declared)
        if dotted.startswith(
            ("builtins.", "datetime.", "decimal.", "uuid.", "typing.", "pathlib.")
        ):
            return self._refuse(
                expression,
                f"`{format_expression(expression)}` cannot be expressed in a CRD",
                "use a type that JSON has: str, int, bool, list, dict or a model",
            )
        if self.names.is_nested(self.module, dotted):
            return self._refuse(
                expression,
                f"`{format_expression(expression)}` is declared inside a class, which is not "
                "supported",
                "declare it at the top of its module",
            )
        if self._is_unbound(dotted):
            return self._refuse_unbound(expression, dotted)
        self.findings.add(
            "API007",
            f"the type `{format_expression(expression)}` is not declared in the sources",
            self.module.at(expression),
            hint=f"looked for `{dotted}`; declare it in the package, or mark the field "
            "`+kubebuilder:validation:Schemaless`",
        )
        return Untyped()

    def _is_unbound(self, dotted: str) -> bool:
        """Return whether the module neither declares nor imports the name of this type."""
        before, _, name = dotted.partition(f"{self.module.name}.")
        return not before and self.module.lacks(name.partition(".")[0])

    def _refuse_unbound(self, expression: ast.expr, dotted: str) -> Untyped:
        name = dotted.removeprefix(f"{self.module.name}.")
        self.findings.add(
            "API007",
            f"`{name}` is neither declared nor imported in this module",
            self.module.at(expression),
            hint=import_hint(name),
        )
        return Untyped()

    def _declared(self, expression: ast.expr, name: Named) -> TypeExpression:
        if self._is_type(name):
            return name
        if name.name in self.names.modules[name.module].classes:
            return self._refuse(
                expression,
                f"`{format_expression(expression)}` is neither a model nor an enumeration",
                "derive it from `Model`, `StrEnum` or `IntEnum`, or make it a dataclass",
            )
        return self._refuse(
            expression,
            f"`{format_expression(expression)}` is a type that cannot be read from the source",
            "write its type out, or the alias as `X: TypeAlias = …`",
        )

    def _pydantic(self, expression: ast.expr) -> str:
        """Return the name of a pydantic object, or an empty string."""
        module, _, name = self.dotted(expression).rpartition(".")
        return name if module in PYDANTIC else ""

    def _made(self, call: ast.Call, maker: str) -> TypeExpression:
        """Return the type of `conint(ge=1)` and similar calls."""
        base = MAKERS[maker]
        if base is None:
            if not call.args:
                return self._refuse(
                    call, f"`{format_expression(call)}` does not declare its item type"
                )
            base = ListType(self.read(call.args[0]), is_set=maker == "conset")
        said = Facts()
        self.facts.keywords(call, said)
        return Constrained(base, tuple(said.constraints)) if said.constraints else base

    def _limited(self, expression: ast.expr, name: str) -> TypeExpression:
        """Return the type of `PositiveInt` and similar names."""
        base, limits = LIMITED[name]
        at = self.module.at(expression)
        found = tuple(Constraint(keyword, value, at) for keyword, value in limits)
        return Constrained(base, found) if found else base

    def _subscript(
        self, expression: ast.Subscript, head: str, items: list[ast.expr], facts: Facts | None
    ) -> TypeExpression:
        if head in typing_names("Annotated"):
            return self._annotated(items, facts)
        if head in typing_names("Optional"):
            return self._union(expression, items, facts)
        if head in typing_names("Union"):
            return self._union(expression, items, facts)
        if head in typing_names("Literal"):
            return self._literal(expression, items)
        if head in WRAPPERS and len(items) == 1:
            return self.read(items[0], facts)
        if head in LISTS:
            return self._list(expression, head, items)
        if head in SETS and len(items) == 1:
            return ListType(self.read(items[0]), is_set=True)
        if head in MAPS and len(items) == 2:
            return self._map(items)
        if self.names.declared(head):
            return self._refuse(
                expression,
                f"`{format_expression(expression)}` is generic, and a CRD has no generic types",
                "write one type for each use",
            )
        if self._is_unbound(head):
            return self._refuse_unbound(expression.value, head)
        return self._refuse(
            expression,
            f"`{format_expression(expression)}` cannot be expressed in a CRD",
            "use list, set, dict, Optional, Literal or Annotated",
        )

    def _list(self, expression: ast.expr, head: str, items: list[ast.expr]) -> TypeExpression:
        is_tuple = head.endswith((".tuple", ".Tuple"))
        if is_tuple:
            if len(items) == 2 and isinstance(items[1], ast.Constant) and items[1].value is ...:
                return ListType(self.read(items[0]))
            return self._refuse(
                expression,
                f"`{format_expression(expression)}` has items of different types",
                "use `tuple[T, ...]`, a list, or a model with named fields",
            )
        if len(items) != 1:
            return self._refuse(expression, f"`{format_expression(expression)}` is not a list type")
        return ListType(self.read(items[0]))

    def _map(self, items: list[ast.expr]) -> TypeExpression:
        if not self._is_text(self.read(items[0])):
            return self._refuse(items[0], "keys of a map must be strings")
        return MapType(self.read(items[1]))

    def _is_text(self, key: TypeExpression) -> bool:
        """Return whether a type is a string, also if it is declared in another module."""
        base = key.base if isinstance(key, (Constrained, Choice)) else key
        if isinstance(base, Choice):
            base = base.base
        if not isinstance(base, Named):
            return base == Scalar("string")
        module = self.names.modules[base.module]
        node = module.classes.get(base.name)
        if node is not None:
            return bases.kind_of_members(self.names, module, node) == "string"
        inner = TypeReader(module, self.names, Findings(), self.depth + 1)
        is_known = inner.depth < _TOO_DEEP
        return is_known and inner._is_text(inner.read(alias_target(module.assigned[base.name])))

    def _union(
        self, expression: ast.expr, alternatives: list[ast.expr], facts: Facts | None
    ) -> TypeExpression:
        rest = [item for item in alternatives if not self._is_absent(item)]
        if len(rest) == 1:
            return self.read(rest[0], facts)
        kinds = {self.dotted(item) for item in rest}
        if kinds == {"builtins.int", "builtins.str"}:
            return WellKnown("IntOrString")
        return self._refuse(
            expression,
            f"`{format_expression(expression)}` is a union, which a CRD cannot express",
            "use one model with optional fields and "
            "`+kubebuilder:validation:ExactlyOneOf=a;b`, or `int | str`",
        )

    def _is_absent(self, item: ast.expr) -> bool:
        is_none = isinstance(item, ast.Constant) and item.value is None
        return is_none or self.dotted(item) in ABSENT

    def _literal(self, expression: ast.expr, items: list[ast.expr]) -> TypeExpression:
        values: list[Any] = []
        for item in items:
            is_literal = isinstance(item, ast.Constant | ast.UnaryOp)
            value = self.literals.value(item) if is_literal else MISSING
            if type(value) not in (str, int, bool):
                return self._refuse(
                    item, "a `Literal` may contain only strings, integers or booleans"
                )
            values.append(value)
        kinds = {type(value) for value in values}
        if len(kinds) != 1:
            return self._refuse(expression, "values of a `Literal` must have the same type")
        names = {str: "string", int: "integer", bool: "boolean"}
        return Choice(Scalar(names[kinds.pop()]), tuple(values))

    def _annotated(self, items: list[ast.expr], facts: Facts | None) -> TypeExpression:
        if not items:
            return Untyped()
        base = self.read(items[0], facts)
        said = Facts() if facts is None else facts
        before = len(said.constraints)
        for item in items[1:]:
            self.facts.metadata(item, said)
        found = tuple(said.constraints[before:])
        if not found:
            return base
        del said.constraints[before:]
        return Constrained(base, found)

    def _refuse(self, expression: ast.expr, message: str, hint: str = "") -> Untyped:
        self.findings.add("API006", message, self.module.at(expression), hint=hint)
        return Untyped()


def alias_target(value: ast.expr) -> ast.expr:
    """Return the type of an alias: the second argument of `NewType`, else the value."""
    return value.args[1] if isinstance(value, ast.Call) and len(value.args) > 1 else value


def _parse(text: str) -> ast.expr | None:
    """Return a parsed annotation that is written as a string."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _alternatives(expression: ast.expr) -> list[ast.expr]:
    """Return the parts of `A | B | C` without recursion: the tree leans to the left."""
    found: list[ast.expr] = []
    while isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.BitOr):
        found.append(expression.right)
        expression = expression.left
    return [expression, *reversed(found)]


def _items(inner: ast.expr) -> list[ast.expr]:
    return list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
