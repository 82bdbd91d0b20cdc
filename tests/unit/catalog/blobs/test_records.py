"""Records are written as the exact reader and writer of shapes write the same blob."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from olmkit.base.json import text as json_text
from olmkit.catalog.blobs import records, shapes, wire
from olmkit.catalog.blobs.blob import Blob

PROPERTY = {"type": "olm.x", "value": {"b": [1.5, None, "<&>"], "a": "\u2028"}}
BUNDLE = {"schema": "olm.bundle", "image": "registry/a:v1", "name": "a.v1", "package": "a"}
CHANNEL = {"schema": "olm.channel", "name": "stable", "package": "a", "entries": []}
PACKAGE = {"schema": "olm.package", "name": "a", "defaultChannel": ""}
DEPRECATIONS = {"schema": "olm.deprecations", "package": "a", "entries": []}

PLAIN: list[dict[str, Any]] = [
    BUNDLE,
    {"schema": "olm.bundle", "image": ""},
    {**BUNDLE, "properties": [], "relatedImages": []},
    {**BUNDLE, "properties": [PROPERTY, {"type": "", "value": None}]},
    {**BUNDLE, "relatedImages": [{"name": "", "image": "x\u2029"}]},
    CHANNEL,
    {
        **CHANNEL,
        "entries": [
            {"name": "a.v2", "replaces": "a.v1", "skips": ["a.v0"], "skipRange": "<2.0.0"},
            {"name": "a.v1", "replaces": "", "skips": []},
        ],
        "properties": [PROPERTY],
    },
    PACKAGE,
    {**PACKAGE, "description": "words\u2028", "properties": [PROPERTY]},
    DEPRECATIONS,
    {
        **DEPRECATIONS,
        "entries": [
            {"reference": {"schema": "olm.package"}, "message": "old"},
            {"reference": {"schema": "olm.bundle", "name": "a.v1"}, "message": ""},
        ],
    },
]

ODD: list[dict[str, Any]] = [
    {**BUNDLE, "image": None},
    {**BUNDLE, "Image": "other spelling"},
    {**BUNDLE, "unknown": 1},
    {**BUNDLE, "name": 5},
    {**BUNDLE, "properties": None},
    {**BUNDLE, "properties": [None]},
    {**BUNDLE, "properties": [{"type": "olm.x"}]},
    {**BUNDLE, "relatedImages": [{"image": "x"}]},
    {"schema": "olm.bundle", "name": "a.v1", "package": "a"},
    {**CHANNEL, "entries": None},
    {**CHANNEL, "entries": [{"replaces": "a.v1"}]},
    {**PACKAGE, "icon": {"base64data": "YQ==", "mediatype": "image/png"}},
    {**PACKAGE, "package": "a"},
    {**DEPRECATIONS, "entries": [{"message": "no reference"}]},
    {"schema": "custom", "name": "a"},
]


@pytest.mark.parametrize("value", PLAIN)
def test_a_plain_blob_is_written_as_its_shape(value: dict[str, Any]) -> None:
    shape = wire.SHAPES[value["schema"]]
    expected = json_text.compact(
        shapes.dump(shape, shapes.read(shape, value), anything=_in_order),
        escape_html=False,
        sort=False,
    )
    record = records.read(json_text.compact(value, escape_html=False))
    assert record is not None
    assert records.dump(record) == expected


@pytest.mark.parametrize("value", ODD)
def test_a_blob_of_another_form_has_no_record(value: dict[str, Any]) -> None:
    assert records.read(json_text.compact(value, escape_html=False)) is None


def test_the_record_of_a_blob_has_the_numbers_that_the_reference_keeps() -> None:
    value = {**BUNDLE, "properties": [{"type": "olm.x", "value": 12345678901234567890}]}
    record = Blob.of(value).record
    assert isinstance(record, records.Bundle)
    assert bytes(record.properties[0].value) == b"12345678901234567000"


def _in_order(value: Any) -> Any:
    return msgspec.Raw(json_text.compact(value, escape_html=False))
