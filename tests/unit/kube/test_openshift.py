"""Versions of OpenShift and their versions of Kubernetes."""

from __future__ import annotations

import pytest

from olmkit.kube import openshift


@pytest.mark.parametrize(
    ("minor", "kubernetes"), [(1, 13), (2, 14), (3, 16), (9, 22), (14, 27), (17, 30), (22, 35)]
)
def test_openshift_has_a_version_of_kubernetes(minor: int, kubernetes: int) -> None:
    assert openshift.kubernetes(minor) == kubernetes


@pytest.mark.parametrize(
    ("text", "minors"),
    [
        ("v4.20", (20, 21, 22)),
        ("4.21", (21, 22)),
        ("=v4.8", (8,)),
        ("v4.6-v4.8", (6, 7, 8)),
        ("v4.21,v4.20", (20, 21, 22)),
        ("v4.24", (24,)),
        ("", None),
        ("all", None),
        ("v4", None),
        ("v5.1", None),
        ("v4.6-", None),
        ("v4.9-v4.8", None),
        ("v4.6,x", None),
    ],
)
def test_a_string_contains_versions(text: str, minors: tuple[int, ...] | None) -> None:
    assert openshift.parse(text) == minors
