"""What to keep, in the formats of oc-mirror and catalog-filter."""

from __future__ import annotations

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.base.versions import Version
from olmkit.catalog.changes import filter_configuration
from olmkit.catalog.changes.filtering import PackageSelection

FILTER = """\
kind: FilterConfiguration
packages:
- name: a
  defaultChannel: fast
  versionRange: ">=1.0.0 <2.0.0"
- name: b
  channels: [{name: stable, versionRange: ~1.2}, {name: fast}]
- name: c
  bundles: [{name: c.v1}]
"""
IMAGE_SET = """\
kind: ImageSetConfiguration
mirror:
  operators:
  - catalog: one
    packages:
    - name: a
      minVersion: 1.0.0
      channels: [{name: stable}]
  - catalog: two
    full: true
    packages: [{name: b}]
"""


def read(text: str, reference: str = "one") -> tuple[PackageSelection, ...]:
    return filter_configuration.read(documents.load(text.encode(), "file.yaml"), reference)


def test_a_filter_configuration_has_ranges_channels_and_bundles() -> None:
    a, b, c = read(FILTER)

    assert a.default_channel == "fast"
    assert a.range is not None
    assert Version.parse("1.5.0") in a.range
    assert list(b.channels) == ["stable", "fast"]
    assert b.channels["fast"] is None
    assert c.bundles == ("c.v1",)


def test_an_image_set_has_catalogs_with_minimum_and_maximum_versions() -> None:
    (a,) = read(IMAGE_SET)
    assert a.range is not None
    assert Version.parse("9.0.0") in a.range
    assert Version.parse("0.9.0") not in a.range
    assert a.channels == {"stable": None}

    assert read(IMAGE_SET, "two") == (PackageSelection(package="b", is_full=True),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kind: Pod", "expected ImageSetConfiguration or FilterConfiguration"),
        ("[]", "expected"),
        ("kind: FilterConfiguration", "no packages"),
        (IMAGE_SET.replace("one", "three"), "does not name the catalog `one`"),
        ("kind: FilterConfiguration\npackages: [{}]", "has no name"),
        ("kind: FilterConfiguration\npackages: [{name: a}, {name: a}]", "`a` is listed more than"),
        (
            "kind: FilterConfiguration\npackages: [{name: a, channels: [{name: s}, {name: s}]}]",
            "channel `s` is listed more than once",
        ),
        ("kind: FilterConfiguration\napiVersion: v2\npackages: [{name: a}]", "version `v2`"),
        (IMAGE_SET.replace("minVersion: 1.0.0", "minVersion: next"), "`next` is not a semantic"),
        (
            IMAGE_SET.replace("minVersion: 1.0.0", "minVersion: 1.0"),
            "`.*minVersion` must be a string",
        ),
        (IMAGE_SET.replace("minVersion", "minBundle"), "`minBundle` is not supported"),
        ("kind: FilterConfiguration\npackages: [{name: a, versionRange: x.y}]", "package `a`"),
        (
            (
                "kind: FilterConfiguration\npackages:\n- name: a\n  versionRange: 1.x\n"
                "  channels: [{name: s, versionRange: 1.x}]"
            ),
            "and so has one of its channels",
        ),
        (
            IMAGE_SET.replace("[{name: b}]", "[{name: b, minVersion: 1.0.0}]"),
            "the catalog is `full`",
        ),
    ],
)
def test_an_invalid_configuration_is_refused(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(text, "two" if "is `full`" in words else "one")


def test_the_case_of_keys_is_ignored_as_in_oc_mirror() -> None:
    (a,) = read(IMAGE_SET.replace("minVersion", "minversion").replace("channels", "Channels"))

    assert a.range is not None
    assert Version.parse("0.9.0") not in a.range
    assert a.channels == {"stable": None}


def test_an_image_set_without_packages_selects_the_whole_catalog() -> None:
    text = "kind: ImageSetConfiguration\nmirror: {operators: [{catalog: one}]}"

    assert read(text) == (PackageSelection(package=""),)


@pytest.mark.parametrize("text", [FILTER, IMAGE_SET], ids=["filter", "image-set"])
def test_all_unknown_keys_are_refused_with_their_places(text: str) -> None:
    text = (
        text.replace("- name: a", "- name: a\n  minversions: 1.0.0")
        if text is FILTER
        else (text.replace("minVersion: 1.0.0", "minversions: 1.0.0"))
    )
    text = text.replace("[{name: stable", "[{label: x, name: stable")

    with pytest.raises(InputError) as caught:
        read(text)

    found = caught.value.diagnostics
    assert [one.rule for one in found] == ["CFG001", "CFG001"]
    assert "unknown key `" in found[0].message
    assert found[0].message.endswith("packages[0].minversions`")
    assert found[0].at is not None
    assert found[0].at.line is not None
    if text.startswith("kind: Image"):
        assert found[0].hint == "did you mean `minVersion`?"


def test_a_key_in_two_spellings_and_a_repeated_key_are_refused() -> None:
    for text in (
        IMAGE_SET.replace("minVersion: 1.0.0", "minVersion: 1.0.0\n      minversion: 2.0.0"),
        IMAGE_SET.replace("minVersion: 1.0.0", "minVersion: 1.0.0\n      minVersion: 2.0.0"),
    ):
        with pytest.raises(InputError, match="repeated") as caught:
            read(text)
        assert caught.value.diagnostics[0].rule == "CFG003"
