"""A new catalog with the name of a deleted one."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from olmkit.jobs.cluster.wait import Timeouts
from olmkit.jobs.cluster_v0 import earlier_catalog

Manifest = dict[str, Any]
SOURCE: Manifest = {"kind": "CatalogSource", "metadata": {"name": "shelf", "namespace": "apps"}}
NAMESPACE: Manifest = {"kind": "Namespace", "metadata": {"name": "apps"}}
QUICK = Timeouts(seconds=0.3, interval=0.01, believed=0.1)


class Reader:
    """Has pods for the first reads, and a CatalogSource with a connection state."""

    def __init__(self, *, pods: int = 0, connection: str | None = None) -> None:
        self.pods = pods
        self.connection = connection
        self.reads = 0

    async def find(self, *_: object) -> Manifest | None:
        self.reads += 1
        if self.connection is None:
            return None
        return SOURCE | {"status": {"connectionState": {"lastObservedState": self.connection}}}

    async def list(self, *_: object, labels: str) -> tuple[Manifest, ...]:
        assert labels == "olm.catalogSource=shelf"
        self.reads += 1
        self.pods -= 1
        return ({"kind": "Pod"},) if self.pods >= 0 else ()


@pytest.mark.parametrize(
    ("pods", "connection", "reads", "is_reported"),
    [(0, None, 2, False), (3, None, 5, True), (3, "READY", 1, False)],
)
def test_the_pods_of_a_deleted_catalog_end_first(
    pods: int, connection: str | None, reads: int, is_reported: bool
) -> None:
    """An existing catalog keeps its pods."""
    reader, reported = Reader(pods=pods, connection=connection), list[str]()

    asyncio.run(earlier_catalog.wait_for_pods(cast("Any", reader), SOURCE, reported.append, QUICK))

    assert reader.reads == reads
    words = ["waiting for the pods of an earlier catalog `shelf` to end"]
    assert reported == words[: int(is_reported)]


def test_pods_that_do_not_end_are_not_waited_for_after_the_time_limit() -> None:
    reader = Reader(pods=100_000)

    asyncio.run(earlier_catalog.wait_for_pods(cast("Any", reader), SOURCE, [].append, QUICK))

    assert reader.pods > 0


@pytest.mark.parametrize(
    ("created", "connection", "least", "most"),
    [
        ([SOURCE], "READY", 1, 1),
        ([SOURCE], "CONNECTING", 2, 1000),
        ([NAMESPACE, SOURCE], "CONNECTING", 0, 0),
        ([], "CONNECTING", 0, 0),
    ],
)
def test_olm_is_connected_to_a_new_catalog_of_an_existing_namespace(
    created: list[Manifest], connection: str, least: int, most: int
) -> None:
    reader = Reader(connection=connection)

    asyncio.run(earlier_catalog.wait_until_connected(cast("Any", reader), created, QUICK))

    assert least <= reader.reads <= most
