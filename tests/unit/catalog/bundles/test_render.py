from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.catalog.blobs import fbc
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.blobs.typed_json import Member
from olmkit.catalog.bundles import render, source_bundle
from olmkit.catalog.bundles.render import RelatedImage, RenderedBundle

Cog = Callable[..., Tree]


def rendered(tree: Tree, image: str = "") -> RenderedBundle:
    return render.render(source_bundle.read(tree), image)[0]


def properties(tree: Tree) -> list[tuple[str, str]]:
    """Return all properties except the inlined manifests."""
    return [
        (item.type, item.value.decode())
        for item in rendered(tree).properties
        if item.type != "olm.bundle.object"
    ]


OWN = [
    ("olm.gvk", '{"group":"example.org","kind":"Cog","version":"v1"}'),
    ("olm.package", '{"packageName":"cog","version":"1.0.0"}'),
]


def test_a_bundle_has_its_package_its_apis_and_its_manifests(cog: Cog) -> None:
    bundle = rendered(cog())

    assert [item.type for item in bundle.properties] == [
        "olm.gvk",
        "olm.package",
        "olm.bundle.object",
        "olm.bundle.object",
    ]
    assert properties(cog()) == OWN


def test_manifests_are_compact_sorted_json_with_html_escaped(cog: Cog) -> None:
    tree = cog({"manifests/a.yaml": 'kind: X\nb: [1.0, 1e21, 9223372036854775808, 5]\na: "<&>"\n'})

    texts = [
        base64.b64decode(json.loads(item.value)["data"]).decode()
        for item in rendered(tree).properties
        if item.type == "olm.bundle.object"
    ]

    assert '{"a":"\\u003c\\u0026\\u003e","b":[1,1e+21,9223372036854776000,5],"kind":"X"}' in texts


@pytest.mark.parametrize(
    ("dependency", "written"),
    [
        (
            "{type: olm.package, value: {packageName: a, version: '>=1.0.0 <2.0.0'}}",
            ("olm.package.required", '{"packageName":"a","versionRange":">=1.0.0 <2.0.0"}'),
        ),
        (
            "{type: olm.gvk, value: {Group: g, kind: K, version: v1, more: 1}}",
            ("olm.gvk.required", '{"group":"g","kind":"K","version":"v1"}'),
        ),
        ("{type: olm.label, value: {label: <}}", ("olm.label", '{"label":"\\u003c"}')),
        ("{type: x}", ("x", "")),
        ("{type: 5, value: null}", ("5", "null")),
    ],
)
def test_dependencies_become_requirements(
    cog: Cog, dependency: str, written: tuple[str, str]
) -> None:
    tree = cog({"metadata/dependencies.yaml": f"dependencies: [{dependency}]\n"})

    assert sorted(properties(tree)) == sorted([*OWN, written])


def test_required_apis_of_the_csv_become_requirements(cog: Cog) -> None:
    tree = cog(
        None,
        "    owned:\n",
        "    required:\n      - {name: axles.example.org, version: v1, kind: Axle}\n    owned:\n",
        "spec:\n  displayName",
        "spec:\n  apiservicedefinitions:\n"
        "    owned: [{name: wheels, group: s.org, version: v1, kind: Wheel}]\n"
        "    required: [{name: hubs, group: s.org, version: v1, kind: Hub}]\n  displayName",
    )

    assert properties(tree) == [
        OWN[0],
        ("olm.gvk", '{"group":"s.org","kind":"Wheel","version":"v1"}'),
        ("olm.gvk.required", '{"group":"example.org","kind":"Axle","version":"v1"}'),
        ("olm.gvk.required", '{"group":"s.org","kind":"Hub","version":"v1"}'),
        OWN[1],
    ]


def test_properties_of_the_file_and_of_the_annotation_are_merged(cog: Cog) -> None:
    tree = cog(
        {
            "metadata/properties.json": '{"properties": [{"type": "a", "value": {"z": 1.0}},'
            '{"type": "olm.package", "value": {"packageName": "b", "version": "2"}}]}'
        },
        "  name: cog.v1.0.0",
        '  annotations:\n    olm.properties: \'[{"type": "a", "value": {"z": 1.0}},'
        ' {"type": "c", "value": "<"}, {"type": "olm.gvk", "value": {"kind": "K"}},'
        ' {"type": "c", "value": "<"}]\'\n  name: cog.v1.0.0',
    )

    assert properties(tree) == [
        ("a", '{"z": 1.0}'),
        ("c", '"<"'),
        ("olm.gvk", '{"group":"","kind":"K","version":""}'),
        *OWN,
    ]


def test_the_package_of_the_annotations_takes_precedence(cog: Cog) -> None:
    tree = cog(
        None,
        "  name: cog.v1.0.0",
        '  annotations: {olm.properties: \'[{"type": "olm.package",'
        ' "value": {"packageName": "b", "version": "2", "release": "3"}}]\'}\n'
        "  name: cog.v1.0.0",
    )

    assert properties(tree) == [
        OWN[0],
        ("olm.package", '{"packageName":"b","version":"2","release":"3"}'),
    ]


