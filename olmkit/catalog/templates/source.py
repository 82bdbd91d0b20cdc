"""Read a template: its kind, its fields and its images.

Source: `opm alpha render-template` of operator-registry 1.73. Only the first document of a file
counts. The kind comes from `schema` unless the caller names it. A basic template may also be a
stream of blobs, its only form in opm up to 1.43.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from olmkit.base import configuration, documents, findings
from olmkit.base.diagnostics import Diagnostic, InputError, Location
from olmkit.base.documents import Document, Key, field_path
from olmkit.catalog.blobs import shapes, stream, wire
from olmkit.catalog.blobs.shapes import (
    AnyValue,
    Field,
    ListOf,
    Object,
    Shape,
    ShapeError,
    Text,
    Truth,
)
from olmkit.catalog.blobs.stream import Part
from olmkit.catalog.templates.findings import FORM, refuse_all


class Kind(StrEnum):
    """The kinds of templates."""

    BASIC = "basic"
    SEMVER = "semver"
    SUBSTITUTES = "substitutes"


SCHEMAS: Final[Mapping[Kind, str]] = {
    Kind.BASIC: "olm.template.basic",
    Kind.SEMVER: "olm.semver",
    Kind.SUBSTITUTES: "olm.template.substitutes",
}
CONTRIBUTION: Final = "olm.composite"
CATALOGS: Final = "olm.composite.catalogs"
COMPOSITE: Final = frozenset({CONTRIBUTION, CATALOGS})
_TEXT: Final = Text()
_CHANNELS: Final = Object(
    go="semver.channelBundles",
    fields=(
        Field(
            "bundles",
            ListOf(
                Object(go="semver.bundleEntry", fields=(Field("image", _TEXT),)),
                "[]semver.bundleEntry",
            ),
        ),
    ),
)
_SHAPES: Final[Mapping[Kind, Object]] = {
    Kind.BASIC: Object(
        go="basic.BasicTemplateData",
        fields=(
            Field("schema", _TEXT),
            Field("entries", ListOf(AnyValue("*declcfg.Meta"), "[]*declcfg.Meta")),
        ),
    ),
    Kind.SEMVER: Object(
        go="semver.SemverTemplateData",
        fields=(
            Field("schema", _TEXT),
            Field("generateMajorChannels", Truth()),
            Field("generateMinorChannels", Truth()),
            Field("defaultChannelTypePreference", Text("semver.streamType")),
            Field("candidate", _CHANNELS),
            Field("fast", _CHANNELS),
            Field("stable", _CHANNELS),
        ),
    ),
    Kind.SUBSTITUTES: Object(
        go="substitutes.SubstitutesTemplateData",
        fields=(
            Field("schema", _TEXT),
            Field("entries", ListOf(AnyValue("*declcfg.Meta"), "[]*declcfg.Meta")),
            Field(
                "substitutions",
                ListOf(
                    Object(
                        go="substitutes.Substitute",
                        fields=(Field("name", _TEXT), Field("base", _TEXT)),
                    ),
                    "[]substitutes.Substitute",
                ),
            ),
        ),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A template that was read. `fields` has all fields of its kind, empty ones too.

    Of a stream of blobs, `stream` has the documents, which are the entries.
    """

    kind: Kind
    fields: Mapping[str, Any]
    document: Document
    stream: tuple[Document, ...] = ()

    def at(self, *keys: Key) -> Location:
        """Return the place of the value under `keys`, which are written as in `fields`."""
        if self.stream and len(keys) > 1 and isinstance(keys[1], int):
            return place(self.stream[keys[1]], *keys[2:])
        return place(self.document, *keys)


def place(document: Document, *keys: Key) -> Location:
    """Return the place of the value under `keys`, in any letter case."""
    found: list[Key] = []
    value = document.value
    for key in keys:
        if isinstance(key, str) and isinstance(value, dict):
            spelled = [name for name in value if shapes.fold(name) == shapes.fold(key)]
            key = max(spelled, default=key)
        found.append(key)
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            break
    return document.at(*found)


def read(data: bytes, path: str, kind: Kind | None = None) -> Template:
    """Return the template in a file. Raises `InputError` with the place of the error."""
    document = _first(data, path)
    if kind is Kind.BASIC and _is_stream(document):
        return _stream(data, path)
    chosen = kind or _detect(document)
    try:
        fields = shapes.read(_SHAPES[chosen], document.value)
    except ShapeError as error:
        raise findings.error(FORM, error.message, at=document.at(*error.keys)) from None
    template = Template(kind=chosen, fields=fields, document=document)
    if chosen is Kind.SEMVER:
        refuse_all(list(_strict(template)))
    else:
        refuse_all(list(misspelled(_SHAPES[chosen], document)))
    schema = fields["schema"]
    if schema != SCHEMAS[chosen]:
        raise findings.error(
            FORM,
            f"the schema of the template is `{schema}`, not `{SCHEMAS[chosen]}`"
            if schema
            else f"the template lacks `schema: {SCHEMAS[chosen]}`",
            at=template.at("schema"),
            hint=f"write `schema: {SCHEMAS[chosen]}`, or render it as what it is",
        )
    return template


