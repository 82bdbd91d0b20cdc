"""Ranges that a ClusterExtension accepts: the answers of kube-apiserver for the real CRD."""

from __future__ import annotations

import re

import pytest

from olmkit.base.versions import InvalidRangeError
from olmkit.olm.v1 import version_range

ACCEPTED = (
    "1.2.3", "v1.2.3", "1.2.x", "1.2.*", "1.x", "x", "*", ">=1.0.0 <2.0.0", ">=1.0.0, <2.0.0",
    ">= 1.0.0 , < 2.0.0", "^1.2", "~1.2.3", "~>1.2", "=1.2.3", "!=1.2.3", "1.2.3 || 2.0.0",
    "1.2.3||2.0.0", "1.2.3-alpha.1", "1.2.3+build.5", " 1.2.3 ", "=>1.0.0", "1.2.3   ||   2.0.0",
)  # fmt: skip
REFUSED = (
    "1.2 - 2.0", "01.0.0", "1.02.0", ">=1.0.0,, <2.0.0", "1.0.0 | 2.0.0", "latest",
    "1.0.0 && 2.0.0", "1.2.3.4", ">=1.0.0 <", "", " || ".join(["1.0.0"] * 8),
)  # fmt: skip


@pytest.mark.parametrize("text", ACCEPTED)
def test_ranges_that_the_api_server_accepts_are_accepted(text: str) -> None:
    assert version_range.parse(text).text == text


@pytest.mark.parametrize("text", REFUSED)
def test_ranges_that_the_api_server_refuses_are_refused(text: str) -> None:
    with pytest.raises(InvalidRangeError) as refused:
        version_range.parse(text)
    assert "cannot be requested of OLM v1" in refused.value.message
    for example in re.findall(r"`([^`]*)`", refused.value.hint):
        assert version_range.parse(example)


def test_hostile_spaces_are_read_fast() -> None:
    text = ("1   " * 15)[:60] + "   !"
    with pytest.raises(InvalidRangeError):
        version_range.parse(text)
