"""Index databases as file-based catalogs: packages, channels, bundles, refused databases."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.catalog.blobs import fbc
from olmkit.catalog.database import conversion
from olmkit.catalog.database.conversion import ConvertedDatabase
from olmkit.edges import index_database
from tests import index_databases
from tests.index_databases import cog, csv, entry

Rows = dict[str, list[dict[str, Any]]]


def convert(folder: Path, rows: Rows) -> ConvertedDatabase:
    path = index_databases.write(folder / "index.db", rows)
    return conversion.convert(index_database.read(path, "index.db"), "index.db")


def bundle(made: ConvertedDatabase, name: str) -> dict[str, Any]:
    found = next(one for one in made.bundles if one.name == name)
    value: dict[str, Any] = json.loads(found.text())
    return value


def package(made: ConvertedDatabase) -> dict[str, Any]:
    return next(blob.value for blob in made.blobs if blob.schema == "olm.package")


def channel(made: ConvertedDatabase) -> dict[str, Any]:
    return next(blob.value for blob in made.blobs if blob.schema == "olm.channel")


def of(rows: Rows, table: str, name: str) -> dict[str, Any]:
    return next(one for one in rows[table] if one.get("name") == name)


def test_packages_channels_and_bundles_become_blobs(tmp_path: Path) -> None:
    made = convert(tmp_path, cog())

    assert package(made) == {"schema": "olm.package", "name": "cog", "defaultChannel": "stable"}
    assert channel(made)["entries"] == [
        {"name": "cog.v1.0.0", "skipRange": "<1.0.0"},
        {"name": "cog.v2.0.0", "replaces": "cog.v1.0.0", "skipRange": "<1.0.0"},
    ]
    assert bundle(made, "cog.v1.0.0") == {
        "schema": "olm.bundle",
        "name": "cog.v1.0.0",
        "package": "cog",
        "image": "r.io/cog:1.0.0",
        "properties": [
            {"type": "olm.package", "value": {"packageName": "cog", "version": "1.0.0"}}
        ],
        "relatedImages": [
            {"name": "", "image": "r.io/db:1"},
            {"name": "", "image": "r.io/op:1"},
        ],
    }
    head = bundle(made, "cog.v2.0.0")
    assert [one["type"] for one in head["properties"]] == [
        "olm.gvk",
        "olm.gvk.required",
        "olm.package",
        "olm.bundle.object",
    ]
    # The manifest keeps its text in the database.
    assert base64.b64decode(head["properties"][3]["value"]["data"]).decode() == csv("2.0.0")
    assert head["relatedImages"] == [
        {"name": "db", "image": "r.io/db:1"},
        {"name": "", "image": "r.io/op:1"},
    ]
    assert made.diagnostics == ()


def test_the_tree_is_the_catalog_as_one_file(tmp_path: Path) -> None:
    path = index_databases.write(tmp_path / "index.db", cog())

    tree = conversion.tree(index_database.read(path, "index.db"), "index.db")

    assert list(tree) == ["catalog.json"]
    assert [blob.name for blob in fbc.load(tree)] == ["cog", "stable", "cog.v1.0.0", "cog.v2.0.0"]


def test_deprecated_bundles_and_bundles_without_a_version_are_omitted_and_named(
    tmp_path: Path,
) -> None:
    rows = cog()
    rows["properties"].append(
        {"type": "olm.deprecated", "value": "{}", "operatorbundle_name": "cog.v1.0.0"}
    )
    rows["operatorbundle"].append({"name": "cog.v0.1.0", "bundlepath": "r.io/x", "version": None})
    rows["channel_entry"].append(entry(3, "cog.v0.1.0", depth=2))

    made = convert(tmp_path, rows)

    assert [one.name for one in made.bundles] == ["cog.v2.0.0"]
    # The bundle that it replaced stays in the name, as in the reference.
    assert channel(made)["entries"][0]["replaces"] == "cog.v1.0.0"
    assert [(one.rule, one.message, one.subject) for one in made.diagnostics] == [
        ("FBC921", "deprecated bundles are left out: `cog.v1.0.0`", "package `cog`"),
        (
            "FBC921",
            "bundles without a version or an image are left out: `cog.v0.1.0`",
            "package `cog`",
        ),
    ]


def test_a_bundle_in_two_channels_is_one_bundle(tmp_path: Path) -> None:
    rows = cog()
    rows["channel"].append(
        {"name": "fast", "package_name": "cog", "head_operatorbundle_name": "cog.v2.0.0"}
    )
    rows["channel_entry"].append(entry(3, "cog.v2.0.0", channel="fast"))

    made = convert(tmp_path, rows)

    assert [one.name for one in made.bundles] == ["cog.v2.0.0", "cog.v1.0.0"]
    names = {
        blob.name: blob.value["entries"] for blob in made.blobs if blob.schema == "olm.channel"
    }
    assert [one["name"] for one in names["fast"]] == ["cog.v2.0.0"]


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("aGkh", "aGkh"),
        ("aG\r\nkh", "aGkh"),
        ("aG kh", "aGkh"),  # It was published in this form once.
        ("", None),
        ("%%%", None),
    ],
)
def test_the_icon_is_that_of_the_head_of_the_default_channel(
    tmp_path: Path, data: str, shown: str | None
) -> None:
    rows = cog()
    icon = [{"base64data": data, "mediatype": "image/png"}]
    of(rows, "operatorbundle", "cog.v2.0.0")["csv"] = csv("2.0.0", icon=icon)

    made = convert(tmp_path, rows)

    expected = shown and {"base64data": shown, "mediatype": "image/png"}
    assert package(made).get("icon") == expected
    assert [one.rule for one in made.diagnostics] == (["FBC922"] if data == "%%%" else [])


def test_values_keep_their_text_without_whitespace(tmp_path: Path) -> None:
    rows = cog()
    value = ' {"b": 1.0, "a": 12345678901234567890} '
    rows["properties"] += [
        {"type": "x", "value": value, "operatorbundle_name": "cog.v2.0.0"},
        {"type": "x", "value": value.strip(), "operatorbundle_name": "cog.v2.0.0"},
    ]

    made = convert(tmp_path, rows)

    found = next(one for one in made.bundles if one.name == "cog.v2.0.0")
    assert [one.value for one in found.properties if one.type == "x"] == [
        b'{"b":1.0,"a":12345678901234567890}'
    ]


def test_dependencies_on_packages_are_ranges_and_other_types_are_lost(tmp_path: Path) -> None:
    rows = cog()
    rows["dependencies"] = [
        {
            "type": "olm.package",
            "value": '{"packageName":"nut","version":">=1.0.0"}',
            "operatorbundle_name": "cog.v2.0.0",
        },
        {"type": "olm.label", "value": '{"label":"x"}', "operatorbundle_name": "cog.v2.0.0"},
    ]
    rows["properties"] = []

    head = bundle(convert(tmp_path, rows), "cog.v2.0.0")

    assert head["properties"][:-1] == [
        {"type": "olm.package", "value": {"packageName": "cog", "version": "2.0.0"}},
        {
            "type": "olm.package.required",
            "value": {"packageName": "nut", "versionRange": ">=1.0.0"},
        },
    ]


def broken(change: str) -> Rows:
    rows = cog()
    head = of(rows, "operatorbundle", "cog.v2.0.0")
    match change:
        case "package":
            rows["channel_entry"].append(entry(3, "cog.v1.0.0", package="nut"))
        case "channel":
            rows["channel_entry"].append(entry(3, "cog.v1.0.0", channel="fast"))
        case "no channel":
            rows["channel"] = []
        case "default":
            rows["package"][0]["default_channel"] = "fast"
        case "head":
            rows["channel"][0]["head_operatorbundle_name"] = "cog.v3.0.0"
        case "csv":
            head["csv"] = None
        case "csv type":
            head["csv"] = csv("2.0.0", keywords="x")
        case "csv version":
            head["csv"] = csv("two")
        case "version":
            head["version"] = "v2"
        case "property":
            rows["properties"][0]["value"] = '{"group": 1}'
        case "property text":
            rows["properties"][1]["value"] = "{"
        case "dependency":
            rows["dependencies"][0]["value"] = "[]"
        case "manifests":
            head["bundle"] = '{"kind": "ConfigMap"}'
        case "manifest text":
            head["bundle"] = '{"kind": '
        case "manifest kind":
            head["bundle"] = "{}"
    return rows


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("package", 'unknown package "nut" for bundle "cog.v1.0.0"'),
        ("channel", 'unknown channel "fast" for bundle "cog.v1.0.0"'),
        ("no channel", 'package "cog" has no channel'),
        ("default", 'the default channel "fast" of package "cog" does not exist'),
        ("head", 'the head "cog.v3.0.0" of the channel does not exist'),
        ("csv", 'the ClusterServiceVersion of bundle "cog.v2.0.0" cannot be read'),
        ("csv type", "`spec.keywords` must be"),
        ("csv version", "`two` is not a version"),
        ("version", 'convert bundle "cog.v2.0.0": parse version "v2"'),
        ("property", 'convert bundle "cog.v2.0.0": expected `str'),
        ("property text", 'convert bundle "cog.v1.0.0"'),
        ("dependency", 'convert bundle "cog.v2.0.0": expected `object'),
        ("manifests", 'convert bundle "cog.v2.0.0": no csv in bundle'),
        ("manifest text", 'convert bundle "cog.v2.0.0"'),
        ("manifest kind", "Object 'Kind' is missing"),
    ],
)
def test_a_value_that_a_catalog_cannot_have_is_refused_with_its_name(
    tmp_path: Path, change: str, message: str
) -> None:
    with pytest.raises(InputError) as raised:
        convert(tmp_path, broken(change))

    assert message in raised.value.diagnostics[0].message
    assert str(raised.value.diagnostics[0].at) == "index.db"
