from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olmkit.base.diagnostics import Diagnostic, InputError
from olmkit.base.tree import Tree
from olmkit.catalog.blobs import fbc, shapes, wire
from olmkit.catalog.blobs.fbc import Blob, Form

PACKAGE = {"schema": "olm.package", "name": "cog", "defaultChannel": "stable"}


def _blobs(*values: dict[str, Any]) -> list[Blob]:
    return [Blob.of(value) for value in values]


def test_files_are_read_in_the_order_of_a_directory_walk() -> None:
    tree = Tree(
        {
            "b.yaml": b"schema: b\n",
            "a/z.json": b'{"schema": "a-z"}',
            "a.yaml": b"schema: a\n",
            "ignored.yaml": b"- text\n",
            ".indexignore": b"ignored*\n",
        }
    )

    found = [(blob.schema, blob.path) for blob in fbc.load(tree)]

    assert found == [("a-z", "a/z.json"), ("a", "a.yaml"), ("b", "b.yaml")]


def test_only_files_below_the_prefix_are_read() -> None:
    tree = Tree({"x/a.yaml": b"schema: a\n", "y.yaml": b"no blob", "x/.indexignore": b"y.yaml\n"})

    assert [blob.path for blob in fbc.load(tree, "x")] == ["x/a.yaml"]


def test_lost_text_is_reported() -> None:
    reports: list[Diagnostic] = []

    blobs = list(fbc.load_stream(b"schema: a\n...\nschema: b\n", "c.yaml", report=reports.append))

    assert [blob.schema for blob in blobs] == ["a"]
    assert [(found.rule, str(found.at)) for found in reports] == [("FBC001", "c.yaml:1:1")]


def test_json_keeps_the_order_of_fields_and_omits_empty_ones() -> None:
    bundle = {
        "relatedImages": [{"image": "b", "name": ""}],
        "properties": [{"value": {"z": 1, "a": [1.0]}, "type": "t"}],
        "image": "",
        "Package": "cog",
        "schema": "olm.bundle",
        "name": "cog.v1",
        "unknown": 1,
    }

    assert fbc.dump(_blobs(bundle), "json") == (
        b'{\n    "schema": "olm.bundle",\n    "name": "cog.v1",\n    "package": "cog",\n'
        b'    "image": "",\n    "properties": [\n        {\n            "type": "t",\n'
        b'            "value": {\n                "a": [\n                    1\n'
        b'                ],\n                "z": 1\n            }\n        }\n    ],\n'
        b'    "relatedImages": [\n        {\n            "name": "",\n            "image": "b"\n'
        b"        }\n    ]\n}\n"
    )


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (
            {"schema": "olm.channel", "name": "s", "package": "p"},
            "---\nentries: null\nname: s\npackage: p\nschema: olm.channel\n",
        ),
        (
            {"schema": "olm.channel", "name": "s", "package": "p", "entries": [{"skips": []}]},
            '---\nentries:\n- name: ""\nname: s\npackage: p\nschema: olm.channel\n',
        ),
        (
            {**PACKAGE, "icon": {"base64data": "aGk=\n", "mediatype": "x"}, "description": ""},
            (
                "---\ndefaultChannel: stable\nicon:\n  base64data: aGk=\n  mediatype: x\n"
                "name: cog\nschema: olm.package\n"
            ),
        ),
        (
            {"schema": "olm.deprecations", "package": "p", "entries": [{"reference": {}}]},
            (
                '---\nentries:\n- message: ""\n  reference:\n    schema: ""\n'
                "package: p\nschema: olm.deprecations\n"
            ),
        ),
        (
            {"schema": "mine", "b": None, "a": {"y": 1.50}},
            '---\na:\n  "y": 1.5\nb: null\nschema: mine\n',
        ),
    ],
    ids=["no-entries", "empty-skips", "icon", "deprecations", "custom"],
)
def test_yaml_has_the_fields_that_the_schema_requires(value: dict[str, Any], written: str) -> None:
    assert fbc.dump(_blobs(value), "yaml").decode() == written


