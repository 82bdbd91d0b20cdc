"""An upgrade through OLM v0: the change of the catalog."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, cast

import pytest

from olmkit.jobs.cluster.wait import Timeouts
from olmkit.jobs.cluster_v0 import upgrade, upgrade_plan
from olmkit.olm import install_objects
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain.explanation import Explanation, Readiness
from olmkit.olm.install_objects import SubscribedCatalog

Manifest = dict[str, Any]
IMAGE = "r.example/shelf:latest"


class Reader:
    """Records the writes; a deleted pod is replaced at once."""

    def __init__(self, source: Manifest) -> None:
        self.source = source
        self.merged: list[Manifest] = []
        self.deleted: list[str] = []

    async def merge(self, _: Manifest, patch: Manifest) -> None:
        self.merged.append(patch)
        self.source["spec"] |= patch["spec"]

    async def delete(self, pod: Manifest) -> None:
        self.deleted.append(pod["metadata"]["name"])

    async def find(self, *_: object) -> Manifest:
        return self.source

    async def list(self, *_: object, **__: object) -> list[Manifest]:
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        container = {"image": self.source["spec"]["image"]}
        pod = {"metadata": {"name": "new"}, "spec": {"containers": [container]}, "status": ready}
        return [pod]


def change(reference: str, pinned: str) -> tuple[Reader, list[str]]:
    shelf = SubscribedCatalog(name="shelf", namespace="apps", image=IMAGE)
    source = install_objects.catalog_source(shelf, "cache")
    source["status"] = {"connectionState": {"lastObservedState": "READY"}}
    subscription = {
        "metadata": {"name": "cache", "namespace": "apps"},
        "spec": {"name": "cache", "source": "shelf", "sourceNamespace": "apps"},
    }
    pod = {
        "metadata": {
            "name": "old",
            "namespace": "apps",
            "labels": {"olm.catalogSource": "shelf"},
        },
        "status": {"containerStatuses": [{"imageID": "r.example/shelf@sha256:aa"}]},
    }
    seen = ClusterState(
        namespace="apps", subscriptions=(subscription,), catalogs=(source,), pods=(pod,)
    )
    reader, reported = Reader(source), list[str]()
    asyncio.run(
        upgrade._change_catalog(  # noqa: SLF001 - the decision itself
            cast("Any", reader),
            subscription,
            seen,
            reference,
            pinned=pinned,
            report=reported.append,
            timeouts=Timeouts(seconds=5.0),
        )
    )
    return reader, reported


def test_another_image_is_written_into_the_catalog() -> None:
    reader, reported = change("r.example/shelf:v2", "r.example/shelf@sha256:bb")

    assert reader.merged == [{"spec": {"image": "r.example/shelf:v2"}}]
    assert reader.deleted == []
    assert reported == [f"catalog `shelf`: {IMAGE} → r.example/shelf:v2"]


def test_a_pod_with_older_contents_of_the_same_tag_is_replaced() -> None:
    """OLM does not detect that a tag has new contents, unless it polls."""
    reader, reported = change(IMAGE, "r.example/shelf@sha256:bb")

    assert (reader.merged, reader.deleted) == ([], ["old"])
    assert reported == [f"catalog `shelf`: replacing its pod, which runs an older `{IMAGE}`"]


@pytest.mark.parametrize("pinned", ["r.example/shelf@sha256:aa", ""])
def test_the_same_image_changes_nothing(pinned: str) -> None:
    reader, reported = change(IMAGE, pinned)

    assert (reader.merged, reader.deleted, reported) == ([], [], [])


@pytest.mark.parametrize(
    ("readiness", "hops", "details"),
    [
        (Readiness.WAITING, (), ("its log", "it does not run")),
        (Readiness.WAITING, ("cache.v2",), ("its log",)),
        (Readiness.READY, (), ("its log",)),
    ],
)
def test_an_upgrade_that_has_not_begun_names_what_ails_the_installed_version(
    readiness: Readiness, hops: tuple[str, ...], details: tuple[str, ...]
) -> None:
    plan = upgrade_plan.plan_of(ClusterState(namespace="apps"), "cache", "cache.v1", (), None)
    plan = replace(plan, ailing=("it does not run",))
    found = Explanation(readiness=readiness, cause="c", message="m", details=("its log",))

    done = upgrade._ended(plan, hops, found)  # noqa: SLF001 - the decision itself

    assert done.explanation.details == details
