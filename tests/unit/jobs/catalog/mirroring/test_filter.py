"""The selection of packages on the command line."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.versions import Version
from olmkit.jobs.catalog.mirroring import filter as job


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("1.0.0-1.9.9", ["1.0.0", "1.9.9"], ["0.9.0", "2.0.0"]),
        ("1.2-", ["1.2.0", "9.0.0"], ["1.1.9"]),
        ("-2", ["0.1.0", "2.0.0"], ["3.0.0"]),
        ("~1.2", ["1.2.7"], ["1.3.0"]),
        (">=1.0.0, <2.0.0", ["1.5.0"], ["2.0.0"]),
    ],
)
def test_a_range_has_two_ends_or_is_any_that_olm_accepts(
    text: str, inside: list[str], outside: list[str]
) -> None:
    (wanted,) = job.parse([f"cog@{text}"])

    assert wanted.range is not None
    assert [one for one in inside if Version.parse(one) not in wanted.range] == []
    assert [one for one in outside if Version.parse(one) in wanted.range] == []


def test_channels_of_one_package_are_combined() -> None:
    a, b = job.parse(["a:stable@1.0.0-", "b", "a:fast"], is_full=True)

    assert list(a.channels) == ["stable", "fast"]
    assert a.channels["fast"] is None
    assert (b.package, b.is_full) == ("b", True)


@pytest.mark.parametrize("text", ["", ":s", "@1.0.0", "a@latest"])
def test_arguments_that_name_nothing_are_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        job.parse([text])