def test_blobs_are_written_in_the_order_of_the_reference() -> None:
    blobs = _blobs(
        {"schema": "z", "name": "first"},
        {"schema": "olm.deprecations", "package": "b"},
        {"schema": "y", "package": "b"},
        {"schema": "x", "package": "b"},
        {"schema": "olm.bundle", "name": "b.v2", "package": "b"},
        {"schema": "olm.bundle", "name": "b.v10", "package": "b"},
        {"schema": "olm.channel", "name": "s", "package": "b"},
        {"schema": "olm.package", "name": "b"},
        {"schema": "olm.package", "name": "a"},
        {"schema": "olm.bundle", "name": "lost"},
        {"schema": "olm.package"},
        {"schema": "a", "name": "second"},
    )

    written = [(blob.schema, blob.name or blob.package) for blob in fbc.sort_for_writing(blobs)]

    assert written == [
        ("olm.package", "a"),
        ("olm.package", "b"),
        ("olm.channel", "s"),
        ("olm.bundle", "b.v10"),
        ("olm.bundle", "b.v2"),
        ("x", "b"),
        ("y", "b"),
        ("olm.deprecations", "b"),
        ("z", "first"),
        ("a", "second"),
    ]


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_each_package_has_a_directory(form: Form) -> None:
    blobs = _blobs(PACKAGE, {"schema": "mine"}, {"schema": "mine", "package": "other"})

    tree = fbc.dump_tree(blobs, form)

    assert list(tree) == [f"catalog.{form}", f"cog/catalog.{form}", f"other/catalog.{form}"]
    assert tree.data(f"cog/catalog.{form}") == fbc.dump(_blobs(PACKAGE), form)


@pytest.mark.parametrize("name", ["..", "../x", "/x", "a/../..", "."])
def test_a_package_whose_path_leaves_the_directory_is_not_written(name: str) -> None:
    with pytest.raises(InputError, match="must be a single local path element"):
        fbc.dump_tree(_blobs({"schema": "olm.package", "name": name}), "yaml")


def test_unknown_fields_are_found_with_their_positions() -> None:
    data = b"schema: olm.channel\nname: s\npackage: p\nentries:\n- name: a\n  repalces: b\nx: 1\n"
    (blob,) = fbc.load_stream(data, "c.yaml")

    found = [(str(one.at), one.message) for one in fbc.unknown_fields(blob)]

    assert found == [
        ("c.yaml:6:3", "`entries[0].repalces` is not a field of `olm.channel`"),
        ("c.yaml:7:1", "`x` is not a field of `olm.channel`"),
    ]


def test_unknown_fields_are_removed_or_kept() -> None:
    value = {**PACKAGE, "Icon": {"mediatype": "m", "size": 1}, "extra": {"a": 1}}

    kept = fbc.dump(_blobs(value), "yaml", keep_unknown=True).decode()

    assert "extra" not in fbc.dump(_blobs(value), "yaml").decode()
    assert "extra:\n  a: 1\n" in kept
    assert "  size: 1\n" in kept
    assert list(fbc.unknown_fields(*_blobs({"schema": "mine", "anything": 1}))) == []


_NAMES = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=4)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text("ab1:-# \n'\"é", max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=8,
)
_BLOBS = st.fixed_dictionaries(
    {"schema": st.sampled_from(["olm.bundle", "mine", "other"]), "package": _NAMES, "name": _NAMES},
    optional={"properties": st.lists(st.fixed_dictionaries({"type": _NAMES, "value": _VALUES}))},
)


@pytest.mark.property
@settings(max_examples=200, deadline=None)
@given(st.lists(_BLOBS, max_size=4), st.sampled_from(["yaml", "json"]))
def test_a_written_catalog_is_read_back(values: list[dict[str, Any]], form: Form) -> None:
    text = fbc.dump(_blobs(*values), form)

    again = list(fbc.load_stream(text, "c"))

    assert fbc.dump(again, form) == text
    assert again == [_as_written(blob) for blob in fbc.sort_for_writing(_blobs(*values))]


def _as_written(blob: Blob) -> Blob:
    shape = wire.SHAPES.get(blob.schema)
    return Blob.of(shapes.dump(shape, blob.fields)) if shape else blob
