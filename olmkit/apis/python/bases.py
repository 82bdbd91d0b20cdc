"""Classify classes: a model, a kind, an enumeration, a mixin, or none of these.

Classes are identified by direct and indirect base classes and by decorators; those of other
libraries are identified by their dotted names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum
from typing import Final

from olmkit.apis.model import Named
from olmkit.apis.python.names import Module, Names

_OURS = ("olmkit", "olmkit.runtime", "olmkit.runtime.kinds")
_RESOURCE_BASES = frozenset(f"{module}.CustomResource" for module in _OURS)
MODEL_BASES = _RESOURCE_BASES | {
    *(f"{module}.Model" for module in _OURS),
    "pydantic.BaseModel",
    "pydantic.main.BaseModel",
    "msgspec.Struct",
}
_MODEL_NAMES = frozenset(name.rpartition(".")[2] for name in MODEL_BASES)
_MODEL_DECORATORS = frozenset(
    {
        "dataclasses.dataclass",
        "pydantic.dataclasses.dataclass",
        *(f"attrs.{name}" for name in ("define", "frozen", "mutable")),
        *(f"attr.{name}" for name in ("s", "define", "frozen", "mutable", "attrs", "dataclass")),
    }
)
_ENUM_BASES = frozenset(f"enum.{name}" for name in ("Enum", "StrEnum", "IntEnum", "ReprEnum"))
_KINDS_OF_MEMBERS = {
    "builtins.str": "string",
    "enum.StrEnum": "string",
    "builtins.int": "integer",
    "enum.IntEnum": "integer",
}
HARMLESS_BASES = frozenset(
    {"builtins.object", "abc.ABC", "typing.Protocol", "typing_extensions.Protocol"}
)

KNOWN: Final = MODEL_BASES | _MODEL_DECORATORS | _ENUM_BASES | HARMLESS_BASES | {"enum.auto"}
"""Dotted names of other libraries that determine the role of a class."""


class Sort(Enum):
    """The role of a source class in an API."""

    MODEL = "model"
    ENUMERATION = "enumeration"


def sort_of(names: Names, module: Module, node: ast.ClassDef) -> Sort | None:
    """Return the role of a class; None for one that no API can have."""
    if bases(names, module, node) & _ENUM_BASES:
        return Sort.ENUMERATION
    is_model = _is_model(names, module, node) or _is_meant_as_model(module, node)
    return Sort.MODEL if is_model else None


def _is_meant_as_model(module: Module, node: ast.ClassDef) -> bool:
    """Return whether a base is a model that is not imported, which is reported with it."""
    named = {base.id for base in node.bases if isinstance(base, ast.Name)}
    return any(module.lacks(name) for name in named & _MODEL_NAMES)


def kind_of_members(names: Names, module: Module, node: ast.ClassDef) -> str:
    """Return `string` or `integer` for an enumeration, or an empty string."""
    found = {_KINDS_OF_MEMBERS.get(base, "") for base in bases(names, module, node)}
    return next((kind for kind in ("string", "integer") if kind in found), "")


def member(
    names: Names, module: Module, node: ast.ClassDef, name: str, value: ast.expr
) -> ast.expr:
    """Return the value of a class attribute; `auto()` in a `StrEnum` is the lower-case name."""
    is_auto = isinstance(value, ast.Call) and names.dotted(module, value.func) == "enum.auto"
    if is_auto and "enum.StrEnum" in bases(names, module, node):
        return ast.copy_location(ast.Constant(name.lower()), value)
    return value


def bases(names: Names, module: Module, node: ast.ClassDef) -> frozenset[str]:
    """Return the dotted names of all direct and indirect base classes."""
    return frozenset(
        names.dotted(owner, base)
        for owner, current in ancestry(names, module, node)
        for base in current.bases
    )


def _is_model(names: Names, module: Module, node: ast.ClassDef) -> bool:
    return any(
        _has_decorator(names, owner, current) or _has_base(names, owner, current, MODEL_BASES)
        for owner, current in ancestry(names, module, node)
    )


def is_mixin(names: Names, declared: Named) -> bool:
    """Return whether a class and its bases have only methods, and no fields."""
    module = names.modules[declared.module]
    node = module.classes.get(declared.name)
    if node is None:
        return False
    return all(
        not _has_decorator(names, owner, current)
        and not any(isinstance(statement, ast.AnnAssign) for statement in current.body)
        and all(
            (dotted := names.dotted(owner, base)) in HARMLESS_BASES or names.declared(dotted)
            for base in current.bases
        )
        for owner, current in ancestry(names, module, node)
    )


def is_resource(names: Names, module: Module, node: ast.ClassDef) -> bool:
    return any(
        _has_base(names, owner, current, _RESOURCE_BASES)
        for owner, current in ancestry(names, module, node)
    )


def _has_decorator(names: Names, module: Module, node: ast.ClassDef) -> bool:
    calls = (d.func if isinstance(d, ast.Call) else d for d in node.decorator_list)
    return any(names.dotted(module, call) in _MODEL_DECORATORS for call in calls)


def _has_base(names: Names, module: Module, node: ast.ClassDef, wanted: frozenset[str]) -> bool:
    bases = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
    return any(names.dotted(module, base) in wanted for base in bases)


def ancestry(
    names: Names, module: Module, node: ast.ClassDef
) -> Iterator[tuple[Module, ast.ClassDef]]:
    """Yield the class and all its direct and indirect bases in the sources."""
    seen: set[tuple[str, str]] = set()
    waiting = [(module, node)]
    while waiting:
        owner, current = waiting.pop()
        if (owner.name, current.name) not in seen:
            seen.add((owner.name, current.name))
            yield owner, current
            waiting.extend(_parents(names, owner, current))


def _parents(
    names: Names, module: Module, node: ast.ClassDef
) -> Iterator[tuple[Module, ast.ClassDef]]:
    for base in node.bases:
        expression = base.value if isinstance(base, ast.Subscript) else base
        declared = names.declared(names.dotted(module, expression))
        if declared and declared != Named(module.name, node.name):
            parent = names.modules[declared.module]
            if declared.name in parent.classes:
                yield parent, parent.classes[declared.name]
