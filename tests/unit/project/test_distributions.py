"""The versions of the runtime and of the tools that a project accepts."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import olmkit
from olmkit.project import distributions


@pytest.mark.parametrize(
    ("version", "lower", "same", "broken"),
    [
        ("0.1.0", "0.0.9", "0.1.7", "0.2.0"),
        ("0.12.3", "0.11.9", "0.12.0", "0.13.0"),
        ("1.2.3", "1.1.9", "1.9.0", "2.0.0"),
        ("2.0.0", "1.9.9", "2.0.1", "3.0.0"),
        ("0.2.0rc1", "0.2.0b1", "0.2.0", "0.3.0"),
    ],
)
def test_a_range_includes_compatible_versions(
    version: str, lower: str, same: str, broken: str
) -> None:
    found = SpecifierSet(distributions.compatible(version))
    assert found.contains(version, prereleases=True)
    assert found.contains(same)
    assert not found.contains(lower, prereleases=True)
    assert not found.contains(broken)


def test_the_requirement_accepts_this_version() -> None:
    runtime = Requirement(distributions.runtime("certificates"))
    assert (runtime.name, runtime.extras) == ("olmkit-runtime", {"certificates"})
    assert olmkit.__version__ in runtime.specifier


def test_an_invalid_version_is_refused() -> None:
    with pytest.raises(ValueError, match="not a version"):
        distributions.compatible("main")
