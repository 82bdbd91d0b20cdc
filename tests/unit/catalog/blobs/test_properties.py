"""Properties of bundles: types, results and messages of Go's reader."""

from __future__ import annotations

import pytest

from olmkit.catalog.blobs import properties
from olmkit.catalog.blobs.properties import (
    BrokenTextError,
    PackageIdentity,
    PackageRequirement,
    Property,
)
from olmkit.kube.objects import GVK


def test_known_types_are_read_and_others_kept() -> None:
    found = properties.parse(
        [
            ("olm.package", b'{"packageName": "cog", "version": "1.0.0", "release": "2"}'),
            ("olm.gvk", b'{"group": "g", "version": "v1", "kind": "Cog"}'),
            ("olm.gvk.required", b'{"group": "g", "version": "v1", "kind": "Gear"}'),
            ("olm.package.required", b'{"packageName": "gear", "versionRange": ">1.0.0"}'),
            ("olm.bundle.object", b'{"data": "e30="}'),
            ("olm.csv.metadata", b'{"displayName": "Cog", "provider": {}, "links": null}'),
            ("olm.maxOpenShiftVersion", b'"4.16"'),
            ("olm.channel", b'{"channelName": "stable", "priority": 1}'),
            ("", b" [ 1.0 ] "),
        ]
    )

    assert found.identities == (PackageIdentity("cog", "1.0.0", "2", 0),)
    assert found.provided == (GVK("g", "v1", "Cog"),)
    assert found.required == (GVK("g", "v1", "Gear"),)
    assert found.required_packages == (PackageRequirement("gear", ">1.0.0", 3),)
    assert (found.objects, found.metadata) == (1, 1)
    assert found.others == (
        Property("olm.maxOpenShiftVersion", b'"4.16"', 6),
        Property("olm.channel", b'{"channelName":"stable","priority":1}', 7),
        Property("", b"[1]", 8),
    )
    assert found.others[0].value == "4.16"
    assert found.faults == ()


@pytest.mark.parametrize("kind", sorted(properties.SHAPES))
def test_null_is_an_empty_value(kind: str) -> None:
    assert properties.parse([(kind, b"null")]).faults == ()


def test_the_case_of_keys_is_ignored_and_the_last_by_code_point_counts() -> None:
    found = properties.parse([("olm.package", b'{"version": "2.0.0", "VERSION": "1.0.0"}')])

    assert found.identities == (PackageIdentity("", "2.0.0", "", 0),)


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("olm.package", None, "unexpected end of JSON input"),
        ("x", None, "unexpected end of JSON input"),
        ("olm.gvk", b"[]", "json: cannot unmarshal array into Go value of type property.GVK"),
        (
            "olm.package",
            b'{"version": 1}',
            "json: cannot unmarshal number into Go struct field Package.version of type string",
        ),
        (
            "olm.csv.metadata",
            b'{"installModes": [{"type": "AllNamespaces", "supported": "yes"}]}',
            (
                "json: cannot unmarshal string into Go struct field "
                "InstallMode.installModes.supported of type bool"
            ),
        ),
        (
            "olm.csv.metadata",
            b'{"annotations": {"a": 1}}',
            (
                "json: cannot unmarshal number into Go struct field CSVMetadata.annotations of "
                "type string"
            ),
        ),
        (
            "olm.csv.metadata",
            b'{"apiServiceDefinitions": {"owned": [{"containerPort": 2147483648}]}}',
            (
                "json: cannot unmarshal number 2147483648 into Go struct field "
                "APIServiceDescription.apiServiceDefinitions.owned.containerPort of type int32"
            ),
        ),
        (
            "olm.channel",
            b'{"priority": 1.5}',
            "json: cannot unmarshal number 1.5 into Go struct field Channel.priority of type int",
        ),
        ("olm.bundle.object", b'{"data": "!"}', "illegal base64 data at input byte 0"),
    ],
)
def test_a_value_of_another_type_is_an_error_with_the_message_of_go(
    kind: str, text: bytes | None, words: str
) -> None:
    (fault,) = properties.parse([("x", b"1"), (kind, text)]).faults

    assert fault.message == f'parse property[1] of type "{kind}": {words}'
    assert fault.keys[:3] == ("properties", 1, "value")


def test_the_other_properties_are_still_read() -> None:
    found = properties.parse([("olm.gvk", b"5"), ("olm.gvk", b'{"kind": "Cog"}'), ("x", None)])

    assert found.provided == (GVK("", "", "Cog"),)
    assert [fault.index for fault in found.faults] == [0, 2]


@pytest.mark.parametrize("kind", ["olm.gvk", "olm.csv.metadata", "x"])
def test_invalid_json_is_not_an_error_of_the_property(kind: str) -> None:
    with pytest.raises(BrokenTextError):
        properties.parse([(kind, b'{"a": ')])


def test_unknown_fields_are_ignored() -> None:
    text = b'{"note": 1, "crdDescriptions": {"owned": [{"name": "a", "note": 1}]}}'

    assert properties.parse([("olm.csv.metadata", text)]).faults == ()
