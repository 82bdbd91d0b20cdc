"""Composite templates: one file lists the components, another the target catalogs.

Source: `alpha/template/composite` of operator-registry 1.43, the last release that has it. A
contribution (`olm.composite`) names for each catalog an input and how to render it; the file of
catalogs (`olm.composite.catalogs`) says where each catalog is, and what it permits.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from olmkit.base import findings
from olmkit.base.diagnostics import Diagnostic, Location
from olmkit.base.documents import Document, Key, field_path
from olmkit.catalog.blobs import shapes
from olmkit.catalog.blobs.shapes import AnyValue, Field, ListOf, Object, Shape, ShapeError, Text
from olmkit.catalog.templates import source
from olmkit.catalog.templates.findings import ENTRY, FORM, refuse_all


class Builder(StrEnum):
    """How the input of a component becomes a catalog."""

    BASIC = "olm.builder.basic"
    SEMVER = "olm.builder.semver"
    RAW = "olm.builder.raw"
    CUSTOM = "olm.builder.custom"


_TEXT: Final = Text()


def _object(go: str, **fields: Shape) -> Object:
    return Object(go=go, fields=tuple(Field(name, shape) for name, shape in fields.items()))


_CONTRIBUTION: Final = _object(
    "composite.CompositeConfig",
    schema=_TEXT,
    components=ListOf(
        _object(
            "composite.Component",
            name=_TEXT,
            destination=_object("composite.ComponentDestination", path=_TEXT),
            strategy=_object(
                "composite.BuildStrategy",
                name=_TEXT,
                template=_object("composite.TemplateDefinition", schema=_TEXT, config=AnyValue()),
            ),
        ),
        "[]composite.Component",
    ),
)
_CATALOGS: Final = _object(
    "composite.CatalogConfig",
    schema=_TEXT,
    catalogs=ListOf(
        _object(
            "composite.Catalog",
            name=_TEXT,
            destination=_object("composite.CatalogDestination", workingDir=_TEXT),
            builders=ListOf(_TEXT, "[]string"),
        ),
        "[]composite.Catalog",
    ),
)
_TEMPLATE: Final = _object("composite.BasicConfig", input=_TEXT, output=_TEXT)
_COMMAND: Final = _object(
    "composite.CustomConfig", command=_TEXT, args=ListOf(_TEXT, "[]string"), output=_TEXT
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """A file of a catalog: `output` below `folder`, which is below the catalog's `root`.

    It is rendered from `input`, or from what `command` prints.
    """

    catalog: str
    builder: Builder
    root: str
    folder: str
    output: str
    input: str = ""
    command: tuple[str, ...] = ()
    at: Location


@dataclass(frozen=True, slots=True, kw_only=True)
class _Catalog:
    """The location of a catalog, and its allowed builders."""

    root: str
    builders: frozenset[str]


def components(contribution: tuple[bytes, str], catalogs: tuple[bytes, str]) -> list[Component]:
    """Return the components to render, from the content and the names of both files.

    Raises `InputError` with the places of all that is wrong.
    """
    document = source.first_document(*contribution, "composite template")
    fields = _fields(document, _CONTRIBUTION, source.CONTRIBUTION)
    places = _catalogs(source.first_document(*catalogs, "file of catalogs"))
    faults: list[Diagnostic] = []
    made = [
        one
        for index, value in enumerate(fields["components"] or ())
        if (one := _component(document, index, value, places, faults)) is not None
    ]
    faults += _find_collisions(made)
    refuse_all(faults)
    return made


def _catalogs(document: Document) -> dict[str, _Catalog]:
    found: dict[str, _Catalog] = {}
    faults: list[Diagnostic] = []
    known = {str(builder) for builder in Builder}
    for index, value in enumerate(_fields(document, _CATALOGS, source.CATALOGS)["catalogs"] or ()):
        at = _place(document, "catalogs", index)
        root, builders = value["destination"]["workingDir"], value["builders"] or ()
        if not root:
            message = f"catalog `{value['name']}` has no `destination.workingDir`"
            faults.append(
                findings.create(FORM, message, at=at, hint="write the directory of the catalog")
            )
        faults += [_unknown_builder(builder, at) for builder in builders if builder not in known]
        found.setdefault(value["name"], _Catalog(root=root, builders=frozenset(builders)))
    refuse_all(faults)
    return found


def _find_fault(
    name: str, schema: str, places: Mapping[str, _Catalog], at: Location
) -> Diagnostic | None:
    """Return why the catalog of a component does not take it; None if it does."""
    catalog = places.get(name)
    if catalog is None:
        available = ", ".join(f"`{one}`" for one in sorted(places)) or "none"
        return findings.create(
            ENTRY,
            f"the catalog `{name}` of the component is not in the file of catalogs",
            at=at,
            hint=f"the file has {available}",
        )
    if schema not in (str(builder) for builder in Builder):
        return _unknown_builder(schema, at)
    if schema not in catalog.builders:
        listed = ", ".join(f"`{one}`" for one in sorted(catalog.builders)) or "none"
        return findings.create(
            ENTRY,
            f"the catalog `{name}` does not permit the builder `{schema}`",
            at=at,
            hint=f"its `builders` are {listed}",
        )
    return None


def _component(
    document: Document,
    index: int,
    value: Mapping[str, Any],
    places: Mapping[str, _Catalog],
    faults: list[Diagnostic],
) -> Component | None:
    """Return a component, or None after an error was added to `faults`."""
    at = _place(document, "components", index)
    template = value["strategy"]["template"]
    name, schema = value["name"], template["schema"]
    catalog = places.get(name)
    fault = _find_fault(name, schema, places, at)
    if catalog is None or fault is not None:
        faults += [fault] if fault is not None else []
        return None
    builder = Builder(schema)
    shape = _COMMAND if builder is Builder.CUSTOM else _TEMPLATE
    below = ("components", index, "strategy", "template", "config")
    config = _config(document, below, template["config"], shape, faults)
    if config is None:
        return None
    needed = ("command" if builder is Builder.CUSTOM else "input", "output")
    for key in needed:
        if not config[key]:
            message = f"`config.{key}` of the `{schema}` component for `{name}` is empty"
            faults.append(findings.create(ENTRY, message, at=_place(document, *below)))
    folder, output = (_inside(path) for path in (value["destination"]["path"], config["output"]))
    if folder is None or output is None:
        message = f"the component writes outside of the directory of the catalog `{name}`"
        hint = "remove the `..` from `destination.path` and `config.output`"
        faults.append(findings.create(ENTRY, message, at=at, hint=hint))
        return None
    return Component(
        catalog=name,
        builder=builder,
        root=posixpath.normpath(catalog.root),
        folder=folder,
        output=output,
        input=config.get("input", ""),
        command=(config["command"], *(config["args"] or ())) if "command" in config else (),
        at=at,
    )


def _find_collisions(components: Sequence[Component]) -> Iterator[Diagnostic]:
    """Yield a file that two components write would have the content of the second only."""
    first: dict[tuple[str, str, str], Component] = {}
    for one in components:
        path = (one.root, one.folder, one.output)
        other = first.setdefault(path, one)
        if other is not one:
            yield findings.create(
                ENTRY,
                f"two components write `{posixpath.join(*path)}`",
                at=one.at,
                hint="give each component a separate `destination.path` or `config.output`",
            )


def _fields(document: Document, shape: Object, schema: str) -> Mapping[str, Any]:
    try:
        fields = shapes.read(shape, document.value)
    except ShapeError as error:
        raise findings.error(FORM, error.message, at=document.at(*error.keys)) from None
    refuse_all(list(source.misspelled(shape, document)))
    if fields["schema"] != schema:
        raise findings.error(
            FORM,
            f"the schema of the file is `{fields['schema']}`, not `{schema}`",
            at=_place(document, "schema"),
            hint="`-c` names the file with the components, `-f` the file with the catalogs",
        )
    return fields


def _config(
    document: Document,
    below: tuple[Key, ...],
    value: Any,
    shape: Object,
    faults: list[Diagnostic],
) -> Mapping[str, Any] | None:
    """Return the fields of a `config`; unknown ones are errors, as in the reference."""
    at = _place(document, *below)
    try:
        fields = shapes.read(shape, {} if value is None else value)
    except ShapeError as error:
        faults.append(findings.create(FORM, error.message, at=at))
        return None
    unknown = [field_path(keys) for keys in shapes.unknown(shape, value or {})]
    for name in unknown:
        known = ", ".join(f"`{each.name}`" for each in shape.fields)
        faults.append(
            findings.create(FORM, f"unknown field `config.{name}`", at=at, hint=f"known: {known}")
        )
    return None if unknown else fields


def _unknown_builder(name: str, at: Location) -> Diagnostic:
    known = ", ".join(f"`{builder}`" for builder in Builder)
    return findings.create(
        FORM, f"unknown builder `{name[:100]}`", at=at, hint=f"the builders are {known}"
    )


def _inside(path: str) -> str | None:
    """Join a relative path to a directory like opm; return None if it leaves the directory."""
    found = posixpath.normpath(path.lstrip("/") or ".")
    return None if found == ".." or found.startswith("../") else found


def _place(document: Document, *keys: Key) -> Location:
    return source.place(document, *keys)