def test_an_annotation_of_a_wrong_type_is_read_in_part_and_reported(cog: Cog) -> None:
    tree = cog(
        None,
        "  name: cog.v1.0.0",
        '  annotations: {olm.properties: \'[{"type": 5}, {"type": "x", "value": 1}]\'}\n'
        "  name: cog.v1.0.0",
    )

    bundle, notes = render.render(source_bundle.read(tree, "b"))

    assert [item.type for item in bundle.properties][:2] == ["", "olm.gvk"]
    assert Member("x", b"1") in bundle.properties
    (note,) = notes
    assert note.rule == "FBC905"
    assert str(note.at).startswith("b/manifests/csv.yaml:4:")


@pytest.mark.parametrize(
    ("value", "reason"),
    [("{type: olm.gvk, value: 1}", "expected"), ("{type: olm.package}", "unexpected end of JSON")],
)
def test_a_property_of_a_wrong_type_is_refused(cog: Cog, value: str, reason: str) -> None:
    tree = cog({"metadata/properties.yaml": f"properties: [{value}]\n"})

    with pytest.raises(InputError, match=reason) as raised:
        render.render(source_bundle.read(tree, "b"))

    assert str(raised.value.diagnostics[-1].at) == "b"


def test_images_are_those_of_the_csv_the_bundle_and_the_deployments(cog: Cog) -> None:
    tree = cog(
        None,
        "  displayName: Cog\n",
        "  relatedImages: [{name: z, image: z.io/z}, {name: a, image: b.io/b, more: 1}]\n",
        "containers: [",
        "initContainers: [{image: b.io/b}, {image: a.io/a}]\n                containers: [",
    )

    images = rendered(tree, "c.io/bundle:v1").related_images

    assert images == (
        RelatedImage("", "a.io/a"),
        RelatedImage("a", "b.io/b"),
        RelatedImage("", "c.io/bundle:v1"),
        RelatedImage("", "registry.example.com/cog:1.0.0"),
        RelatedImage("z", "z.io/z"),
    )


def test_an_image_of_the_bundle_and_the_operator_is_listed_twice(cog: Cog) -> None:
    image = "registry.example.com/cog:1.0.0"

    assert rendered(cog(), image).related_images == (RelatedImage("", image),) * 2


def test_without_the_deployment_strategy_no_images_are_collected(cog: Cog) -> None:
    assert rendered(cog(None, "strategy: deployment", "strategy: other")).related_images == ()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  displayName: Cog\n", "  relatedImages: {a: b}\n", "cannot unmarshal object"),
        ("            template:", "            replicas: x\n            template:", "replicas"),
        ("  install:\n", "  install: [\n", "not closed with"),
        (
            "            template:\n",
            "            template:\n              metadata: {creationTimestamp: x}\n",
            "must be a time",
        ),
    ],
)
def test_unreadable_images_are_refused(cog: Cog, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        rendered(cog(None, old, new))

    assert any(message in found.message for found in raised.value.diagnostics)


def test_the_blob_is_written_in_the_order_of_the_field(cog: Cog) -> None:
    bundle = rendered(cog(), "a.io/b:1")

    value: dict[str, Any] = json.loads(bundle.text())

    assert list(value) == ["schema", "name", "package", "image", "properties", "relatedImages"]
    assert bundle.blob().rendered
    assert json.loads(fbc.dump([bundle.blob()], "json")) == value


def test_empty_fields_are_omitted_from_the_text() -> None:
    bundle = RenderedBundle(name="", package="", image="", properties=(), related_images=())

    assert bundle.text() == b'{"schema":"olm.bundle","image":""}'


def test_a_property_without_a_value_is_written_as_null() -> None:
    bundle = RenderedBundle(
        name="a", package="b", image="", properties=(Member("x", b""),), related_images=()
    )

    assert b'{"type":"x","value":null}' in bundle.text()


def test_a_bundle_of_a_catalog_has_the_order_of_a_rendered_one() -> None:
    blob = Blob.of(
        {
            "schema": "olm.bundle",
            "name": "a",
            "package": "b",
            "properties": [
                {"type": "olm.bundle.object", "value": {"data": ""}},
                {"type": "olm.csv.metadata", "value": {}},
                {"type": "z", "value": {"b": 1, "a": 2}},
                {"type": "y"},
            ],
            "relatedImages": [{"name": "2", "image": "b"}, {"name": "1", "image": "a"}],
        }
    )

    arranged = render.sort_properties(RenderedBundle.of(blob))

    assert [item.type for item in arranged.properties] == [
        "z",
        "y",
        "olm.bundle.object",
        "olm.csv.metadata",
    ]
    assert arranged.properties[0].value == b'{"a":2,"b":1}'
    assert arranged.properties[1].value == b""
    assert [item.name for item in arranged.related_images] == ["1", "2"]
