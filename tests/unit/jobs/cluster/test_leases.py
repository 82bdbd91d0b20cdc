"""The Leases of an operator, by their holder or by the name in its arguments."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster import leases

LONG = "a-controller-manager-with-a-name-that-is-rather-long-indeed"


class Listing:
    """A cluster that has one Lease."""

    def __init__(self, name: str, holder: str) -> None:
        self._lease = {"metadata": {"name": name}, "spec": {"holderIdentity": holder}}

    async def list(self, _: Any, __: str) -> tuple[Any, ...]:
        return (self._lease,)


@pytest.mark.parametrize(
    ("deployment", "name", "holder", "is_own"),
    [
        ("cache", "x", "cache-5d9447f878-lkfsn_1f2e", True),
        ("cache", "x", "cache-two-5d9447f878-lkfsn_1f2e", False),
        ("cache", "x", "other-5d9447f878-lkfsn", False),
        ("cache", "cache-lock", "", True),
        ("cache", "other-lock", "", False),
        ("cache", "cache-lock", "other-5d9447f878-lkfsn", False),
        (LONG, "x", f"{LONG[:58]}lkfsn_1f2e", True),
        (LONG[:50], "x", f"{LONG[:50]}-5d9447flkfsn_1f2e", True),
        (LONG[:50], "x", f"{LONG[:40]}-5d9447f878-lkfsn_1f2e", False),
    ],
)
def test_only_its_own_lease_is_found(deployment: str, name: str, holder: str, is_own: bool) -> None:
    reader = cast("ClusterObjects", Listing(name, holder))
    found = asyncio.run(leases.find_leases(reader, "apps", [deployment], released={"cache-lock"}))
    assert bool(found) == is_own


@pytest.mark.parametrize(
    ("annotation", "is_own"),
    [
        ('{"holderIdentity": "cache-5d9447f878-lkfsn_1f2e"}', True),
        ('{"holderIdentity": "other-5d9447f878-lkfsn_1f2e"}', False),
        ('{"holderIdentity": ""}', False),
        ("[]", False),
        ("{", False),
        (None, False),
    ],
)
def test_a_config_map_can_be_a_lock(annotation: str | None, *, is_own: bool) -> None:
    key = "control-plane.alpha.kubernetes.io/leader"
    annotations = {} if annotation is None else {key: annotation}

    class Locks:
        async def list(self, kind: Any, _: str) -> tuple[Any, ...]:
            named = {"name": "cache-lock", "annotations": annotations}
            return ({"metadata": named},) if kind == ("v1", "ConfigMap") else ()

    reader = cast("ClusterObjects", Locks())
    found = asyncio.run(leases.find_leases(reader, "apps", ["cache"], released={"cache-lock"}))
    assert bool(found) == is_own


def test_the_name_of_the_lease_is_in_the_arguments() -> None:
    specs = [
        {"containers": [{"args": ["--leader-elect", "--leader-election-id=a.example.com"]}]},
        {"containers": [{"command": ["/manager", "--leader-election-id", "b"]}, {}]},
        {},
    ]
    assert leases.election_ids(specs) == {"a.example.com", "b"}
