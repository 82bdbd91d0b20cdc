"""Outlines: the fast reader and the exact reader have the same results and positions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.base.diagnostics import Diagnostic
from olmkit.base.tree import Tree
from olmkit.catalog.blobs import fbc, outline, outline_reader
from olmkit.catalog.blobs.outline import FilePlace, Outline

BUNDLE = {
    "schema": "olm.bundle",
    "package": "cog",
    "name": "cog.v1.0.0",
    "image": "registry.example/cog:1.0.0",
    "properties": [
        {"type": "olm.package", "value": {"packageName": "cog", "version": "1.0.0"}},
        {"type": "olm.gvk", "value": {"group": "example.org", "version": "v1", "kind": "Cog"}},
        {"type": "vendor.note", "value": [1, 2.5, None]},
    ],
    "relatedImages": [{"name": "", "image": "registry.example/cog:1.0.0"}],
}
PACKAGE = {"schema": "olm.package", "name": "cog", "defaultChannel": "stable"}
NOWHERE = FilePlace("", 0, 0, 0, 0, 0, outline.Files(Tree()))


class _Pieces(Tree):
    """Files in memory that are returned in pieces of a given size."""

    size = 7

    def chunks(self, path: str) -> Iterator[bytes]:
        data = self.data(path)
        for start in range(0, len(data), self.size):
            yield data[start : start + self.size]


def _read(data: bytes) -> tuple[Sequence[Outline], list[Diagnostic]]:
    faults: list[Diagnostic] = []
    notes: list[Diagnostic] = []
    tree = _Pieces({"c.json": data})
    return list(outline_reader.load(tree, report=notes.append, faults=faults)), faults


def _exactly(data: bytes) -> list[Outline]:
    return list(outline.outline_blobs(fbc.load_stream(data, "c.json")))


def _placeless(outlines: Sequence[Outline]) -> list[Outline]:
    return [replace(one, place=NOWHERE) for one in outlines]


def _pretty(*values: Any) -> bytes:
    return "".join(json.dumps(value, indent=4) + "\n" for value in values).encode()


FORMS = {
    "pretty": _pretty(PACKAGE, BUNDLE),
    "compact lines": b"\n".join(json.dumps(value).encode() for value in (PACKAGE, BUNDLE)),
    "one line": json.dumps(PACKAGE).encode() + json.dumps(BUNDLE).encode(),
    "blanks around": b"\n\n  " + _pretty(PACKAGE) + b"\n\t\n" + _pretty(BUNDLE) + b"  \n",
    "carriage returns": _pretty(PACKAGE, BUNDLE).replace(b"\n", b"\r\n"),
    "braces at the left": b'{\n"schema": "v",\n"a": {\n"b": 1\n}\n}\n' + _pretty(PACKAGE),
    "yaml after json": _pretty(PACKAGE) + b"---\nschema: olm.package\nname: other\n",
    "yaml": b"schema: olm.package\nname: cog\n",
    "known field in capitals": _pretty({"schema": "olm.package", "NAME": "cog"}),
    "unknown field": _pretty({**BUNDLE, "note": 5}),
    "nulls": _pretty({**BUNDLE, "properties": None, "image": None, "relatedImages": None}),
    "half a character": b'{"schema": "olm.package", "name": "a\\ud800"}\n',
    "no text": b'{"schema": "olm.package", "name": "a\xff"}\n',
    "custom": _pretty({"schema": "vendor.note", "package": "cog", "name": "n", "x": [1]}),
    "empty": b"",
}


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS)
def test_common_and_rare_forms_are_read_alike(data: bytes) -> None:
    ours, faults = _read(data)

    assert faults == []
    assert _placeless(ours) == _placeless(_exactly(data))


@pytest.mark.parametrize(
    "data",
    [
        b"\n",
        b'{"schema": "olm.package"',
        b'{"schema": "olm.package", "name": 5}\n',
        b'{"schema": "olm.bundle", "properties": [5]}\n',
        b'{"schema": "vendor", "a": 1, "A": 2}\n',
        b'{"name": "x"}\n',
        b'{"schema":"olm.bundle","properties":[{"type":"olm.bundle.object","value":{"data":"!"}}]}',
        b"[" * 5000,
        b"\xff\xfe\x00",
    ],
)
def test_a_file_that_is_not_a_catalog_is_an_error_with_a_place(data: bytes) -> None:
    ours, faults = _read(data)

    assert ours == []
    assert [fault.at.path for fault in faults if fault.at] == ["c.json"]


def test_the_errors_of_all_files_are_found() -> None:
    faults: list[Diagnostic] = []
    tree = Tree({"a.yaml": b"x: y\n", "b.yaml": b"schema: v\n", "c.yaml": b"- 1\n"})

    found = list(outline_reader.load(tree, report=lambda _: None, faults=faults))

    assert [one.place.path for one in found] == ["b.yaml"]
    assert [fault.at.path for fault in faults if fault.at] == ["a.yaml", "c.yaml"]


@pytest.mark.parametrize("name", ["pretty", "compact lines", "one line", "blanks around", "yaml"])
def test_positions_are_those_of_the_whole_file(name: str) -> None:
    data = FORMS[name]
    ours, _ = _read(data)
    blobs = list(fbc.load_stream(data, "c.json"))

    for one, blob in zip(ours, blobs, strict=True):
        assert one.place.at("name") == blob.at("name")
        assert one.place.at("properties", 1, "value", "kind") == blob.at(
            "properties", 1, "value", "kind"
        )
        assert outline.blob_at(one.place) == blob


def test_an_inlined_manifest_is_counted_and_not_kept() -> None:
    value = {"type": "olm.bundle.object", "value": {"data": "eyJhIjogMX0="}}
    data = _pretty({**BUNDLE, "properties": [value, {**value, "value": {"data": "YTogMQo="}}]})

    (found,), _ = _read(data)

    assert isinstance(found, outline.BundleOutline)
    assert found.properties.objects == 2
    assert found.properties.others == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**70) | st.text('aA\u017f"\\\n{}', max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "Name", "type", "value", "data"]), inner)
    ),
    max_leaves=6,
)
BLOBS = st.fixed_dictionaries(
    {
        "schema": st.sampled_from(
            ["olm.package", "olm.channel", "olm.bundle", "olm.deprecations", "vendor"]
        )
    },
    optional={
        "name": st.sampled_from(["a", "", None]),
        "package": st.sampled_from(["a", ""]),
        "entries": st.lists(JSON, max_size=2) | JSON,
        "properties": st.lists(
            st.fixed_dictionaries(
                {
                    "type": st.sampled_from(
                        ["olm.package", "olm.csv.metadata", "olm.bundle.object", "x"]
                    )
                },
                optional={"value": JSON},
            ),
            max_size=2,
        ),
        "icon": JSON,
        "image": JSON,
        "Image": JSON,
    },
)


@pytest.mark.property
@given(st.lists(BLOBS, min_size=1, max_size=3), st.sampled_from([4, None]))
def test_both_readers_agree_on_any_objects(values: list[Any], indent: int | None) -> None:
    data = "".join(json.dumps(value, indent=indent) + "\n" for value in values).encode()
    ours, faults = _read(data)

    if faults:
        with pytest.raises(Exception, match=r"."):
            _exactly(data)
    else:
        assert _placeless(ours) == _placeless(_exactly(data))
