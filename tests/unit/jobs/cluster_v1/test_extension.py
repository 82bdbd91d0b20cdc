"""OLM v1's ClusterExtensions, against a small API server and a controller of a few lines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import cluster_catalog
from olmkit.jobs.cluster import status
from olmkit.jobs.cluster.wait import Timeouts
from olmkit.jobs.cluster_v1 import extension
from olmkit.jobs.cluster_v1.extension import ExtensionOptions
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK
from olmkit.olm.explain.explanation import Standing
from olmkit.testing.apiserver.server import ApiServer

GROUP = "olm.operatorframework.io"
QUICK = Timeouts(seconds=5, interval=0.02, believed=0.1)


def resource(group: str, kind: str, plural: str) -> Resource:
    gvk = GVK(group=group, version="v1", kind=kind)
    return Resource(gvk=gvk, plural=plural, namespaced=False, subresources=frozenset({"status"}))


KINDS = (
    resource(GROUP, "ClusterExtension", "clusterextensions"),
    resource(GROUP, "ClusterCatalog", "clustercatalogs"),
    resource("", "Namespace", "namespaces"),
    resource("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions"),
)

Story = Callable[[ClusterObjects, ApiServer, dict[str, str]], Awaitable[None]]


def run(story: Story) -> None:
    """`says` is what the controller answers: `reason` and `message`; success without them."""

    async def whole() -> None:
        server = ApiServer.of(KINDS)
        says: dict[str, str] = {}

        async def controller() -> None:
            while True:
                for one in server.all("clusterextensions"):
                    _act(server, one, says)
                await asyncio.sleep(0.01)

        async with asyncio.timeout(30), server.serving():
            working = asyncio.ensure_future(controller())
            try:
                async with HttpCluster(ClusterConfig(server=server.url)) as http:
                    await story(ClusterObjects(http), server, says)
            finally:
                working.cancel()

    asyncio.run(whole())


def _act(server: ApiServer, one: dict[str, Any], says: dict[str, str]) -> None:
    reason = says.get("reason", "Succeeded")
    seen = {"observedGeneration": one["metadata"].get("generation", 1)}
    done = reason == "Succeeded"
    status: dict[str, Any] = {
        "conditions": [
            {"type": "Progressing", "status": "True", "reason": reason,
             "message": says.get("message", ""), **seen},
            {"type": "Installed", "status": str(done), "reason": reason, **seen},
        ]
    }  # fmt: skip
    if done:
        status["install"] = {"bundle": {"name": "cache.v1", "version": "1.0.0"}}
    if one.get("status") != status:
        server.put("clusterextensions", one | {"status": status})


OPTIONS = ExtensionOptions(package="cache", namespace="apps", version="1.x")


async def installed(reader: ClusterObjects, options: ExtensionOptions = OPTIONS) -> Any:
    made = await extension.plan(reader, options, Access())
    return await extension.carry_out(reader, made, report=[].append, timeouts=QUICK, created=[])


def test_an_extension_is_made_waited_for_changed_and_removed() -> None:
    async def story(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        assert (await installed(reader)).is_ready
        assert server.get("namespaces", "apps", "")
        with pytest.raises(InputError, match="already"):
            await installed(reader)

        writes = len(server.writes())
        made = await extension.plan_upgrade(reader, "cache", "2.x", Access())
        assert made.before == "cache.v1"
        assert made.wanted["spec"]["source"]["catalog"]["version"] == "2.x"
        assert len(server.writes()) == writes
        found = await extension.upgrade(reader, made, report=[].append, timeouts=QUICK)
        assert found.is_ready
        there = server.get("clusterextensions", "cache", "")
        assert there is not None
        assert there["spec"]["source"]["catalog"]["version"] == "2.x"

        gone = await extension.removal(reader, "cache")
        done = await extension.remove(reader, gone, report=[].append, timeouts=QUICK)
        assert (done.gone, done.left) == (gone, ())
        assert server.all("clusterextensions") == []

    run(story)


def test_what_comes_to_nothing_is_taken_back_when_that_is_wanted() -> None:
    async def story(reader: ClusterObjects, server: ApiServer, says: dict[str, str]) -> None:
        says["reason"] = "Blocked"
        made = await extension.plan(reader, OPTIONS, Access())
        said: list[str] = []
        created: list[dict[str, Any]] = []
        found = await extension.carry_out(
            reader, made, report=[].append, timeouts=QUICK, created=created, undone=said.append
        )

        assert not found.is_ready
        assert said == ["took back ClusterExtension cache", "took back Namespace apps"]
        assert (created, server.all("clusterextensions")) == ([], [])

    run(story)


def test_status_shows_extensions_where_there_is_no_older_olm() -> None:
    async def story(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        await installed(reader)
        server.put("clustercatalogs", {
            "apiVersion": f"{GROUP}/v1", "kind": "ClusterCatalog", "metadata": {"name": "shelf"},
            "spec": {"source": {"image": {"ref": "i:1"}}},
        })  # fmt: skip

        found = await status.status(reader)

        row = found.operators[0]
        assert (row.olm, row.package, row.installed) == ("v1", "cache", "cache.v1")
        assert row.explanation.is_ready
        assert [(one.name, one.state) for one in found.catalogs] == [("shelf", "not served")]
        assert (await status.status(reader, package="other")).operators == ()

    run(story)


def test_what_needs_somebody_ends_the_waiting() -> None:
    async def story(reader: ClusterObjects, _: ApiServer, says: dict[str, str]) -> None:
        says |= {"reason": "Blocked", "message": 'desired version range "x" is invalid: …'}
        found = await installed(reader)

        assert (found.standing, found.cause) == (Standing.BLOCKED, "bad-range")

    run(story)


def test_older_releases_want_a_service_account() -> None:
    async def story(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        schema = {"properties": {"spec": {"required": ["serviceAccount"]}}}
        server.put("customresourcedefinitions", {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"clusterextensions.{GROUP}"},
            "spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]},
        })  # fmt: skip
        with pytest.raises(InputError, match="service account"):
            await installed(reader)
        options = ExtensionOptions(package="cache", namespace="apps", service_account="installer")
        assert (await installed(reader, options)).is_ready

    run(story)


def test_nothing_there_is_said() -> None:
    async def story(reader: ClusterObjects, _: ApiServer, __: dict[str, str]) -> None:
        assert (await extension.why(reader, "cache")).cause == "not-installed"
        with pytest.raises(InputError, match="no ClusterExtension"):
            await extension.removal(reader, "cache")
        with pytest.raises(InputError, match="no ClusterExtension"):
            await extension.plan_upgrade(reader, "cache", "", Access())
        with pytest.raises(InputError, match="no ClusterCatalog"):
            await cluster_catalog.read(reader, "shelf")

    run(story)
