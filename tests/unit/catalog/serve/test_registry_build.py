"""What is stored of a catalog, and what cannot be served."""

from __future__ import annotations

import base64
from types import SimpleNamespace as Served

import pytest

from olmkit.base.protobuf import fields
from olmkit.catalog.serve.registry_api import RegistryApi

CSV = b'{"kind": "ClusterServiceVersion",  "n": 1.0}'


def inlined(served: Served, *texts: bytes) -> list[dict[str, object]]:
    return [
        served.prop("olm.bundle.object", {"data": base64.b64encode(text).decode()})
        for text in texts
    ]


def only_bundle(served: Served, *properties: dict[str, object]) -> list[tuple[int, bytes]]:
    registry = served.registry(
        served.package(description="Turns", icon={"base64data": "aWNvbg==", "mediatype": "i/x"}),
        served.channel("stable", "cog.v1.0.0"),
        served.bundle("cog.v1.0.0", *properties, relatedImages=[{"name": "a", "image": "b"}]),
    )
    return list(fields(registry.get_bundle("cog", "stable", "cog.v1.0.0")))


def values(bundle: list[tuple[int, bytes]], number: int) -> list[bytes]:
    return [value for found, value in bundle if found == number]


def test_inlined_manifests_are_served_unchanged_and_yaml_as_json(served: Served) -> None:
    bundle = only_bundle(served, *inlined(served, b"kind: Service\nm: 1.0\n", CSV, b" {}\n"))
    assert values(bundle, 5) == [b'{"kind":"Service","m":1}', CSV, b" {}\n"]
    assert values(bundle, 4) == [CSV]


def test_the_first_of_several_csvs_counts(served: Served) -> None:
    second = b'{"kind":"ClusterServiceVersion","second":true}'
    bundle = only_bundle(served, *inlined(served, CSV, second))
    assert values(bundle, 4) == [CSV]


def test_the_kind_alone_does_not_make_a_csv(served: Served) -> None:
    text = b'{"kind":"Note","text":"ClusterServiceVersion"}'
    bundle = only_bundle(served, *inlined(served, text))
    assert values(bundle, 4) == []
    assert values(bundle, 5) == [text]


def test_a_synthetic_csv_replaces_missing_manifests(served: Served) -> None:
    bundle = only_bundle(served, served.prop("olm.csv.metadata", {"displayName": "Cog"}))
    (csv,) = values(bundle, 4)
    assert values(bundle, 5) == [csv]
    assert b'"description":"Turns"' in csv
    assert b'"icon":[{"base64data":"aWNvbg==","mediatype":"i/x"}]' in csv
    assert b'"relatedImages":[{"name":"a","image":"b"}]' in csv


def test_a_synthetic_csv_is_not_added_to_other_manifests(served: Served) -> None:
    bundle = only_bundle(
        served, served.prop("olm.csv.metadata", None), *inlined(served, b"kind: Service")
    )
    (csv,) = values(bundle, 4)
    assert csv.startswith(b'{"kind":"ClusterServiceVersion","apiVersion"')
    assert values(bundle, 5) == [b'{"kind":"Service"}']


def test_an_empty_manifest_is_kept(served: Served) -> None:
    # Without a CSV there is nothing to find in it either.
    bundle = only_bundle(served, *inlined(served, b"", b"{}"))
    assert values(bundle, 4) == []
    assert len(values(bundle, 5)) == 2


def test_properties_are_converted_to_apis_dependencies_and_texts(served: Served) -> None:
    required = {"group": "g", "kind": "R", "version": "v1"}
    bundle = only_bundle(
        served,
        served.api("Cog"),
        served.prop("olm.gvk.required", required),
        served.prop("olm.package.required", {"packageName": "axle", "versionRange": ">=1.0.0"}),
        served.prop("other", {"b": "<", "a": [1.0, None]}),
        served.prop("olm.csv.metadata", {}),
    )
    assert [dict(fields(api)) for api in values(bundle, 7)] == [
        {1: b"example.com", 2: b"v1", 3: b"Cog"}
    ]
    assert [dict(fields(api)) for api in values(bundle, 8)] == [{1: b"g", 2: b"v1", 3: b"R"}]
    assert [dict(fields(each)) for each in values(bundle, 11)] == [
        {1: b"olm.gvk", 2: b'{"group":"g","kind":"R","version":"v1"}'},
        {1: b"olm.package", 2: b'{"packageName":"axle","version":">=1.0.0"}'},
    ]
    written = [dict(fields(each)) for each in values(bundle, 12)]
    assert written[-1] == {1: b"other", 2: b'{"a":[1,null],"b":"<"}'}
    assert [each[1] for each in written] == [
        b"olm.package",
        b"olm.gvk",
        b"olm.gvk.required",
        b"olm.package.required",
        b"other",
    ]
    assert values(bundle, 9) == [b"1.0.0"]


def test_a_bundle_in_several_channels_is_stored_once(served: Served) -> None:
    def stored(*channels: str) -> int:
        _, _, pieces = served.build(
            served.package(),
            *(served.channel(name, "cog.v1.0.0") for name in channels),
            served.bundle("cog.v1.0.0"),
        )
        return len(pieces.data)

    assert stored("stable") == stored("stable", "beta", "alpha")


def test_the_same_catalog_results_in_the_same_bytes_in_any_order(served: Served) -> None:
    blobs = [
        served.package(),
        served.channel("stable", "cog.v1.0.0"),
        served.channel("beta", "cog.v1.0.0"),
        served.bundle("cog.v1.0.0", served.api("Cog")),
    ]

    def answers(registry: RegistryApi) -> list[bytes]:
        return [registry.get_package("cog"), *registry.list_bundles()]

    assert answers(served.registry(*blobs)) == answers(served.registry(*reversed(blobs)))


def test_two_csv_metadata_cannot_be_served(served: Served) -> None:
    _, findings, _ = served.build(
        served.package(),
        served.channel("stable", "cog.v1.0.0"),
        served.bundle(
            "cog.v1.0.0",
            served.prop("olm.csv.metadata", {}),
            served.prop("olm.csv.metadata", {}),
        ),
    )
    (found,) = findings
    assert found.rule == "SRV001"
    assert found.message == 'expected at most 1 property of type "olm.csv.metadata", found 2'
    assert found.subject == "package `cog`, bundle `cog.v1.0.0`"


@pytest.mark.parametrize(
    ("blob", "words"),
    [
        ({"schema": "a b"}, 'invalid schema "a b"'),
        ({"schema": "olm.package "}, 'invalid schema "olm.package "'),
        ({"schema": "a", "package": ".b"}, 'invalid package ".b"'),
    ],
)
def test_a_custom_blob_with_an_invalid_name_cannot_be_served(
    served: Served, blob: dict[str, str], words: str
) -> None:
    _, findings, _ = served.build(blob)
    (found,) = findings
    assert found.rule == "SRV002"
    assert found.message.startswith(f"invalid custom schema meta: {words}: must match ^[a-zA-Z0-9]")
