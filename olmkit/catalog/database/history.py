"""Convert older index databases to the newest form.

Each function computes one part that older databases lack, from the part that contained the data
before: versions and images come from CSVs, properties from the APIs that a bundle provides. The
reference rewrites such a database in place, and three of its steps go wrong: versions end up in
separate rows (form 5), tables are replaced while others still refer to them (form 4), and all
dependencies get the value of the first one (form 9). Here, the intended result of those steps is
computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from olmkit.base.diagnostics import InputError
from olmkit.base.documents import Document
from olmkit.base.json import reader as json_reader
from olmkit.base.json import text as json_text
from olmkit.base.json.reader import JsonError
from olmkit.catalog.blobs.properties import GVK
from olmkit.catalog.bundles import render, source_apis
from olmkit.catalog.database.tables import ApiRow, BundleRow, ImageRow, IndexTables, PropertyRow

_SKIP_RANGE = "olm.skipRange"


def complete(tables: IndexTables) -> IndexTables:
    """Return the tables with every part that their form lacks."""
    if not tables.has_images:
        tables = replace(
            tables,
            bundles=tuple(replace(bundle, image="") for bundle in tables.bundles),
            has_images=True,
        )
    if not tables.has_versions:
        tables = replace(
            tables, bundles=tuple(map(_add_version, tables.bundles)), has_versions=True
        )
    if tables.related_images is None:
        tables = replace(tables, related_images=tuple(_images(tables.bundles)))
    if tables.required is None:
        tables = replace(tables, required=tuple(_required_apis(tables.bundles)))
    if tables.dependencies is None:
        tables = replace(tables, dependencies=tuple(_api_properties(tables, tables.required or ())))
    if tables.properties is None:
        tables = replace(tables, properties=tuple(_api_properties(tables, tables.provided)))
    return tables


def _add_version(bundle: BundleRow) -> BundleRow:
    csv = _csv(bundle)
    if csv is None:
        return bundle
    spec, meta = _mapping(csv.get("spec")), _mapping(csv.get("metadata"))
    version, annotations = spec.get("version"), _mapping(meta.get("annotations"))
    skip_range = annotations.get(_SKIP_RANGE)
    return replace(
        bundle,
        version=version if isinstance(version, str) else "",
        skip_range=skip_range if isinstance(skip_range, str) else "",
    )


def _images(bundles: tuple[BundleRow, ...]) -> Iterator[ImageRow]:
    for bundle in bundles:
        csv = _csv(bundle)
        if csv is None or bundle.name is None:
            continue
        spec = _mapping(csv.get("spec"))
        document = Document(csv, path="")
        try:
            images = {
                **dict.fromkeys(render.operator_images(document, spec)),
                **dict.fromkeys(
                    image.image for image in render.read_related_images(document, spec)
                ),
            }
        except InputError:  # the reference skips such a bundle too
            continue
        yield from (ImageRow(bundle.name, image) for image in images)


def _required_apis(bundles: tuple[BundleRow, ...]) -> Iterator[ApiRow]:
    for bundle in bundles:
        csv = _csv(bundle)
        if csv is None or bundle.name is None:
            continue
        document, spec = Document(csv, path=""), _mapping(csv.get("spec"))
        for section in source_apis.API_SECTIONS:
            try:
                described = source_apis.api_descriptions(document, spec, section)["required"]
            except InputError:  # as above
                continue
            for api, _ in described:
                yield ApiRow(bundle.name, None, api.group, api.version, api.kind)


def _api_properties(tables: IndexTables, apis: tuple[ApiRow, ...]) -> Iterator[PropertyRow]:
    bundles = {entry.id: entry.bundle for entry in tables.entries}
    for api in apis:
        bundle = api.bundle if api.entry is None else bundles.get(api.entry, "")
        value = {"group": api.group, "kind": api.kind, "version": api.version}
        text = json_text.compact(value, escape_html=False).decode()
        if bundle:
            yield PropertyRow(bundle, GVK, text)


def _csv(bundle: BundleRow) -> Mapping[str, Any] | None:
    if not bundle.csv:
        return None
    try:
        value = json_reader.read(bundle.csv.encode())
    except JsonError:
        return None
    return value if isinstance(value, dict) else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
