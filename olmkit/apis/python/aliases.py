"""The JSON names of a model's fields.

The default is camel case; a model may set `rename` of msgspec or `alias_generator` of pydantic.
Classes that do not set these inherit them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from olmkit.apis.findings import Findings
from olmkit.apis.python.literals import Literals, format_expression
from olmkit.apis.python.names import Module, Names
from olmkit.base.names import lower_camel

Renaming = Callable[[str], str]

_KEYWORDS: Final = ("rename", "alias_generator")


def _upper_camel(name: str) -> str:
    camel = lower_camel(name)
    return camel[:1].upper() + camel[1:]


def _pydantic_pascal(name: str) -> str:
    return re.sub(r"(?<=[0-9A-Za-z])_(?=[0-9A-Z])", "", name.title())


def _pydantic_camel(name: str) -> str:
    if re.fullmatch(r"[a-z]+[A-Za-z0-9]*", name) and not re.search(r"\d[a-z]", name):
        return name
    return re.sub(r"^_*[A-Z]", lambda head: head.group().lower(), _pydantic_pascal(name))


def _unchanged(name: str) -> str:
    return name


_BY_WORD: Final[Mapping[str, Renaming]] = {
    "camel": lower_camel,
    "pascal": _upper_camel,
    "kebab": lambda name: name.strip("_").replace("_", "-"),
    "lower": str.lower,
    "upper": str.upper,
}
_BY_FUNCTION: Final[Mapping[str, Renaming]] = {
    "olmkit.base.names.lower_camel": lower_camel,
    "pydantic.alias_generators.to_camel": _pydantic_camel,
    "pydantic.alias_generators.to_pascal": _pydantic_pascal,
}
KNOWN: Final = frozenset(_BY_FUNCTION)
"""Dotted names of functions that generate JSON names."""

_HINTS: Final[Mapping[str, str]] = {
    "rename": "write one of " + ", ".join(f'`"{name}"`' for name in _BY_WORD),
    "alias_generator": "use `to_camel` or `to_pascal`, or give every field its `alias`",
}


def class_renaming(
    names: Names,
    ancestry: Iterator[tuple[Module, ast.ClassDef]],
    findings: Findings,
) -> Renaming:
    """Return the alias generator of a class; `ancestry` is the class and its bases.

    Reports API006 for unsupported settings, and for a class with another naming than its bases,
    because that would rename their fields too.
    """
    module, node = next(ancestry)
    bases = list(ancestry)
    said = next(
        (found for owner, base in bases if (found := _find_keyword(names, owner, base))), None
    )
    inherited = (said and _find_renaming(names, *said)) or lower_camel
    own = _find_keyword(names, module, node)
    if own is None:
        return inherited
    renaming = _find_renaming(names, *own)
    keyword, _, value = own
    if renaming is None:
        findings.add(
            "API006",
            f"`{keyword}={format_expression(value)}` is not supported",
            module.at(value),
            hint=_HINTS[keyword],
        )
    elif any(renaming(name) != inherited(name) for _, base in bases for name in _fields(base)):
        findings.add(
            "API006",
            f"`{keyword}={format_expression(value)}` changes the names of inherited fields",
            module.at(value),
            hint="use the same naming for a class and its bases",
        )
    return renaming or lower_camel


def _fields(node: ast.ClassDef) -> Iterator[str]:
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id


def _find_keyword(
    names: Names, module: Module, node: ast.ClassDef
) -> tuple[str, Module, ast.expr] | None:
    """Return the class's own keyword that renames fields, and its value."""
    for keyword in (*node.keywords, *_configuration(names, module, node)):
        if keyword.arg in _KEYWORDS:
            return keyword.arg, module, keyword.value
    return None


def _configuration(names: Names, module: Module, node: ast.ClassDef) -> Iterator[ast.keyword]:
    """Yield the settings of pydantic's `model_config` or `class Config` as keywords."""
    for statement in node.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id="model_config")], value=value)
                | ast.AnnAssign(target=ast.Name(id="model_config"), value=ast.expr() as value)
            ):
                yield from _keywords(_find_settings(names, module, value))
            case ast.ClassDef(name="Config", body=body):
                for one in body:
                    if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
                        yield ast.keyword(one.targets[0].id, one.value)
            case _:
                continue


def _find_settings(names: Names, module: Module, value: ast.expr) -> ast.expr:
    """Return the settings that a name refers to."""
    declared = names.declared(names.dotted(module, value))
    if declared is None:
        return value
    return names.modules[declared.module].assigned.get(declared.name, value)


def _keywords(value: ast.expr) -> Iterator[ast.keyword]:
    match value:
        case ast.Call(keywords=keywords):
            yield from keywords
        case ast.Dict(keys=keys, values=values):
            for key, one in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant):
                    yield ast.keyword(str(key.value), one)
        case _:
            return


def _find_renaming(names: Names, keyword: str, module: Module, value: ast.expr) -> Renaming | None:
    if isinstance(value, ast.Constant) and value.value is None:
        return _unchanged
    if keyword == "rename":
        said = Literals(module, names).value(value)
        return _BY_WORD.get(said) if isinstance(said, str) else None
    return _BY_FUNCTION.get(names.dotted(module, value))
