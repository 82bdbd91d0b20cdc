"""Label selectors, in both forms of Kubernetes.

As text (`app=web,tier in (a,b),!legacy`), as in query parameters, and as the object of API types
(`matchLabels`, `matchExpressions`). Source: Kubernetes' documentation of labels and selectors; the
grammar of apimachinery's `labels`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from olmkit.base.diagnostics import InputError

_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_PREFIX = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
_KEY = re.compile(rf"(?:(?P<prefix>{_PREFIX})/)?{_NAME}")
_VALUE = re.compile(rf"(?:{_NAME})?")
_TERM = re.compile(
    r"""\s*(?:
        !\s*(?P<absent>[^\s,=!()<>]+)
      | (?P<key>[^\s,=!()<>]+)\s*(?:
            (?P<equals>==?|!=|<|>)\s*(?P<value>[^\s,=!()<>]*)
          | (?P<set>in|notin)\s*\((?P<values>[^()]*)\)
        )?
    )\s*(?:,|$)""",
    re.VERBOSE,
)


class SelectorOperator(StrEnum):
    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GREATER = "Gt"
    LESS = "Lt"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: SelectorOperator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case SelectorOperator.IN:
                return value is not None and value in self.values
            case SelectorOperator.NOT_IN:  # an object without the label matches
                return value not in self.values
            case SelectorOperator.EXISTS:
                return value is not None
            case SelectorOperator.DOES_NOT_EXIST:
                return value is None
            case SelectorOperator.GREATER | SelectorOperator.LESS:
                if value is None or not re.fullmatch(r"[-+]?\d+", value):
                    return False
                if self.operator is SelectorOperator.GREATER:
                    return int(value) > int(self.values[0])
                return int(value) < int(self.values[0])

    def __str__(self) -> str:
        values = ",".join(self.values)
        match self.operator:
            case SelectorOperator.IN:
                return (
                    f"{self.key}={values}" if len(self.values) == 1 else f"{self.key} in ({values})"
                )
            case SelectorOperator.NOT_IN:
                if len(self.values) == 1:
                    return f"{self.key}!={values}"
                return f"{self.key} notin ({values})"
            case SelectorOperator.EXISTS:
                return self.key
            case SelectorOperator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case SelectorOperator.GREATER:
                return f"{self.key}>{values}"
            case SelectorOperator.LESS:
                return f"{self.key}<{values}"


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A label selector: all requirements must match. `str()` returns the text form."""

    requirements: tuple[Requirement, ...] = ()

    @classmethod
    def parse(cls, selector: str | Mapping[str, Any]) -> LabelSelector:
        """Parse the text form, or `matchLabels` / `matchExpressions`, or plain labels.

        Raises `InputError` for anything else.
        """
        if isinstance(selector, str):
            return cls(tuple(_sort(_parse_text(selector))))
        if set(selector) <= {"matchLabels", "matchExpressions"}:
            return cls(tuple(_sort(_parse_object(selector))))
        return cls(tuple(_sort(_equal(key, value) for key, value in selector.items())))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether an object with these labels meets all requirements."""
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements)


def _sort(requirements: Iterable[Requirement]) -> list[Requirement]:
    return sorted(requirements, key=lambda requirement: (requirement.key, requirement.operator))


def _equal(key: str, value: object) -> Requirement:
    if not isinstance(value, str):
        raise InputError(f"the value of label `{key}` in a selector must be a string")
    return _parse_requirement(key, SelectorOperator.IN, (value,))


def _parse_text(text: str) -> Iterable[Requirement]:
    position = 0
    while text[position:].strip():
        found = _TERM.match(text, position)
        if found is None or found.end() == position:
            raise InputError(
                f"`{text}` is not a label selector: cannot read `{text[position:].strip()}`",
                hint="write terms like `app=web`, `tier in (a,b)`, `!legacy`, joined by commas",
            )
        position = found.end()
        if found["absent"]:
            yield _parse_requirement(found["absent"], SelectorOperator.DOES_NOT_EXIST, ())
        elif found["set"]:
            values = tuple(sorted(value.strip() for value in found["values"].split(",")))
            operator = SelectorOperator.IN if found["set"] == "in" else SelectorOperator.NOT_IN
            yield _parse_requirement(found["key"], operator, values)
        elif found["equals"]:
            operators = {
                "!=": SelectorOperator.NOT_IN,
                "<": SelectorOperator.LESS,
                ">": SelectorOperator.GREATER,
            }
            operator = operators.get(found["equals"], SelectorOperator.IN)
            yield _parse_requirement(found["key"], operator, (found["value"],))
        else:
            yield _parse_requirement(found["key"], SelectorOperator.EXISTS, ())
        if found[0].endswith(",") and not text[position:].strip():
            raise InputError(
                f"`{text}` is not a label selector: it ends with a comma",
                hint="remove the comma, or write another term after it",
            )


def _parse_object(selector: Mapping[str, Any]) -> Iterable[Requirement]:
    for key, value in (selector.get("matchLabels") or {}).items():
        yield _equal(key, value)
    for expression in selector.get("matchExpressions") or []:
        try:
            operator = SelectorOperator(expression["operator"])
            key = expression["key"]
            values = tuple(sorted(expression.get("values") or ()))
        except (KeyError, TypeError, ValueError):
            raise InputError(f"`{expression}` is not an expression of a label selector") from None
        if operator in (SelectorOperator.GREATER, SelectorOperator.LESS):
            raise InputError(f"`{operator}` is not an operator of a label selector's expression")
        yield _parse_requirement(key, operator, values)


def _is_int64(text: str) -> bool:
    return re.fullmatch(r"-?[0-9]{1,20}", text) is not None and -(2**63) <= int(text) < 2**63


def _parse_requirement(
    key: str, operator: SelectorOperator, values: tuple[str, ...]
) -> Requirement:
    found = _KEY.fullmatch(key)
    if found is None or len(found["prefix"] or "") > 253:
        raise InputError(f"`{key}` is not a label key")
    for value in values:
        if not _VALUE.fullmatch(value):
            raise InputError(f"`{value}` is not a label value")
    if operator in (SelectorOperator.IN, SelectorOperator.NOT_IN) and not values:
        raise InputError(f"the selector on `{key}` needs values")
    if operator in (SelectorOperator.EXISTS, SelectorOperator.DOES_NOT_EXIST) and values:
        raise InputError(f"the selector on `{key}` takes no values")
    if operator in (SelectorOperator.GREATER, SelectorOperator.LESS) and not _is_int64(values[0]):
        raise InputError(f"the selector on `{key}` compares with a number")
    return Requirement(key, operator, values)
