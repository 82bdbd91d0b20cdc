"""Annotations of Python fields as type expressions, and what `Field(…)` says beside them.

Constraints of annotated-types, pydantic and msgspec are understood by their
dotted names; what has no form in a CRD is a finding, never dropped in silence.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from olmkit.apis.findings import Findings
from olmkit.apis.model import (
    MISSING,
    Choice,
    Constrained,
    Constraint,
    ListType,
    MapType,
    Missing,
    Named,
    Scalar,
    TypeExpression,
    Untyped,
    WellKnown,
)
from olmkit.apis.python_names import Module, Names

_KINDS = ("olmkit", "olmkit.runtime", "olmkit.runtime.kinds")
_OURS: dict[str, TypeExpression] = {
    "Int32": Scalar("integer", "int32"),
    "Int64": Scalar("integer", "int64"),
    **{
        name: WellKnown(name)
        for name in (
            "Quantity",
            "IntOrString",
            "RawExtension",
            "JSON",
            "Duration",
            "Time",
            "MicroTime",
            "ObjectMeta",
            "Condition",
        )
    },
}
_PLAIN: dict[str, TypeExpression] = {
    "builtins.bool": Scalar("boolean"),
    "builtins.str": Scalar("string"),
    "builtins.bytes": Scalar("string", "byte"),
    "builtins.int": Scalar("integer"),
    "builtins.float": Scalar("number"),
    "datetime.datetime": Scalar("string", "date-time"),
    "datetime.timedelta": Scalar("string"),
    **{f"{module}.{name}": kind for module in _KINDS for name, kind in _OURS.items()},
}
_TYPING = ("typing", "typing_extensions")


def _typing(*names: str) -> frozenset[str]:
    return frozenset(f"{module}.{name}" for module in _TYPING for name in names)


_COLLECTIONS = "collections.abc"
_LISTS = _typing("List", "Sequence", "Tuple", "Collection", "Iterable") | {
    "builtins.list",
    "builtins.tuple",
    *(f"{_COLLECTIONS}.{name}" for name in ("Sequence", "Collection", "Iterable")),
}
_SETS = _typing("Set", "FrozenSet", "AbstractSet") | {
    "builtins.set",
    "builtins.frozenset",
    f"{_COLLECTIONS}.Set",
}
_MAPS = _typing("Dict", "Mapping", "MutableMapping") | {
    "builtins.dict",
    f"{_COLLECTIONS}.Mapping",
    f"{_COLLECTIONS}.MutableMapping",
}
_WRAPPERS = _typing("Required", "NotRequired", "Final", "ReadOnly")
_SKIPPED = _typing("ClassVar") | {"dataclasses.InitVar"}
_UNTYPED = _typing("Any") | {"builtins.object"}
_ABSENT = frozenset({"msgspec.UnsetType", "msgspec._core.UnsetType"})
_TOO_DEEP = 60

# What a keyword of `Field`, `Meta` or `StringConstraints` limits.
_KEYWORDS = {
    "ge": "minimum",
    "le": "maximum",
    "gt": "exclusive minimum",
    "lt": "exclusive maximum",
    "multiple_of": "multipleOf",
    "min_length": "minimum size",
    "max_length": "maximum size",
    "pattern": "pattern",
    "min_items": "minimum size",
    "max_items": "maximum size",
}
_ANNOTATED_TYPES = {
    "Ge": "minimum",
    "Le": "maximum",
    "Gt": "exclusive minimum",
    "Lt": "exclusive maximum",
    "MultipleOf": "multipleOf",
    "MinLen": "minimum size",
    "MaxLen": "maximum size",
}
_FIELD_CALLS = frozenset(
    {
        "pydantic.Field",
        "pydantic.fields.Field",
        "msgspec.Meta",
        "pydantic.StringConstraints",
        "pydantic.types.StringConstraints",
        "dataclasses.field",
        "msgspec.field",
        "attrs.field",
        "attr.ib",
        "attr.field",
    }
)
# These change how Python treats a value, not what the API allows.
_SILENT_KEYWORDS = frozenset(
    {
        *("kw_only", "init", "repr", "compare", "hash", "eq", "order", "on_setattr", "init_var"),
        *("validation_alias", "alias_priority", "validate_default", "frozen", "strict"),
        *("converter", "validator", "metadata", "json_schema_extra", "extra_json_schema", "extra"),
        *("strip_whitespace", "to_upper", "to_lower", "coerce_numbers_to_str", "union_mode"),
        *("discriminator", "deprecated", "allow_inf_nan", "fail_fast"),
    }
)


@dataclass(slots=True)
class Facts:
    """What is said about one field beside its type."""

    constraints: list[Constraint] = field(default_factory=list)
    default: Any = MISSING
    is_optional: bool = False
    alias: str = ""
    title: str = ""
    description: str = ""
    example: Any = MISSING
    is_excluded: bool = False


@dataclass(slots=True)
class TypeReader:
    """Reads annotations of one module."""

    module: Module
    names: Names
    findings: Findings
    depth: int = 0

    def dotted(self, expression: ast.expr) -> str:
        return self.names.dotted(self.module, expression)

    def is_skipped(self, annotation: ast.expr) -> bool:
        """Whether an annotation says that the attribute is no field."""
        head = annotation.value if isinstance(annotation, ast.Subscript) else annotation
        return self.dotted(head) in _SKIPPED

    def read(self, expression: ast.expr, facts: Facts | None = None) -> TypeExpression:
        """The type that an annotation means. Without `facts`, metadata limits the type itself."""
        self.depth += 1
        try:
            if self.depth > _TOO_DEEP:
                return self._refuse(expression, "the type is nested too deep")
            return self._read(expression, facts)
        finally:
            self.depth -= 1

    def _read(self, expression: ast.expr, facts: Facts | None) -> TypeExpression:
        match expression:
            case ast.Constant(value=str() as text):
                return self._read_text(expression, text, facts)
            case ast.Constant(value=None):
                return self._refuse(expression, "`None` alone is no type of a field")
            case ast.BinOp(op=ast.BitOr()):
                return self._union(expression, _alternatives(expression), facts)
            case ast.Subscript(value=head, slice=inner):
                return self._subscript(expression, self.dotted(head), _items(inner), facts)
            case ast.Name() | ast.Attribute():
                return self._name(expression, self.dotted(expression))
            case _:
                return self._refuse(expression, f"`{_source(expression)}` is no type")

    def _read_text(
        self, expression: ast.Constant, text: str, facts: Facts | None
    ) -> TypeExpression:
        try:
            inner = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return self._refuse(expression, f"`{text}` is no type")
        for node in ast.walk(inner):
            ast.copy_location(node, expression)
        return self.read(inner, facts)

    def _name(self, expression: ast.expr, dotted: str) -> TypeExpression:
        if dotted in _PLAIN:
            return _PLAIN[dotted]
        if dotted in _LISTS | _SETS | _MAPS:
            return self._refuse(
                expression,
                f"`{_source(expression)}` does not say what it holds",
                "name the type of its items, such as `list[str]` or `dict[str, str]`",
            )
        if dotted in _UNTYPED:
            return Untyped(f"`{_source(expression)}` does not say what the value is")
        declared = self.names.declared(dotted)
        if declared:
            return declared
        if dotted.startswith(
            ("builtins.", "datetime.", "decimal.", "uuid.", "typing.", "pathlib.")
        ):
            return self._refuse(
                expression,
                f"`{_source(expression)}` has no form in a CRD",
                "use a type that JSON has: str, int, bool, list, dict or a model",
            )
        self.findings.add(
            "API007",
            f"the type `{_source(expression)}` is not declared in the sources",
            self.module.at(expression),
            hint=f"looked for `{dotted}`; declare it in the package, or mark the field "
            "`+kubebuilder:validation:Schemaless`",
        )
        return Untyped()

    def _subscript(
        self, expression: ast.Subscript, head: str, items: list[ast.expr], facts: Facts | None
    ) -> TypeExpression:
        if head in _typing("Annotated"):
            return self._annotated(items, facts)
        if head in _typing("Optional"):
            return self._union(expression, items, facts)
        if head in _typing("Union"):
            return self._union(expression, items, facts)
        if head in _typing("Literal"):
            return self._literal(expression, items)
        if head in _WRAPPERS and len(items) == 1:
            return self.read(items[0], facts)
        if head in _LISTS:
            return self._list(expression, head, items)
        if head in _SETS and len(items) == 1:
            return ListType(self.read(items[0]), is_set=True)
        if head in _MAPS and len(items) == 2:
            return self._map(items)
        return self._refuse(
            expression,
            f"`{_source(expression)}` has no form in a CRD",
            "read are list, set, dict, Optional, Literal and Annotated",
        )

    def _list(self, expression: ast.expr, head: str, items: list[ast.expr]) -> TypeExpression:
        is_tuple = head.endswith((".tuple", ".Tuple"))
        if is_tuple:
            if len(items) == 2 and isinstance(items[1], ast.Constant) and items[1].value is ...:
                return ListType(self.read(items[0]))
            return self._refuse(
                expression,
                f"`{_source(expression)}` has items of their own types each",
                "use `tuple[T, ...]`, a list, or a model with named fields",
            )
        if len(items) != 1:
            return self._refuse(expression, f"`{_source(expression)}` is no list type")
        return ListType(self.read(items[0]))

    def _map(self, items: list[ast.expr]) -> TypeExpression:
        key = self.read(items[0])
        base = key.base if isinstance(key, (Constrained, Choice)) else key
        if base != Scalar("string") and not isinstance(base, Named):
            return self._refuse(items[0], "keys of a map must be strings")
        return MapType(self.read(items[1]))

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
            f"`{_source(expression)}` may be several things, which a CRD cannot say",
            "use one model with optional fields and "
            "`+kubebuilder:validation:ExactlyOneOf=a;b`, or `int | str`",
        )

    def _is_absent(self, item: ast.expr) -> bool:
        is_none = isinstance(item, ast.Constant) and item.value is None
        return is_none or self.dotted(item) in _ABSENT

    def _literal(self, expression: ast.expr, items: list[ast.expr]) -> TypeExpression:
        values: list[Any] = []
        for item in items:
            if not isinstance(item, ast.Constant) or type(item.value) not in (str, int, bool):
                return self._refuse(item, "a `Literal` may hold texts, integers or booleans")
            values.append(item.value)
        kinds = {type(value) for value in values}
        if len(kinds) != 1:
            return self._refuse(expression, "values of a `Literal` must be of one type")
        names = {str: "string", int: "integer", bool: "boolean"}
        return Choice(Scalar(names[kinds.pop()]), tuple(values))

    def _annotated(self, items: list[ast.expr], facts: Facts | None) -> TypeExpression:
        if not items:
            return Untyped()
        base = self.read(items[0], facts)
        said = Facts() if facts is None else facts
        before = len(said.constraints)
        for item in items[1:]:
            self.metadata(item, said)
        found = tuple(said.constraints[before:])
        if not found:
            return base
        del said.constraints[before:]
        return Constrained(base, found)

    # What is said in calls

    def metadata(self, expression: ast.expr, facts: Facts) -> None:
        """One item of `Annotated`, or the call that is a field's default."""
        if not isinstance(expression, ast.Call):
            return
        name = self.dotted(expression.func)
        if name in _FIELD_CALLS:
            self._field_call(expression, name, facts)
        elif name.startswith("annotated_types."):
            self._annotated_types(expression, name.rpartition(".")[2], facts)

    def _annotated_types(self, call: ast.Call, name: str, facts: Facts) -> None:
        at = self.module.at(call)
        values: dict[str, ast.expr] = {}
        if name in _ANNOTATED_TYPES:
            argument = (
                call.args[0] if call.args else (call.keywords[0].value if call.keywords else None)
            )
            if argument is not None:
                self._limit(_ANNOTATED_TYPES[name], argument, facts)
            return
        if name == "Len":
            values = dict(zip(("min_length", "max_length"), call.args, strict=False))
        elif name != "Interval":
            self.findings.add(
                "API006", f"`{_source(call)}` has no form in a CRD", at, hint="leave it out"
            )
            return
        values |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        for key, value in values.items():
            if key in _KEYWORDS:
                self._limit(_KEYWORDS[key], value, facts)

    def _field_call(self, call: ast.Call, name: str, facts: Facts) -> None:
        if name.endswith(".Field") and call.args:
            self._set_default(call.args[0], facts)
        for keyword in call.keywords:
            if keyword.arg is None:
                self.findings.add(
                    "API006",
                    "`**` hides what is said about the field",
                    self.module.at(keyword.value),
                    hint="write the arguments out",
                )
                continue
            self._field_keyword(call, name, keyword.arg, keyword.value, facts)

    def _field_keyword(
        self, call: ast.Call, name: str, key: str, value: ast.expr, facts: Facts
    ) -> None:
        if key in _KEYWORDS:
            self._limit(_KEYWORDS[key], value, facts)
        elif key == "default":
            self._set_default(value, facts)
        elif key in ("default_factory", "factory"):
            facts.is_optional = True
        elif key in ("alias", "serialization_alias") or (
            key == "name" and name.startswith("msgspec")
        ):
            facts.alias = self._text(value) or facts.alias
        elif key in ("title", "description"):
            setattr(facts, key, self._text(value))
        elif key == "examples":
            examples = self.literal(value)
            facts.example = examples[0] if isinstance(examples, list) and examples else MISSING
        elif key == "exclude":
            facts.is_excluded = bool(self.literal(value) is True)
        elif key not in _SILENT_KEYWORDS:
            self.findings.add(
                "API006",
                f"`{key}` of `{_source(call.func)}` is not understood",
                self.module.at(value),
                hint="say it with a marker comment",
            )

    def _set_default(self, value: ast.expr, facts: Facts) -> None:
        if isinstance(value, ast.Constant) and value.value is ...:
            return
        facts.is_optional = True
        facts.default = self.default(value)

    def _text(self, value: ast.expr) -> str:
        found = self.literal(value)
        if isinstance(found, str):
            return found
        self.findings.add("API006", f"`{_source(value)}` is no plain text", self.module.at(value))
        return ""

    def _limit(self, keyword: str, expression: ast.expr, facts: Facts) -> None:
        value = self.literal(expression)
        at = self.module.at(expression)
        if value is None:
            return
        wanted: tuple[type, ...] = (str,) if keyword == "pattern" else (int, float)
        if not isinstance(value, wanted) or isinstance(value, bool):
            self.findings.add(
                "API006",
                f"`{_source(expression)}` is no value that can be read from the text",
                at,
                hint="write a literal, or a constant of this module that is one",
            )
            return
        facts.constraints.append(Constraint(keyword, value, at))

    def literal(self, expression: ast.expr) -> Any:
        """The value of a literal, or of a constant of the sources; `MISSING` for others."""
        return _plain(expression, self._constant)

    def default(self, expression: ast.expr) -> Any:
        """A default as the schema knows it: literals, not empty; `MISSING` for all others."""
        value = self.literal(expression)
        if value is None or (isinstance(value, (list, dict)) and not value):
            return MISSING
        return value

    def _constant(self, expression: ast.expr) -> ast.expr | None:
        """What a name that stands for a literal or an enumeration's member was given."""
        dotted = self.dotted(expression)
        if dotted.endswith(".value"):
            dotted = dotted.removesuffix(".value")
        declared = self.names.declared(dotted)
        if declared:
            return self.names.modules[declared.module].assigned.get(declared.name)
        head, _, member = dotted.rpartition(".")
        enumeration = self.names.declared(head)
        if enumeration:
            module = self.names.modules[enumeration.module]
            body = module.classes.get(enumeration.name)
            for statement in body.body if body else ():
                if isinstance(statement, ast.Assign) and any(
                    isinstance(target, ast.Name) and target.id == member
                    for target in statement.targets
                ):
                    return statement.value
        return None

    def _refuse(self, expression: ast.expr, message: str, hint: str = "") -> Untyped:
        self.findings.add("API006", message, self.module.at(expression), hint=hint)
        return Untyped()


