"""What a test can configure in the API server double.

tests/conformance/apiserver compares its answers with those of the real one.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import (
    ClusterError,
    EventType,
    Forbidden,
    NoSuchKind,
    NotFound,
    PatchType,
    Propagation,
    Resource,
    Unreachable,
)
from olmkit.kube.objects import GVK, Manifest
from olmkit.testing import clock, loopback
from olmkit.testing.apiserver import admission as api_admission
from olmkit.testing.apiserver.refusals import Refusal
from olmkit.testing.apiserver.server import Access, ApiServer
from olmkit.testing.faults import Fault

MAP = GVK(group="", version="v1", kind="ConfigMap")
MAPS = Resource(gvk=MAP, plural="configmaps")


def _crd(*versions: str) -> Manifest:
    return {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.tests.example.com"},
        "spec": {
            "group": "tests.example.com",
            "names": {"kind": "Thing", "plural": "things"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == versions[0],
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "x-kubernetes-preserve-unknown-fields": True,
                                }
                            },
                        }
                    },
                }
                for version in versions
            ],
        },
    }


def _map(name: str, **fields: Any) -> Manifest:
    metadata = {"name": name, "namespace": "n"} | fields.pop("metadata", {})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata} | fields


def run_scenario(server: ApiServer, work: Callable[[HttpCluster], Awaitable[None]]) -> None:
    async def steps() -> None:
        async with server.serving(), HttpCluster(ClusterConfig(server=server.url)) as cluster:
            await work(cluster)

    clock.run(steps(), patience=0.001)


def test_accesses_are_recorded_in_terms_of_rbac_and_can_be_denied() -> None:
    server = ApiServer.of([MAPS], crds=[_crd("v1")])

    async def work(cluster: HttpCluster) -> None:
        things = await cluster.resource("tests.example.com/v1", "Thing")
        await cluster.list_page(MAPS)
        await cluster.create(MAPS, _map("a"))
        server.denies = lambda access: access.verb == "delete"
        with pytest.raises(Forbidden, match='cannot delete resource "configmaps" in API group ""'):
            await cluster.delete(MAPS, "a", namespace="n")
        with pytest.raises(NotFound):
            await cluster.get(things, "t", namespace="n")

    run_scenario(server, work)
    assert server.accesses == [
        Access(verb="list", group="", resource="configmaps"),
        Access(verb="create", group="", resource="configmaps", namespace="n"),
        Access(verb="delete", group="", resource="configmaps", namespace="n", name="a"),
        Access(verb="get", group="tests.example.com", resource="things", namespace="n", name="t"),
    ]
    assert [method for method, _ in server.writes()] == ["POST", "DELETE"]


def test_a_plan_refuses_delays_and_disconnects() -> None:
    server = ApiServer.of([MAPS])
    plans: list[Any] = [Refusal(418, "Teapot", "short and stout"), Fault.CUT_BEFORE, 7.0, None]

    async def work(cluster: HttpCluster) -> None:
        server.plan = lambda _, __: plans.pop(0)
        with pytest.raises(ClusterError, match="short and stout"):
            await cluster.create(MAPS, _map("a"))
        with pytest.raises(Unreachable):
            await cluster.create(MAPS, _map("a"))
        began = asyncio.get_running_loop().time()
        await cluster.create(MAPS, _map("a"))
        assert asyncio.get_running_loop().time() - began >= 7
        await cluster.get(MAPS, "a", namespace="n")

    run_scenario(server, work)


def test_a_restarted_server_keeps_its_port_and_its_objects() -> None:
    server = ApiServer.of([MAPS])

    async def steps() -> None:
        async with server.serving():
            port = int(server.url.rpartition(":")[2])
            async with HttpCluster(ClusterConfig(server=server.url)) as cluster:
                await cluster.create(MAPS, _map("a"))
        async with server.serving(port=port):
            async with HttpCluster(ClusterConfig(server=server.url)) as cluster:
                assert await cluster.get(MAPS, "a", namespace="n")

    clock.run(steps(), patience=0.001)


def test_bookmarks_are_sent_on_request() -> None:
    server = ApiServer.of([MAPS])

    async def work(cluster: HttpCluster) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(1, server.send_bookmarks)
        loop.call_later(2, server.cut_watches)
        seen = []

        async def follow() -> None:
            async for event in cluster.watch(MAPS, resource_version="100"):
                seen.append(event.type)  # noqa: PERF401 - as they come

        with pytest.raises(Unreachable):
            await follow()
        assert seen == [EventType.BOOKMARK]

    run_scenario(server, work)


def test_a_kind_that_is_installed_later_is_served() -> None:
    server = ApiServer.of([MAPS])

    async def work(cluster: HttpCluster) -> None:
        with pytest.raises(NoSuchKind):
            await cluster.resource("tests.example.com/v1", "Thing")
        server.install(_crd("v1"))
        await asyncio.sleep(6)
        assert (await cluster.resource("tests.example.com/v1", "Thing")).plural == "things"

    run_scenario(server, work)


def _owned(name: str, *owners: Manifest) -> Manifest:
    references = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
        }
        for owner in owners
    ]
    return _map(name, metadata={"ownerReferences": references})


@pytest.mark.parametrize(
    ("propagation", "left"),
    [
        (Propagation.BACKGROUND, ["both", "other"]),
        (Propagation.FOREGROUND, ["both", "other"]),
        (Propagation.ORPHAN, ["both", "child", "grandchild", "other"]),
    ],
)
def test_garbage_is_collected_on_request(propagation: Propagation, left: list[str]) -> None:
    server = ApiServer.of([MAPS])
    server.collects_garbage = True

    async def work(cluster: HttpCluster) -> None:
        owner = await cluster.create(MAPS, _map("owner"))
        other = await cluster.create(MAPS, _map("other"))
        child = await cluster.create(MAPS, _owned("child", owner))
        await cluster.create(MAPS, _owned("grandchild", child))
        await cluster.create(MAPS, _owned("both", owner, other))
        await cluster.delete(MAPS, "owner", namespace="n", propagation=propagation)

    run_scenario(server, work)
    assert sorted(one["metadata"]["name"] for one in server.all("configmaps")) == left


def test_an_object_is_returned_in_the_requested_version() -> None:
    def convert(manifest: Manifest, version: str) -> Manifest:
        names = {"tests.example.com/v1": "size", "tests.example.com/v2": "replicas"}
        old, new = names[manifest["apiVersion"]], names[version]
        spec = {new: manifest["spec"][old]}
        return manifest | {"apiVersion": version, "spec": spec}

    server = ApiServer.of(crds=[_crd("v1", "v2")], convert=convert)

    async def work(cluster: HttpCluster) -> None:
        first = await cluster.resource("tests.example.com/v1", "Thing")
        second = await cluster.resource("tests.example.com/v2", "Thing")
        await cluster.create(
            first,
            {
                "apiVersion": "tests.example.com/v1",
                "kind": "Thing",
                "metadata": {"name": "t", "namespace": "n"},
                "spec": {"size": 3},
            },
        )
        found = await cluster.get(second, "t", namespace="n")
        assert (found["apiVersion"], found["spec"]) == ("tests.example.com/v2", {"replicas": 3})
        patch = {"spec": {"replicas": 4}}
        await cluster.patch(second, "t", patch, type=PatchType.MERGE, namespace="n")
        assert (await cluster.get(first, "t", namespace="n"))["spec"] == {"size": 4}

    run_scenario(server, work)


def _configuration(kind: str, *operations: str, policy: str = "Fail") -> Manifest:
    rule = {
        "operations": list(operations),
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["configmaps"],
    }
    hook = {
        "name": "hook.tests.example.com",
        "clientConfig": {"service": {"path": "/hook"}},
        "rules": [rule],
        "failurePolicy": policy,
    }
    return {"kind": f"{kind}WebhookConfiguration", "webhooks": [hook]}


def _hooked(
    configuration: Manifest,
    respond: Callable[[Manifest], Manifest],
    work: Callable[[HttpCluster], Awaitable[None]],
) -> tuple[ApiServer, list[Manifest]]:
    """Run `work` on a server with a webhook; return the reviews."""
    server = ApiServer.of([MAPS])
    asked: list[Manifest] = []

    async def hook(request: web.Request) -> web.Response:
        review = await request.json()
        assert request.path == "/hook"
        asked.append(review["request"])
        response = {"uid": review["request"]["uid"]} | respond(review["request"])
        return web.json_response(
            {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        )

    async def steps() -> None:
        async with loopback.serving(hook) as host, server.serving():
            server.webhooks += api_admission.of_configuration(configuration, f"http://{host}")
            async with HttpCluster(ClusterConfig(server=server.url)) as cluster:
                await work(cluster)

    asyncio.run(steps())
    return server, asked


def test_a_mutating_webhook_changes_the_stored_object() -> None:
    patch = [{"op": "add", "path": "/data", "value": {"x": "added"}}]

    def respond(_: Manifest) -> Manifest:
        encoded = base64.b64encode(json.dumps(patch).encode()).decode()
        return {"allowed": True, "patch": encoded, "patchType": "JSONPatch"}

    async def work(cluster: HttpCluster) -> None:
        made = await cluster.create(MAPS, _map("a"))
        assert made["data"] == {"x": "added"}
        await cluster.create(MAPS, _map("b"), dry_run=True)
        await cluster.delete(MAPS, "a", namespace="n")

    _, asked = _hooked(_configuration("Mutating", "CREATE"), respond, work)
    assert [one["operation"] for one in asked] == ["CREATE", "CREATE"], "as its rules say"
    assert [one["dryRun"] for one in asked] == [False, True]
    first = asked[0]
    assert (first["name"], first["namespace"], first["oldObject"]) == ("a", "n", None)
    assert first["object"]["kind"] == "ConfigMap"


def test_a_validating_webhook_refuses_and_warns() -> None:
    def respond(request: Manifest) -> Manifest:
        if request["operation"] == "DELETE":
            assert request["object"] is None
            return {"allowed": False, "status": {"message": "it is needed"}}
        return {"allowed": True, "warnings": ["think again"]}

    async def work(cluster: HttpCluster) -> None:
        await cluster.create(MAPS, _map("a"))
        patch = {"data": {"x": "1"}}
        await cluster.patch(MAPS, "a", patch, type=PatchType.MERGE, namespace="n")
        with pytest.raises(Forbidden, match="denied the request: it is needed"):
            await cluster.delete(MAPS, "a", namespace="n")

    configuration = _configuration("Validating", "CREATE", "UPDATE", "DELETE")
    server, asked = _hooked(configuration, respond, work)
    assert [one["operation"] for one in asked] == ["CREATE", "UPDATE", "DELETE"]
    assert asked[1]["oldObject"]["metadata"]["name"] == "a"
    assert len(server.all("configmaps")) == 1


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_the_failure_policy_decides_if_the_webhook_does_not_answer(policy: str) -> None:
    async def work(cluster: HttpCluster) -> None:
        if policy == "Ignore":
            await cluster.create(MAPS, _map("a"))
            return
        with pytest.raises(ClusterError, match="failed calling webhook"):
            await cluster.create(MAPS, _map("a"))

    _hooked(_configuration("Validating", "*", policy=policy), lambda _: {"uid": "another's"}, work)
