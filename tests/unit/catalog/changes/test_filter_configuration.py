"""What to keep, as oc-mirror and catalog-filter say it."""

from __future__ import annotations

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.base.versions import Version
from olmkit.catalog.changes import filter_configuration
from olmkit.catalog.changes.filtering import Wanted

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


def read(text: str, reference: str = "one") -> tuple[Wanted, ...]:
    return filter_configuration.read(documents.load(text.encode(), "file.yaml"), reference)


def test_a_filter_configuration_has_ranges_channels_and_bundles() -> None:
    a, b, c = read(FILTER)

    assert a.default_channel == "fast"
    assert a.range is not None
    assert Version.parse("1.5.0") in a.range
    assert list(b.channels) == ["stable", "fast"]
    assert b.channels["fast"] is None
    assert c.bundles == ("c.v1",)


def test_an_image_set_has_catalogs_with_lowest_and_highest_versions() -> None:
    (a,) = read(IMAGE_SET)
    assert a.range is not None
    assert Version.parse("9.0.0") in a.range
    assert Version.parse("0.9.0") not in a.range
    assert a.channels == {"stable": None}

    assert read(IMAGE_SET, "two") == (Wanted(package="b", is_full=True),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kind: Pod", "neither ImageSetConfiguration nor FilterConfiguration"),
        ("[]", "neither"),
        ("kind: FilterConfiguration", "no packages"),
        (IMAGE_SET.replace("one", "three"), "says nothing of `one`"),
        ("kind: FilterConfiguration\npackages: [{}]", "without a name"),
        ("kind: FilterConfiguration\npackages: [{name: a, versionRange: x.y}]", "package `a`"),
        (
            (
                "kind: FilterConfiguration\npackages:\n- name: a\n  versionRange: 1.x\n"
                "  channels: [{name: s, versionRange: 1.x}]"
            ),
            "and so has one of its channels",
        ),
        (IMAGE_SET.replace("[{name: b}]", "[{name: b, minVersion: 1.0.0}]"), "all is wanted"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(text, "two" if "all is" in words else "one")
