"""The answers of the registry API for small catalogs."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace as Served
from typing import Any

import pytest

from olmkit.base.protobuf import fields
from olmkit.catalog.serve.registry_api import BadQuestionError, NotFoundError, RegistryApi

NUMBERS = {
    "csvName": 1,
    "packageName": 2,
    "channelName": 3,
    "csvJson": 4,
    "object": 5,
    "bundlePath": 6,
    "skipRange": 10,
    "replaces": 13,
    "skips": 14,
    "deprecation": 15,
}
METADATA = {"displayName": "Cog"}


@pytest.fixture
def registry(served: Served) -> RegistryApi:
    """Two packages; `cog` has two channels and skips, `axle` is deprecated."""
    return served.registry(
        served.package("cog"),
        served.channel(
            "stable",
            {
                "name": "cog.v3.0.0",
                "replaces": "cog.v2.0.0",
                "skips": ["cog.v1.0.0", "cog.v2.0.0", "cog.v0.9.0"],
                "skipRange": "<3.0.0",
            },
            {"name": "cog.v2.0.0", "replaces": "cog.v1.0.0"},
            {"name": "cog.v1.0.0", "replaces": "cog.v0.0.1"},
        ),
        served.channel("beta", "cog.v2.0.0"),
        served.bundle("cog.v1.0.0", served.api("Cog")),
        served.bundle("cog.v2.0.0", served.api("Cog"), served.api("Old")),
        served.bundle("cog.v3.0.0", served.api("Cog"), served.prop("olm.csv.metadata", METADATA)),
        served.package("axle", "only"),
        served.channel("only", "axle.v1.0.0", of="axle"),
        served.bundle("axle.v1.0.0", served.api("Cog"), of="axle"),
        {
            "schema": "olm.deprecations",
            "package": "axle",
            "entries": [
                {"reference": {"schema": "olm.package"}, "message": "axles are gone"},
                {"reference": {"schema": "olm.channel", "name": "only"}, "message": "no more"},
                {
                    "reference": {"schema": "olm.bundle", "name": "axle.v1.0.0"},
                    "message": "unsafe",
                },
            ],
        },
        {"schema": "note", "package": "cog", "text": "of cog"},
        {"schema": "note", "text": "of no package"},
    )


def all_of(message: bytes, number: int) -> list[str]:
    return [v.decode() for n, v in fields(message) if n == number and isinstance(v, bytes)]


def one_of(message: bytes, name: str) -> str:
    return "".join(all_of(message, NUMBERS[name]))


def entries(messages: list[bytes]) -> list[tuple[str, ...]]:
    return [tuple("".join(all_of(each, n)) for n in (1, 2, 3, 4)) for each in messages]


def test_packages_are_listed_by_name(registry: RegistryApi) -> None:
    assert [all_of(each, 1) for each in registry.list_packages()] == [["axle"], ["cog"]]
    assert (registry.package_count, registry.bundle_count) == (2, 4)


def test_a_package_has_its_channels_with_their_heads(registry: RegistryApi) -> None:
    package = registry.get_package("cog")
    channels = [dict(fields(v)) for n, v in fields(package) if n == 2 and isinstance(v, bytes)]
    assert channels == [
        {1: b"beta", 2: b"cog.v2.0.0"},
        {1: b"stable", 2: b"cog.v3.0.0"},
    ]
    assert all_of(package, 1) == ["cog"]
    assert all_of(package, 3) == ["stable"]
    assert all_of(package, 4) == []


def test_deprecations_are_at_package_channel_and_bundle(registry: RegistryApi) -> None:
    package = dict(fields(registry.get_package("axle")))
    assert dict(fields(package[4])) == {1: b"axles are gone"}
    assert dict(fields(dict(fields(package[2]))[3])) == {1: b"no more"}
    bundle = dict(fields(registry.get_bundle("axle", "only", "axle.v1.0.0")))
    assert dict(fields(bundle[15])) == {1: b"unsafe"}


def test_one_bundle_has_its_manifests_and_no_edges(registry: RegistryApi) -> None:
    bundle = registry.get_bundle("cog", "stable", "cog.v3.0.0")
    assert one_of(bundle, "csvName") == "cog.v3.0.0"
    assert one_of(bundle, "channelName") == "stable"
    assert one_of(bundle, "skipRange") == "<3.0.0"
    assert '"displayName":"Cog"' in one_of(bundle, "csvJson")
    assert one_of(bundle, "object") == one_of(bundle, "csvJson")
    assert one_of(bundle, "replaces") == one_of(bundle, "skips") == ""
    assert registry.get_bundle_for_channel("cog", "stable") == bundle


def test_the_list_has_edges_and_no_manifests_and_is_sorted_by_channel_first(
    registry: RegistryApi,
) -> None:
    listed = list(registry.list_bundles())
    names = [
        (one_of(b, "channelName"), one_of(b, "packageName"), one_of(b, "csvName")) for b in listed
    ]
    assert names == [
        ("beta", "cog", "cog.v2.0.0"),
        ("only", "axle", "axle.v1.0.0"),
        ("stable", "cog", "cog.v1.0.0"),
        ("stable", "cog", "cog.v2.0.0"),
        ("stable", "cog", "cog.v3.0.0"),
    ]
    head = listed[-1]
    assert one_of(head, "replaces") == "cog.v2.0.0"
    assert all_of(head, NUMBERS["skips"]) == ["cog.v1.0.0", "cog.v2.0.0", "cog.v0.9.0"]
    assert one_of(head, "csvJson") == one_of(head, "object") == ""


def test_the_list_has_manifests_if_there_is_no_image(served: Served) -> None:
    csv = '{"kind":"ClusterServiceVersion"}'
    data = "eyJraW5kIjoiQ2x1c3RlclNlcnZpY2VWZXJzaW9uIn0="
    registry = served.registry(
        served.package(),
        served.channel("stable", "cog.v1.0.0"),
        served.bundle("cog.v1.0.0", served.prop("olm.bundle.object", {"data": data}), image=""),
    )
    (bundle,) = registry.list_bundles()
    assert one_of(bundle, "csvJson") == one_of(bundle, "object") == csv


def test_a_replacement_is_by_replaces_or_skips_and_the_first_by_name_is_selected(
    registry: RegistryApi,
) -> None:
    def replacing(name: str) -> str:
        return one_of(registry.get_bundle_that_replaces(name, "cog", "stable"), "csvName")

    assert replacing("cog.v1.0.0") == "cog.v2.0.0"  # 3.0.0 also skips it.
    assert replacing("cog.v0.9.0") == "cog.v3.0.0"
    assert replacing("cog.v0.0.1") == "cog.v1.0.0"


def test_entries_that_replace_have_the_name_that_their_bundle_replaces(
    registry: RegistryApi,
) -> None:
    assert entries(registry.channel_entries_that_replace("cog.v1.0.0")) == [
        ("cog", "stable", "cog.v2.0.0", "cog.v1.0.0"),
        ("cog", "stable", "cog.v3.0.0", "cog.v2.0.0"),
    ]
    assert entries(registry.channel_entries_that_replace("cog.v2.0.0")) == [
        ("cog", "stable", "cog.v3.0.0", "cog.v2.0.0"),
    ]


def test_entries_that_provide_have_a_row_for_each_skip(registry: RegistryApi) -> None:
    found = entries(registry.channel_entries_that_provide(("example.com", "v1", "Cog")))
    assert found == [
        ("axle", "only", "axle.v1.0.0", ""),
        ("cog", "beta", "cog.v2.0.0", ""),
        ("cog", "stable", "cog.v1.0.0", "cog.v0.0.1"),
        ("cog", "stable", "cog.v2.0.0", "cog.v1.0.0"),
        ("cog", "stable", "cog.v3.0.0", "cog.v2.0.0"),
        ("cog", "stable", "cog.v3.0.0", "cog.v1.0.0"),
        ("cog", "stable", "cog.v3.0.0", "cog.v0.9.0"),
    ]


def test_latest_entries_are_heads_and_their_skips_within_the_channel(registry: RegistryApi) -> None:
    found = entries(registry.latest_channel_entries_that_provide(("example.com", "v1", "Cog")))
    assert found == [
        ("axle", "only", "axle.v1.0.0", ""),
        ("cog", "beta", "cog.v2.0.0", ""),
        ("cog", "stable", "cog.v3.0.0", "cog.v2.0.0"),
        ("cog", "stable", "cog.v3.0.0", "cog.v1.0.0"),
    ]


def test_the_default_provider_is_in_the_first_package_whose_default_channel_has_it(
    registry: RegistryApi,
) -> None:
    bundle = registry.default_bundle_that_provides(("example.com", "v1", "Cog"))
    assert one_of(bundle, "csvName") == "axle.v1.0.0"


def test_custom_blobs_are_those_of_exactly_that_package(registry: RegistryApi) -> None:
    assert len(list(registry.list_custom_blobs("note", "cog"))) == 1
    assert len(list(registry.list_custom_blobs("note", ""))) == 1
    assert list(registry.list_custom_blobs("note", "axle")) == []
    assert list(registry.list_custom_blobs("olm.package", "cog")) == []


COG = ("example.com", "v1", "Cog")
OLD = ("example.com", "v1", "Old")
NONE = ("g", "v1", "K")
NONE_WORDS = 'group:"g" version:"v1" kind:"K"'


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda r: r.get_package("x"), 'package "x" not found'),
        (lambda r: r.get_bundle("x", "c", "b"), 'package "x" not found'),
        (lambda r: r.get_bundle("cog", "c", "b"), 'package "cog", channel "c" not found'),
        (
            lambda r: r.get_bundle("cog", "beta", "b"),
            'package "cog", channel "beta", bundle "b" not found',
        ),
        (lambda r: r.get_bundle_for_channel("x", "c"), 'package "x" not found'),
        (
            lambda r: r.get_bundle_for_channel("cog", "c"),
            'package "cog", channel "c" not found',
        ),
        (lambda r: r.get_bundle_that_replaces("b", "x", "c"), "package x not found"),
        (
            lambda r: r.get_bundle_that_replaces("b", "cog", "c"),
            'package "cog", channel "c" not found',
        ),
        (
            lambda r: r.get_bundle_that_replaces("b", "cog", "beta"),
            'no entry found for package "cog", channel "beta"',
        ),
        (
            lambda r: r.channel_entries_that_replace("b"),
            "no channel entries found that replace b",
        ),
        (
            lambda r: r.channel_entries_that_provide(NONE),
            f"no channel entries found that provide {NONE_WORDS}",
        ),
        (
            lambda r: r.latest_channel_entries_that_provide(NONE),
            f"no channel entries found that provide {NONE_WORDS}",
        ),
        (
            lambda r: r.default_bundle_that_provides(NONE),
            f"no channel entries found that provide {NONE_WORDS}",
        ),
        (
            # Only `beta` has it at its head, and it is not a default channel.
            lambda r: r.default_bundle_that_provides(OLD),
            'no entry found that provides group:"example.com" version:"v1" kind:"Old"',
        ),
    ],
)
def test_missing_objects_are_reported_with_the_messages_that_clients_know(
    registry: RegistryApi, ask: Callable[[RegistryApi], Any], words: str
) -> None:
    with pytest.raises(NotFoundError) as error:
        ask(registry)
    assert str(error.value) == words


@pytest.mark.parametrize(
    ("schema", "package", "words"),
    [
        ("", "", "schema is required"),
        ("a b", "", 'invalid custom schema query: invalid schema "a b"'),
        ("a", "-b", 'invalid custom schema query: invalid packageName "-b"'),
        ("a\n", "", "invalid custom schema query"),
    ],
)
def test_a_request_with_invalid_names_is_refused(
    registry: RegistryApi, schema: str, package: str, words: str
) -> None:
    with pytest.raises(BadQuestionError) as error:
        list(registry.list_custom_blobs(schema, package))
    assert words in str(error.value)


def test_an_empty_catalog_has_empty_answers(served: Served) -> None:
    registry = served.registry()
    assert list(registry.list_packages()) == list(registry.list_bundles()) == []
