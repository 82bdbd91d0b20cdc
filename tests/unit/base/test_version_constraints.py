"""The range language of OLM v1."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.base.version_constraints import MAX_LENGTH, VersionConstraint
from olmkit.base.versions import InvalidRangeError, Version


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("^1.2.3", "1.2.3 1.9.0", "1.2.2 2.0.0 1.3.0-rc.1"),
        ("~1.2.3", "1.2.3 1.2.9", "1.3.0"),
        ("1.2", "1.2.0 1.2.9", "1.3.0"),
        ("1.2 - 2.0", "1.2.0 2.0.0", "2.1.0 1.1.9"),
        (">=1.2, <2 || 3.x", "1.2.0 3.4.5", "2.0.0 4.0.0"),
        (">=1.2.3-rc.1", "1.2.3-rc.1 1.2.4-a", "1.2.3-alpha"),
        ("=1.2", "1.2.0 1.2.9", "1.3.0 2.2.0 1.2.0-rc"),
        ("!=1.2", "1.3.0 1.1.9 2.2.0", "1.2.0 1.2.9"),
        ("!=1-rc", "2.0.0-a", "1.5.0-a 1.5.0"),
        ("!=1.2-rc", "1.2.0-a 1.3.0-rc", "1.2.9-rc"),
        ("=1", "1.5.0", "2.0.0 1.5.0-rc"),
        ("=1-rc || =1.2-rc", "1.5.0-a 1.2.0-rc", "2.0.0-rc"),
        ("=1.2-rc", "1.2.0-rc 1.2.9-rc", "1.2.0-a 1.3.0-rc"),
        ("^0.0.3", "0.0.3", "0.0.4 0.1.0"),
        ("^0.2.3", "0.2.3 0.2.9", "0.2.2 0.3.0"),
        ("^0.2", "0.2.0 0.2.9", "0.3.0"),
        ("18446744073709551615", "18446744073709551615.0.0", "1.0.0"),
        ("", "0.0.0 9.9.9", "1.0.0-rc"),
    ],
)
def test_a_constraint_includes_the_expected_versions(text: str, inside: str, outside: str) -> None:
    if text == "":
        with pytest.raises(InvalidRangeError):
            VersionConstraint.parse(text)
        text = "*"
    wanted = VersionConstraint.parse(text)

    assert [v for v in inside.split() if Version.parse(v) not in wanted] == []
    assert [v for v in outside.split() if Version.parse(v) in wanted] == []


@pytest.mark.parametrize(
    "text", ["latest", "1.2.3.4", ">=", "1.2.3-01", "9" * 30, "18446744073709551616"]
)
def test_an_invalid_constraint_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidRangeError) as refused:
        VersionConstraint.parse(text)

    assert "^1.2" in refused.value.hint


def test_hostile_text_is_refused_immediately() -> None:
    with pytest.raises(InvalidRangeError):
        VersionConstraint.parse("1" * (MAX_LENGTH + 1))
    with pytest.raises(InvalidRangeError):
        VersionConstraint.parse(("1 " + " " * 60) * 16 + "!")


@pytest.mark.property
@given(st.text(alphabet="0123 .x<>=!|-+^~v*,", max_size=20))
def test_any_text_is_a_constraint_or_is_refused_with_a_reason(text: str) -> None:
    reason = None
    try:
        wanted = VersionConstraint.parse(text)
        assert str(wanted) == text
    except InvalidRangeError as refused:
        reason = refused.reason
    assert reason != ""
