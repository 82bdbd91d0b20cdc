"""Upgrade graphs in SVG: well-formed, complete, and safe for any catalog."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from olmkit.catalog import model
from olmkit.catalog.blobs import outline
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.graph import picture

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*values: dict[str, Any]) -> tuple[str, ElementTree.Element]:
    catalog = model.build(outline.outline_blobs(Blob.of(value) for value in values))
    text = picture.svg(list(catalog.packages.values()))
    return text, ElementTree.fromstring(text)  # noqa: S314 - our own text


def package(name: str = "cog", default: str = "stable") -> dict[str, Any]:
    return {"schema": "olm.package", "name": name, "defaultChannel": default}


def channel(name: str, *entries: dict[str, Any]) -> dict[str, Any]:
    return {"schema": "olm.channel", "package": "cog", "name": name, "entries": list(entries)}


def bundle(version: str, name: str = "") -> dict[str, Any]:
    return {
        "schema": "olm.bundle",
        "package": "cog",
        "name": name or f"cog.v{version}",
        "image": "registry.example/cog:1",
        "properties": [
            {"type": "olm.package", "value": {"packageName": "cog", "version": version}}
        ],
    }


VALUES = (
    package(),
    channel(
        "stable",
        {"name": "cog.v1.0.0"},
        {"name": "cog.v1.1.0", "replaces": "cog.v1.0.0"},
        {
            "name": "cog.v1.2.0",
            "replaces": "cog.v1.0.0",
            "skips": ["cog.v1.1.0"],
            "skipRange": "<1.2.0",
        },
    ),
    channel("alpha", {"name": "cog.v1.2.0", "replaces": "cog.v0.9.0"}),
    *(bundle(version) for version in ("1.0.0", "1.1.0", "1.2.0")),
    {
        "schema": "olm.deprecations",
        "package": "cog",
        "entries": [
            {"reference": {"schema": "olm.channel", "name": "alpha"}, "message": "use stable"},
            {"reference": {"schema": "olm.bundle", "name": "cog.v1.1.0"}, "message": "broken"},
        ],
    },
)


def titles(root: ElementTree.Element) -> list[str]:
    return ["".join(one.itertext()) for one in root.iter(f"{SVG}title")]


def test_every_entry_and_every_edge_is_in_the_picture() -> None:
    _, root = drawn(*VALUES)
    found = titles(root)
    for words in (
        "cog.v1.2.0 in channel stable, its head",
        "cog.v1.1.0 in channel stable",
        "cog.v1.2.0 in channel alpha, its head",
        "cog.v1.1.0 replaces cog.v1.0.0",
        "cog.v1.2.0 replaces cog.v1.0.0",
        "cog.v1.2.0 skips cog.v1.1.0",
        "cog.v1.2.0 replaces cog.v0.9.0",
        "skipRange of cog.v1.2.0: <1.2.0",
        "channel alpha, deprecated: use stable",
        "channel stable (default)",
    ):
        assert words in found


def test_rows_go_from_the_newest_entry_to_entries_that_are_only_named() -> None:
    _, root = drawn(*VALUES)
    labels = ["".join(one.itertext()) for one in root.iter(f"{SVG}text") if one.get("x") == "76"]
    assert [label.split("cog.")[-1][:6] for label in labels] == [
        "v1.2.0",
        "v1.1.0",
        "v1.0.0",
        "v0.9.0",
    ]
    assert labels[-1].endswith("(not in the catalog)")
    assert "deprecated: broken" in labels[1]


def test_the_same_catalog_results_in_the_same_bytes() -> None:
    assert drawn(*VALUES)[0] == drawn(VALUES[0], *reversed(VALUES[1:]))[0]


def test_a_line_that_passes_other_entries_is_an_arc() -> None:
    text, _ = drawn(*VALUES)
    straight = [line for line in text.split("\n") if "1.1.0 replaces" in line]
    bent = [line for line in text.split("\n") if "1.2.0 replaces cog.v1.0.0" in line]
    assert "V" in straight[0].split('d="')[1]
    assert "C" in bent[0].split('d="')[1]


def test_markup_and_control_characters_of_a_catalog_are_text() -> None:
    hostile = "</text><script>alert(1)</script>\x1b&\u202e"
    text, root = drawn(
        package(hostile, hostile),
        channel(hostile, {"name": hostile, "replaces": hostile + "x", "skipRange": hostile})
        | {"package": hostile},
        bundle("1.0.0", hostile) | {"package": hostile},
    )
    assert not list(root.iter(f"{SVG}script"))
    assert "<script" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_cycles_and_entries_that_replace_themselves_are_drawn() -> None:
    _, root = drawn(
        package(),
        channel(
            "stable",
            {"name": "cog.v1.0.0", "replaces": "cog.v1.1.0"},
            {"name": "cog.v1.1.0", "replaces": "cog.v1.0.0"},
            {"name": "cog.v1.2.0", "replaces": "cog.v1.2.0"},
        ),
        *(bundle(version) for version in ("1.0.0", "1.1.0", "1.2.0")),
    )
    assert "cog.v1.2.0 replaces cog.v1.2.0" in titles(root)


def test_packages_without_channels_and_empty_catalogs_are_drawn() -> None:
    assert "no channel has a bundle" in drawn(package())[0]
    ElementTree.fromstring(picture.svg([]))  # noqa: S314 - our own text


def _chain(*versions: str, **last: Any) -> tuple[dict[str, Any], ...]:
    entries: list[dict[str, Any]] = [{"name": f"cog.v{one}"} for one in versions]
    for entry, before in zip(entries[1:], versions, strict=False):
        entry["replaces"] = f"cog.v{before}"
    entries[-1].update(last)
    return package(), channel("stable", *entries), *(bundle(one) for one in versions)


def test_many_skips_are_one_bracket_and_named_bundles_are_one_row() -> None:
    skips = [f"cog.v0.9.{number}" for number in range(6)]
    text, root = drawn(*_chain("1.0.0", "1.1.0", skips=skips))
    found = [one for one in titles(root) if "skips" in one]
    assert found == [f"cog.v1.1.0 skips 6 versions: {', '.join(skips)}"]
    assert "6 versions that are not in the catalog" in text


def test_an_inline_picture_folds_the_older_patch_versions() -> None:
    versions = [f"1.{minor}.{patch}" for minor in range(20) for patch in range(5)]
    catalog = model.build(outline.outline_blobs(Blob.of(value) for value in _chain(*versions)))
    found = catalog.packages["cog"]
    text = picture.inline(found)
    assert picture.is_folded(found)
    assert "4 older: 1.19.3 to 1.19.0" in text
    assert ">1.19.4<" in text
    assert text.count("<circle") < 2 * 2 * 20 + 4
    whole = picture.svg([found])
    assert "older" not in whole
    assert all(f">{version}<" in whole for version in versions)


def test_a_head_is_not_folded() -> None:
    versions = [f"1.0.{patch}" for patch in range(70)]
    other = channel("slow", {"name": "cog.v1.0.30"})
    values = (*_chain(*versions), other)
    catalog = model.build(outline.outline_blobs(Blob.of(value) for value in values))
    text = picture.inline(catalog.packages["cog"])
    assert "cog.v1.0.30 in channel slow, its head" in text
    assert "38 older: 1.0.68 to 1.0.31" in text
    assert "30 older: 1.0.29 to 1.0.0" in text


def test_an_empty_skipped_name_is_not_drawn() -> None:
    text, _ = drawn(package(), channel("stable", {"name": "cog.v1.0.0", "skips": [""]}))
    assert "cog.v1.0.0 skips" not in text


def test_stranded_entries_are_marked() -> None:
    values = (
        package(),
        channel(
            "stable",
            {"name": "cog.v1.0.0"},
            {"name": "cog.v1.1.0", "replaces": "cog.v1.0.0"},
            {"name": "cog.v1.2.0", "replaces": "cog.v1.0.0", "skips": ["cog.v1.1.0"]},
            {"name": "cog.v1.3.0", "skips": ["cog.v1.2.0"], "replaces": "cog.v1.2.0"},
        ),
        *(bundle(version) for version in ("1.0.0", "1.1.0", "1.2.0", "1.3.0")),
    )
    text, _ = drawn(*values)
    # 1.2.0 is skipped, so OLM v0 never selects it; 1.0.0 and 1.1.0 have no other upgrade.
    assert text.count("stranded in stable") == 2
    assert "stranded" not in drawn(*VALUES)[0]
