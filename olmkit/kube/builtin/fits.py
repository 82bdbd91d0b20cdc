"""A fast check whether a value certainly fits its Kubernetes type.

Schemas in CRDs are large and nearly always correct, so `olmkit.kube.builtin.typed.read` would spend
most of its time without finding anything. Here a value is only traversed, case-sensitively;
anything unusual is left to `read`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from olmkit.kube.builtin import typed

_SCALARS: Final[Mapping[str, frozenset[type]]] = {
    "s": frozenset({str}),
    "b": frozenset({bool}),
    "i": frozenset({int}),
    "f": frozenset({int, float}),
    "port": frozenset({int, str}),
    # A check whether text is a quantity is not fast.
    "quantity": frozenset({int}),
}
_WIDTH: Final = 2**31


def fits(value: Any, type_name: str) -> bool:
    """Return whether `value` fits; False may also mean that `typed.read` must check it."""
    stack: list[tuple[Any, _Plan]] = [(value, _plan(type_name))]
    while stack:
        value, plan = stack.pop()
        if value is None or plan is _ANYTHING:
            continue
        kind = type(value)
        if kind is dict:
            if plan.fields is not None:
                fields = plan.fields()
                for key, item in value.items():
                    wanted = fields.get(key)
                    if wanted is None or item is None:
                        continue
                    kind = type(item)
                    if kind is dict or kind is list:
                        stack.append((item, wanted))
                    elif kind not in wanted.scalar or (kind is int and not _is_narrow(item)):
                        return False
            elif plan.values is not None:
                stack.extend((item, plan.values) for item in value.values())
            else:
                return False
        elif kind is list:
            if plan.items is None:
                return False
            stack.extend((item, plan.items) for item in value)
        elif kind not in plan.scalar or (kind is int and not _is_narrow(value)):
            return False
    return True


def _is_narrow(number: int) -> bool:
    """Return whether a number is small enough for all integer types."""
    return -_WIDTH <= number < _WIDTH


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """The type of a value: a scalar, a list, a mapping, or one of several."""

    scalar: frozenset[type] = frozenset()
    items: _Plan | None = None
    values: _Plan | None = None
    fields: functools.partial[Mapping[str, _Plan]] | None = None


_ANYTHING: Final = _Plan(scalar=frozenset({str, bool, int, float}))


@functools.cache
def _plan(kind: str) -> _Plan:
    if kind == "any":
        return _ANYTHING
    if kind in _SCALARS:
        return _Plan(scalar=_SCALARS[kind])
    if kind.startswith("[]"):
        return _Plan(items=_plan(kind[2:]))
    if kind.startswith("{}"):
        return _Plan(values=_plan(kind[2:]))
    choice = typed.choice(kind)
    inner, _, _ = kind.partition("Or") if choice else (kind, "", "")
    plan = _Plan(fields=functools.partial(_fields, inner))
    if "b" in choice:
        return _Plan(fields=plan.fields, scalar=_SCALARS["b"])
    if "[]" in choice:
        return _Plan(fields=plan.fields, items=plan)
    if "[]s" in choice:
        return _Plan(fields=plan.fields, items=_plan("s"))
    return plan


@functools.cache
def _fields(kind: str) -> Mapping[str, _Plan]:
    return {name: _plan(field) for name, field in typed.fields(kind).items() if field != "any"}
