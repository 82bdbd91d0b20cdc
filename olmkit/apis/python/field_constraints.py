"""The calls next to the type of a field: `Field(…)`, `Meta(…)`, `Ge(1)`.

Constraints of annotated-types, pydantic and msgspec are identified by their dotted names; a
constraint that cannot be expressed in a CRD is a finding, and never silently dropped.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from olmkit.apis.findings import Findings
from olmkit.apis.model import MISSING, Constraint, Missing
from olmkit.apis.python.literals import Literals, format_expression
from olmkit.base.diagnostics import Location

# The constraints of the keywords of `Field`, `Meta` and `StringConstraints`.
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
        *("alias_priority", "validate_default", "frozen", "strict"),
        *("converter", "strip_whitespace", "to_upper", "to_lower", "coerce_numbers_to_str"),
        *("union_mode", "allow_inf_nan", "fail_fast"),
    }
)
# These describe the API in a form that is not supported, although a CRD could express it.
_IGNORED_KEYWORDS = frozenset(
    {
        *("metadata", "json_schema_extra", "extra_json_schema", "extra"),
        *("validator", "discriminator", "deprecated"),
    }
)

KNOWN: Final = (
    _FIELD_CALLS
    | {f"annotated_types.{name}" for name in (*_ANNOTATED_TYPES, "Len", "Interval")}
    | {"pydantic.AliasChoices"}
)
"""Dotted names of other libraries that describe a field."""


# Values that mean "not given" where a default would be.
_NOT_GIVEN = frozenset({"msgspec.UNSET", "attrs.NOTHING", "attr.NOTHING", "dataclasses.MISSING"})
_FACTORIES = frozenset({"attrs.Factory", "attr.Factory"})


class UnreadDefault(NamedTuple):
    """A default that the source does not show: its text and its place."""

    text: str
    at: Location


@dataclass(slots=True)
class Facts:
    """The facts about one field next to its type."""

    constraints: list[Constraint] = field(default_factory=list)
    default: Any = MISSING
    is_optional: bool = False
    alias: str = ""
    """The name in JSON, if it is set."""
    read_as: tuple[str, ...] = ()
    """The names under which a value is read, if they are set separately."""
    title: str = ""
    description: str = ""
    example: Any = MISSING
    is_excluded: bool = False
    unread_default: UnreadDefault | None = None


@dataclass(slots=True)
class FactReader:
    """Reads the calls next to the types of one module."""

    literals: Literals
    findings: Findings

    def metadata(self, expression: ast.expr, facts: Facts) -> None:
        """Process one item of `Annotated`: a call, or the name of one."""
        module, meant = self.literals.resolved(expression)
        if isinstance(meant, ast.Call):
            FactReader(Literals(module, self.literals.names), self.findings).call(meant, facts)

    def call(self, call: ast.Call, facts: Facts) -> None:
        """Process a call, if it describes a field."""
        name = self._dotted(call.func)
        if name in _FIELD_CALLS:
            self._field_call(call, name, facts)
        elif name.startswith("annotated_types."):
            self._annotated_types(call, name.rpartition(".")[2], facts)

    def _annotated_types(self, call: ast.Call, name: str, facts: Facts) -> None:
        at = self.literals.module.at(call)
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
                "API006",
                f"`{format_expression(call)}` cannot be expressed in a CRD",
                at,
                hint="remove it",
            )
            return
        values |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        for key, value in values.items():
            if key in _KEYWORDS:
                self._limit(_KEYWORDS[key], value, facts)

    def _field_call(self, call: ast.Call, name: str, facts: Facts) -> None:
        if name.endswith(".Field") and call.args:
            self.default(call.args[0], facts)
        self.keywords(call, facts, name)

    def keywords(self, call: ast.Call, facts: Facts, name: str = "") -> None:
        """Process the keywords of a call; `name` is the called name, if it matters."""
        for keyword in call.keywords:
            if keyword.arg is None:
                self.findings.add(
                    "API006",
                    "`**` hides the options of the field",
                    self.literals.module.at(keyword.value),
                    hint="write each argument explicitly",
                )
                continue
            self._field_keyword(call, name, keyword.arg, keyword.value, facts)

    def _field_keyword(
        self, call: ast.Call, name: str, key: str, value: ast.expr, facts: Facts
    ) -> None:
        if key in _KEYWORDS:
            self._limit(_KEYWORDS[key], value, facts)
        elif key == "default":
            self.default(value, facts)
        elif key in ("default_factory", "factory"):
            self._factory(value, facts)
        elif key == "alias" or (key == "name" and name.startswith("msgspec")):
            name_said = self._text(value)
            facts.alias = facts.alias or name_said
            facts.read_as = facts.read_as or (name_said,)
        elif key == "serialization_alias":
            facts.alias = self._text(value)
        elif key == "validation_alias":
            facts.read_as = self._choices(value)
        elif key in ("title", "description"):
            setattr(facts, key, self._text(value))
        elif key == "examples":
            examples = self.literals.value(value)
            facts.example = examples[0] if isinstance(examples, list) and examples else MISSING
        elif key == "exclude":
            facts.is_excluded = bool(self.literals.value(value) is True)
        elif key in _IGNORED_KEYWORDS:
            if not (isinstance(value, ast.Constant) and value.value in (None, False)):
                self.findings.add(
                    "API033",
                    f"`{key}` of `{format_expression(call.func)}` is not added to the CRD",
                    self.literals.module.at(value),
                    hint="write what the API needs as a marker comment",
                )
        elif key not in _SILENT_KEYWORDS:
            self.findings.add(
                "API006",
                f"`{key}` of `{format_expression(call.func)}` is not supported",
                self.literals.module.at(value),
                hint="use a marker comment instead",
            )

    def default(self, value: ast.expr, facts: Facts) -> None:
        """Process the default of a field; `...` means that the field is required."""
        if isinstance(value, ast.Constant) and value.value is ...:
            return
        facts.is_optional = True
        if isinstance(value, ast.Call) and self._dotted(value.func) in _FACTORIES and value.args:
            self._factory(value.args[0], facts)
        elif self._dotted(value) not in _NOT_GIVEN:
            self._take_default(self.literals.default_value(value), value, facts)

    def _factory(self, value: ast.expr, facts: Facts) -> None:
        """Process a function that creates the default: a type without arguments, or a `lambda`."""
        facts.is_optional = True
        self._take_default(self.literals.made_by(value), value, facts)

    def _take_default(self, found: Any, value: ast.expr, facts: Facts) -> None:
        if isinstance(found, Missing):
            facts.unread_default = UnreadDefault(
                format_expression(value), self.literals.module.at(value)
            )
        elif found is not None and found != []:
            facts.default = found

    def _text(self, value: ast.expr) -> str:
        found = self.literals.value(value)
        if isinstance(found, str):
            return found
        self.findings.add(
            "API006",
            f"`{format_expression(value)}` is not a string literal",
            self.literals.module.at(value),
        )
        return ""

    def _choices(self, value: ast.expr) -> tuple[str, ...]:
        """Return one name, or those of `AliasChoices`."""
        is_choice = isinstance(value, ast.Call) and self._dotted(value.func).endswith(
            ".AliasChoices"
        )
        names = value.args if isinstance(value, ast.Call) and is_choice else [value]
        return tuple(self._text(name) for name in names)

    def _limit(self, keyword: str, expression: ast.expr, facts: Facts) -> None:
        value = self.literals.value(expression)
        at = self.literals.module.at(expression)
        if value is None:
            return
        wanted: tuple[type, ...] = (str,) if keyword == "pattern" else (int, float)
        if not isinstance(value, wanted) or isinstance(value, bool):
            self.findings.add(
                "API006",
                f"`{format_expression(expression)}` is a value that cannot be read from the source",
                at,
                hint="write a literal, or a constant of this module that has a literal value",
            )
            return
        facts.constraints.append(Constraint(keyword, value, at))

    def _dotted(self, expression: ast.expr) -> str:
        return self.literals.names.dotted(self.literals.module, expression)
