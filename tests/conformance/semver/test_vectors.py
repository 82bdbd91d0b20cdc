"""Versions and both range languages, compared with the libraries of OLM.

`vectors.jsonl` has the results of blang/semver v4.0.0 (`version`, `tolerant`,
`range`: the catalogs and OLM v0) and Masterminds/semver v3.4.0 (`constraint`:
OLM v1) for texts of this project: first fixed ones, then random ones.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.version_constraints import VersionConstraint
from olmkit.base.versions import InvalidRangeError, InvalidVersionError, Version, VersionRange

VECTORS = [
    json.loads(line)
    for line in Path(__file__).with_name("vectors.jsonl").read_text("utf-8").splitlines()
]

# Texts with another result in olmkit, with the reason; each must still differ.
DIFFERENCES = {
    "1.0.0 || || 2.0.0": "the reference crashes on an empty group; ours holds nothing in it",
}


def _of(kind: str) -> list[dict[str, Any]]:
    return [vector for vector in VECTORS if vector["kind"] == kind]


@pytest.mark.parametrize("vector", _of("version"), ids=lambda vector: vector["text"])
def test_a_version_is_read_and_ordered_as_in_the_reference(vector: dict[str, Any]) -> None:
    if "error" in vector:
        with pytest.raises(InvalidVersionError) as refused:
            Version.parse(vector["text"])
        assert refused.value.reason == vector["error"]
        return
    version = Version.parse(vector["text"])
    assert [text for text in vector["below"] if not version < Version.parse(text)] == []
    assert [text for text in vector["not_below"] if version < Version.parse(text)] == []
    assert str(version) == vector["text"]


@pytest.mark.parametrize("vector", _of("tolerant"), ids=lambda vector: vector["text"])
def test_a_loose_version_is_completed_as_in_the_reference(vector: dict[str, Any]) -> None:
    if "error" in vector:
        with pytest.raises(InvalidVersionError) as refused:
            Version.parse_tolerantly(vector["text"])
        assert refused.value.reason == vector["error"]
        return
    assert str(Version.parse_tolerantly(vector["text"])) == vector["result"]


@pytest.mark.parametrize("vector", _of("range"), ids=lambda vector: vector["text"])
def test_a_range_includes_the_versions_of_the_reference(vector: dict[str, Any]) -> None:
    if "error" in vector:
        with pytest.raises(InvalidRangeError) as refused:
            VersionRange.parse(vector["text"])
        assert refused.value.reason == vector["error"]
        return
    wanted = VersionRange.parse(vector["text"])
    inside = [text for text in vector["inside"] if Version.parse(text) not in wanted]
    outside = [text for text in vector["outside"] if Version.parse(text) in wanted]
    assert bool(inside or outside) == (vector["text"] in DIFFERENCES)


@pytest.mark.parametrize("vector", _of("constraint"), ids=lambda vector: vector["text"])
def test_a_constraint_includes_the_versions_of_the_reference(vector: dict[str, Any]) -> None:
    if "error" in vector:
        with pytest.raises(InvalidRangeError) as refused:
            VersionConstraint.parse(vector["text"])
        assert refused.value.reason == vector["error"]
        return
    wanted = VersionConstraint.parse(vector["text"])
    assert [text for text in vector["inside"] if Version.parse(text) not in wanted] == []
    assert [text for text in vector["outside"] if Version.parse(text) in wanted] == []