def _alternatives(expression: ast.expr) -> list[ast.expr]:
    """`A | B | C` without recursion: the tree leans to the left."""
    found: list[ast.expr] = []
    while isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.BitOr):
        found.append(expression.right)
        expression = expression.left
    return [expression, *reversed(found)]


def _items(inner: ast.expr) -> list[ast.expr]:
    return list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]


def _source(expression: ast.expr) -> str:
    try:
        text = ast.unparse(expression)
    except RecursionError:
        return "…"
    return text if len(text) <= 80 else text[:79] + "…"


def _plain(
    expression: ast.expr, constant: Callable[[ast.expr], ast.expr | None], depth: int = 0
) -> Any:
    if depth > _TOO_DEEP:
        return MISSING
    match expression:
        case ast.Constant(value=value):
            return value if value is None or type(value) in (str, int, float, bool) else MISSING
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return _all([_plain(item, constant, depth + 1) for item in items])
        case ast.Dict(keys=keys, values=values):
            names = [_plain(key, constant, depth + 1) if key else MISSING for key in keys]
            found = _all([_plain(value, constant, depth + 1) for value in values])
            if isinstance(found, Missing) or not all(isinstance(name, str) for name in names):
                return MISSING
            return dict(zip(names, found, strict=True))
        case ast.Name() | ast.Attribute():
            target = constant(expression)
            return MISSING if target is None else _plain(target, constant, depth + 1)
        case _:
            return MISSING


def _all(items: list[Any]) -> Any:
    return MISSING if any(isinstance(item, Missing) for item in items) else items
