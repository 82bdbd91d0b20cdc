"""Versions: a total order, and ranges that agree with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import semver
from hypothesis import given
from hypothesis import strategies as st

from olmkit.base.versions import (
    BuildRelease,
    InvalidRangeError,
    InvalidVersionError,
    Version,
    VersionRange,
    VersionRelease,
)

NUMBERS = st.integers(0, 4)
IDENTIFIERS = st.one_of(NUMBERS, st.sampled_from(["alpha", "rc", "x", "a-1", "-"]))
VERSIONS = st.builds(
    Version,
    NUMBERS,
    NUMBERS,
    NUMBERS,
    prerelease=st.lists(IDENTIFIERS, max_size=3).map(tuple),
    build=st.lists(st.sampled_from(["b", "01"]), max_size=2).map(tuple),
)


def _reason(read: Callable[[str], object], text: str) -> str | None:
    """Return why `text` is refused, or None."""
    try:
        read(text)
    except (InvalidVersionError, InvalidRangeError) as refused:
        return refused.reason
    return None


@pytest.mark.property
@given(VERSIONS)
def test_a_version_has_the_numbers_of_its_text(version: Version) -> None:
    again = Version.parse(str(version))

    assert (again, again.build) == (version, version.build)
    assert hash(again) == hash(version)


@pytest.mark.property
@given(VERSIONS, VERSIONS, VERSIONS)
def test_the_order_is_total(one: Version, two: Version, three: Version) -> None:
    assert (one < two) + (one == two) + (one > two) == 1
    assert (one <= two) == (not one > two)
    assert (one >= two) == (not one < two)
    if one <= two <= three:
        assert one <= three


@pytest.mark.property
@given(VERSIONS, VERSIONS)
def test_the_order_is_that_of_semantic_versioning(one: Version, two: Version) -> None:
    compared = semver.Version.parse(str(one)).compare(str(two))

    assert compared == (one > two) - (one < two)


def test_build_metadata_is_kept_and_ignored() -> None:
    one, two = Version.parse("1.0.0+1"), Version.parse("1.0.0+2")

    assert one == two
    assert str(one) == "1.0.0+1"
    assert str(one.without_build) == "1.0.0"
    assert one != "1.0.0"


@pytest.mark.parametrize(
    "text", ["1.0.0\n", "1.٣.0", "1" * 5000 + ".0.0", "1.0.0-" + "9" * 5000, "1.0.0\0"]
)
def test_invalid_text_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(InvalidVersionError) as refused:
        Version.parse(text)

    assert refused.value.reason
    assert refused.value.hint


@pytest.mark.parametrize(
    ("read", "text", "reason"),
    [
        (Version.parse, "", "Version string empty"),
        (Version.parse, "1.2.3-18446744073709551616", "value out of range"),
        (Version.parse, "18446744073709551616.0.0", "value out of range"),
        (
            Version.parse_tolerantly,
            "1.2-rc",
            "Short version cannot contain PreRelease/Build meta data",
        ),
        (Version.parse_tolerantly, "1-rc", "Short version cannot contain PreRelease/Build meta"),
    ],
)
def test_the_reason_is_that_of_the_reference(
    read: Callable[[str], Version], text: str, reason: str
) -> None:
    with pytest.raises(InvalidVersionError) as refused:
        read(text)
    assert reason in refused.value.reason


def test_the_largest_number_is_a_version() -> None:
    assert str(Version.parse("1.2.3-18446744073709551615")) == "1.2.3-18446744073709551615"


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("<=1.2.x", "0.9.0 1.2.9", "1.3.0 2.0.0"),
        ("<1.2.x", "0.9.0 1.1.9", "1.2.0"),
        (">1.2.x", "1.3.0 2.0.0", "1.2.0 1.2.9"),
        (">1.x", "2.0.0", "1.0.0 1.9.9"),
        (">=1.x", "1.0.0 2.0.0", "0.9.9"),
        ("1.x", "1.0.0 1.9.9", "0.9.9 2.0.0"),
    ],
)
def test_a_wildcard_can_follow_an_operator(text: str, inside: str, outside: str) -> None:
    wanted = VersionRange.parse(text)
    assert [one for one in inside.split() if Version.parse(one) not in wanted] == []
    assert [one for one in outside.split() if Version.parse(one) in wanted] == []


@pytest.mark.parametrize("text", [">=1.0.0 2", "2 >=1.0.0"])
def test_a_term_of_one_character_is_read_differently_from_the_reference(text: str) -> None:
    assert Version.parse("3.0.0") in VersionRange.parse(text)


@pytest.mark.property
@given(st.text(max_size=20))
def test_any_text_is_a_version_or_is_refused_with_a_reason(text: str) -> None:
    for read in (Version.parse, Version.parse_tolerantly):
        assert _reason(read, text) != ""


SIGNS = {
    "": lambda a, b: a == b,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
PLAIN = VERSIONS.filter(lambda version: "x" not in str(version))
TERMS = st.tuples(st.sampled_from(sorted(SIGNS)), PLAIN)


@pytest.mark.property
@given(st.lists(st.lists(TERMS, min_size=1, max_size=3), min_size=1, max_size=3), VERSIONS)
def test_a_range_matches_any_of_its_groups_and_all_of_their_terms(
    groups: list[list[tuple[str, Version]]], version: Version
) -> None:
    text = " || ".join(" ".join(f"{sign}{low}" for sign, low in group) for group in groups)

    wanted = VersionRange.parse(text)

    assert str(wanted) == text
    assert (version in wanted) == any(
        all(SIGNS[sign](version, low) for sign, low in group) for group in groups
    )


@pytest.mark.property
@given(NUMBERS, NUMBERS, VERSIONS)
def test_a_wildcard_includes_all_versions_with_its_numbers_except_prereleases_of_the_first(
    major: int, minor: int, version: Version
) -> None:
    wanted = VersionRange.parse(f"{major}.{minor}.x")

    inside = Version(major, minor, 0) <= version < Version(major, minor + 1, 0)
    assert (version in wanted) == inside


@pytest.mark.property
@given(st.text(alphabet="0123 .x<>=!|-+^~v*", max_size=20))
def test_any_text_is_a_range_or_is_refused_with_a_reason(text: str) -> None:
    assert _reason(VersionRange.parse, text) != ""


def test_an_empty_group_matches_nothing() -> None:
    wanted = VersionRange.parse("1.0.0 || || 2.0.0")

    assert Version.parse("2.0.0") in wanted
    assert Version.parse("3.0.0") not in wanted


def test_a_wildcard_near_the_largest_number_is_refused() -> None:
    with pytest.raises(InvalidRangeError):
        VersionRange.parse("9999999999999999999.x")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1..2", 'invalid release "1..2": segment 1: Prerelease is empty'),
        (
            "1.2.ö",
            'invalid release "1.2.ö": segment 2: Invalid character(s) found in prerelease "ö"',
        ),
        ("a" * 21, f'invalid release "{"a" * 21}": exceeds maximum length of 20 characters'),
        ("a_b", 'invalid release "a_b": segment 0: Invalid character(s) found in prerelease "a_b"'),
    ],
)  # fmt: skip
def test_an_invalid_release_is_refused_with_the_message_of_the_reference(
    text: str, reason: str
) -> None:
    with pytest.raises(InvalidVersionError) as refused:
        BuildRelease.parse(text)

    assert refused.value.reason == reason


def test_bundles_are_ordered_by_version_then_release() -> None:
    def made(version: str, release: str = "") -> VersionRelease:
        return VersionRelease(
            Version.parse(version), BuildRelease.parse(release) if release else None
        )

    ordered = [
        made("1.0.0-rc"), made("1.0.0"), made("1.0.0", "1"), made("1.0.0", "2"),
        made("1.0.0", "10"), made("1.0.0", "10.1"), made("1.0.0", "a"), made("1.0.1"),
    ]  # fmt: skip

    assert sorted(ordered[::-1]) == ordered  # noqa: C415 - that order does not matter is the point
    assert [str(item) for item in ordered[1:3]] == ["1.0.0", "1.0.0-1"]


def test_the_build_metadata_of_an_old_rebuild_is_its_release() -> None:
    rebuilt = VersionRelease.of_rebuild(Version.parse("1.0.0+0.1.p"))

    assert str(rebuilt) == "1.0.0-0.1.p"
    assert VersionRelease.of_rebuild(Version(1, 0, 0)) == VersionRelease(Version(1, 0, 0))