def schema_of(data: bytes, path: str) -> str:
    """Return the schema that a file names; empty for one that is not a template."""
    try:
        value = _first(data, path).value
    except InputError:
        return ""
    schema = _schema(value) if isinstance(value, dict) else ""
    return schema if schema in SCHEMAS.values() or schema in COMPOSITE else ""


def _is_stream(document: Document) -> bool:
    """Return whether the first document is a blob of a catalog, and not a template."""
    value = document.value
    if not isinstance(value, dict):
        return False
    schema = _schema(value)
    return schema in wire.SHAPES or (bool(schema) and not schema.startswith("olm."))


def _stream(data: bytes, path: str) -> Template:
    read = map(_document, stream.read(data, path, check=_any, report=_any))
    listed = tuple(one for one in read if one.value is not None)
    fields = {"schema": SCHEMAS[Kind.BASIC], "entries": [one.value for one in listed]}
    return Template(kind=Kind.BASIC, fields=fields, document=listed[0], stream=listed)


def _first(data: bytes, path: str) -> Document:
    return first_document(data, path, "template")


def first_document(data: bytes, path: str, noun: str) -> Document:
    """Return the first document of a file. Raises `InputError` for an empty one."""
    part = next(stream.read(data, path, check=_any, report=_any), None)
    if part is None:
        raise findings.error(FORM, f"the {noun} is empty", at=Location(path=path))
    return _document(part)


def _document(part: Part) -> Document:
    if not part.json and part.data[part.end - 1 : part.end] == b"\n":
        # Read again, because a part does not know its repeated keys.
        return documents.load_yaml(part.data, part.path, start=part.start, end=part.end)
    return Document(
        part.value,
        path=part.path,
        data=part.data,
        start=part.start,
        end=part.end,
        json=part.json,
    )


def _detect(document: Document) -> Kind:
    if document.value is None:
        raise findings.error(
            FORM,
            "the first document of the template is empty",
            at=document.at(),
            hint="remove the `---` before the template: only the first document is read",
        )
    if not isinstance(document.value, dict):
        raise findings.error(
            FORM,
            f"the template is of type {shapes.kind(document.value)}, not an object",
            at=document.at(),
            hint="write an object with `schema`",
        )
    schema = _schema(document.value)
    for kind, name in SCHEMAS.items():
        if schema == name:
            return kind
    names = ", ".join(f"`{name}`" for name in SCHEMAS.values())
    if not schema:
        raise findings.error(
            FORM, "the template lacks `schema`", at=document.at(), hint=f"use one of {names}"
        )
    if schema in COMPOSITE:
        raise findings.error(
            FORM,
            f"a composite template (`{schema}`) is rendered into the directories of catalogs",
            at=document.at("schema"),
            hint="run `olmkit catalog template composite -c composite.yaml -f catalogs.yaml`",
        )
    if schema in wire.SHAPES:
        raise findings.error(
            FORM,
            f"the file begins with a blob of a catalog (`{schema}`), not with a template",
            at=document.at("schema"),
            hint="name the kind `basic`, if the file is a basic template of opm before 1.44",
        )
    raise findings.error(
        FORM,
        f"unknown template schema `{schema[:100]}`",
        at=document.at("schema"),
        hint=f"use one of {names}",
    )


def _schema(value: Mapping[str, Any]) -> str:
    found = [value[key] for key in sorted(value) if shapes.fold(key) == "schema"]
    return found[-1] if found and isinstance(found[-1], str) else ""


def _strict(template: Template) -> Iterator[Diagnostic]:
    """Report unknown and repeated keys, which are errors in semver templates."""
    document = template.document
    for repeated in document.duplicate_keys():
        yield findings.create(
            FORM,
            f"`{field_path(repeated.keys)}` is set twice",
            at=repeated.again,
            hint="keep one of the two",
        )
    for keys in shapes.unknown(_SHAPES[template.kind], document.value):
        yield findings.create(
            FORM,
            f"unknown field `{field_path(keys)}`",
            at=document.at_key(*keys),
            hint="remove it, or correct its spelling",
        )


def misspelled(shape: Object, document: Document) -> Iterator[Diagnostic]:
    """Report keys that resemble known ones, in files whose other unknown keys are ignored.

    The keys of catalog blobs are not reported: catalogs have their own rules.
    """
    for one in configuration.unknown_keys(document.value, _known(shape), any_case=True):
        if one.is_misspelled:
            message = f"unknown field `{one.path}`"
            yield findings.create(FORM, message, at=document.at_key(*one.keys), hint=one.hint)


def _known(shape: Shape) -> configuration.Shape:
    if isinstance(shape, Object):
        return {each.name: _known(each.shape) for each in shape.fields}
    return [_known(shape.item)] if isinstance(shape, ListOf) else object


def _any(_: object) -> None:
    """Accept every key."""
