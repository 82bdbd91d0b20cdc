"""The shipped table of common Kubernetes types, for projects without a module cache.

Facts of `k8s.io/api`, `k8s.io/apimachinery` and `k8s.io/apiextensions-apiserver` (Apache-2.0) by
minor release: fields, tags, markers and the descriptions that every CRD contains.
`scripts/kubernetes_types.py` writes it; declarations that are equal in several releases are stored
once.
"""

from __future__ import annotations

import functools
import lzma
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from typing import Any

import msgspec

from olmkit.apis.go import file
from olmkit.apis.go.model import (
    GoDeclaration,
    GoField,
    GoPackage,
    GoType,
    Map,
    Name,
    Other,
    Pointer,
    Slice,
    StructBody,
)
from olmkit.apis.markers.language import Comment
from olmkit.base.diagnostics import Location

_MINOR = re.compile(r"v0\.([0-9]+)\.")


@functools.cache
def _table() -> dict[str, Any]:
    data = resources.files("olmkit.apis").joinpath("data/kubernetes.json.xz").read_bytes()
    table: dict[str, Any] = msgspec.json.decode(lzma.decompress(data))
    return table


def package(path: str, version_of: Callable[[str], str]) -> GoPackage | None:
    """Return a package from the release that the project uses, or the nearest one."""
    found = _table()["packages"].get(path)
    if found is None:
        return None
    release = _nearest(found["releases"], version_of(found["module"]))
    at = Location(path=f"{path} ({release})" if release else path)
    return GoPackage(
        path=path,
        name=found["name"],
        at=at,
        declarations=_Declarations(found["types"], release, at),
        methods={name: frozenset(methods) for name, methods in found["methods"].items()},
        comments=tuple(Comment(text=text, at=at) for text in found["markers"]),
    )


def module_of(path: str) -> str:
    """Return the module of a package in the table, or an empty string."""
    found = _table()["packages"].get(path)
    return found["module"] if found else ""


def is_near(version: str, release: str) -> bool:
    """Return whether a version belongs to a minor release; true for an unknown version."""
    match = _MINOR.match(version)
    return match is None or release == f"v0.{match.group(1)}"


def releases(module: str) -> tuple[str, ...]:
    """Return the minor releases of a module in the table: `v0.36`, `v0.37`."""
    return tuple(
        dict.fromkeys(
            release
            for one in _table()["packages"].values()
            if one["module"] == module
            for release in one["releases"]
        )
    )


def nearest(module: str, version: str) -> str:
    """Return the table's release for a version of a module; empty if there is none."""
    return _nearest(list(releases(module)), version)


def _nearest(known: list[str], version: str) -> str:
    if not known or known == [""]:
        return ""
    match = _MINOR.match(version)
    if match is None:
        return known[-1]
    wanted = int(match.group(1))
    return min(known, key=lambda release: abs(int(release.rpartition(".")[2]) - wanted))


class _Declarations(Mapping[str, GoDeclaration]):
    """The types of one release; a type has a form for each range of releases."""

    def __init__(self, types: Mapping[str, Any], release: str, at: Location) -> None:
        self._forms = {
            name: form
            for name, forms in types.items()
            for within, form in forms
            if release in within
        }
        self._at = at

    def __getitem__(self, name: str) -> GoDeclaration:
        return decode(name, self._forms[name], self._at)

    def __contains__(self, name: object) -> bool:
        return name in self._forms

    def __iter__(self) -> Iterator[str]:
        return iter(self._forms)

    def __len__(self) -> int:
        return len(self._forms)


# Declarations as plain data, and back


def encode(declaration: GoDeclaration) -> list[Any]:
    """Return a declaration as plain data: documentation, markers, type, whether it is an alias.

    Only the JSON part of a field's tag is kept.
    """
    markers = [comment.text for comment in declaration.comments]
    return [declaration.doc, markers, _encode_type(declaration.type), declaration.is_alias]


def decode(name: str, form: list[Any], at: Location) -> GoDeclaration:
    """Return the declaration from the data of `encode`."""
    doc, markers, kind, is_alias = form
    return GoDeclaration(
        name=name,
        type=_decode_type(kind, at),
        at=at,
        is_alias=is_alias,
        doc=doc,
        comments=tuple(Comment(text=text, at=at) for text in markers),
    )


def _encode_type(kind: GoType) -> Any:
    match kind:
        case Name(name=name, package=path):
            return f"{path}#{name}" if path else name
        case Pointer(to=inner):
            return ["*", _encode_type(inner)]
        case Slice(item=item, length=length):
            return ["[]", _encode_type(item), length]
        case Map(key=key, value=value):
            return ["map", _encode_type(key), _encode_type(value)]
        case StructBody(fields=fields):
            return ["struct", *(_encode_field(field) for field in fields)]
        case Other(what=what):
            return ["other", what]


def _encode_field(field: GoField) -> list[Any]:
    markers = [comment.text for comment in field.comments]
    name = file.json_tag(field.tag)
    tag = None if name is None else f'json:"{name}"'
    return [list(field.names), _encode_type(field.type), tag, field.doc, markers]


def _decode_type(kind: Any, at: Location) -> GoType:
    if isinstance(kind, str):
        path, hash_sign, name = kind.rpartition("#")
        return Name(name, path if hash_sign else "")
    match kind[0]:
        case "*":
            return Pointer(_decode_type(kind[1], at))
        case "[]":
            return Slice(_decode_type(kind[1], at), kind[2])
        case "map":
            return Map(_decode_type(kind[1], at), _decode_type(kind[2], at))
        case "struct":
            return StructBody(tuple(_decode_field(field, at) for field in kind[1:]))
        case _:
            return Other(kind[1])


def _decode_field(data: list[Any], at: Location) -> GoField:
    names, kind, tag, doc, markers = data
    return GoField(
        names=tuple(names),
        type=_decode_type(kind, at),
        at=at,
        tag=tag,
        doc=doc,
        comments=tuple(Comment(text=text, at=at) for text in markers),
    )
