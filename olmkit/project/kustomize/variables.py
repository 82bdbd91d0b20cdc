"""Variables of older projects: in some fields, `$(NAME)` is replaced by a field of a resource."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olmkit.base.diagnostics import Location
from olmkit.base.documents import Document, Key
from olmkit.kube import objects
from olmkit.project.kustomize import fields, replacements
from olmkit.project.kustomize.fields import FieldSpec
from olmkit.project.kustomize.resources import Resource, Selector, refusal

_INDEXED = re.compile(r"(.+)\[(\d+)\]", re.ASCII)
_USE = re.compile(r"\$(\$?)\(([a-zA-Z0-9_.-]+)\)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    source: Selector
    path: str
    at: Location


def parse(overlay: Document, keys: tuple[Key, ...], entry: Mapping[str, Any]) -> Variable:
    """Return one entry of `vars`."""
    at = overlay.at(*keys)
    name = objects.text(entry.get("name"))
    reference = dict(objects.mapping(entry.get("objref")))
    # An objref has `apiVersion` while selectors have group and version.
    group, _, version = objects.text(reference.pop("apiVersion", "")).rpartition("/")
    if version:
        reference |= {"group": group, "version": version}
    if not name or not reference.get("kind") or not reference.get("name"):
        raise refusal("a variable needs `name`, and `kind` and `name` of its `objref`", at)
    field = objects.mapping(entry.get("fieldref"))
    path = objects.text(field.get("fieldPath") or field.get("fieldpath"))
    source = Selector.parse(reference, at, exact=True)
    return Variable(name, source, path or "metadata.name", at)


def substitute(
    resources: Sequence[Resource], variables: Sequence[Variable], specs: Sequence[FieldSpec]
) -> None:
    """Replace the variables in the fields that may contain them; unknown ones are not changed."""
    if not variables:
        return
    values = {variable.name: _value(variable, resources) for variable in variables}

    def change(value: Any) -> Any:
        match value:
            case str():
                return _replace(value, values)
            case list():
                return [change(item) for item in value]
            case dict():
                return {key: change(item) for key, item in value.items()}
            case _:
                return value

    for resource in resources:
        for spec in specs:
            if spec.applies(resource.gvk):
                fields.update(resource.value, spec, change)


def _value(variable: Variable, resources: Sequence[Resource]) -> Any:
    found = [resource for resource in resources if variable.source.matches(resource)]
    if len(found) != 1:
        count = "no resource" if not found else "several resources"
        raise refusal(f"the variable `{variable.name}` matches {count}", variable.at)
    value = replacements.value_at(found[0].value, list(_steps(variable.path)))
    if value is None or isinstance(value, dict | list):
        raise refusal(
            f"{found[0]} has no string at `{variable.path}` for the variable `{variable.name}`",
            variable.at,
        )
    return value


def _steps(path: str) -> Iterator[str]:
    """Yield the steps of a variable's field path, which may contain `containers[0]`."""
    for step in replacements.field_steps(path):
        indexed = _INDEXED.fullmatch(step)
        yield from indexed.groups() if indexed else (step,)


def _replace(text: str, values: Mapping[str, Any]) -> Any:
    whole = _USE.fullmatch(text)
    if whole and not whole[1] and whole[2] in values:
        return values[whole[2]]

    def use(match: re.Match[str]) -> str:
        if match[1]:
            return match[0]
        return str(values.get(match[2], match[0]))

    return _USE.sub(use, text)
