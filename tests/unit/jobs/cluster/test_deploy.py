"""Deploying an overlay without OLM, against a small API server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster import deploy
from olmkit.jobs.cluster import wait as cluster_wait
from olmkit.jobs.cluster.deploy import DeployOptions
from olmkit.jobs.cluster.wait import Timeouts
from olmkit.kube.api import ClusterError, Resource
from olmkit.kube.objects import GVK
from olmkit.testing.apiserver.refusals import Refusal
from olmkit.testing.apiserver.server import ApiServer

QUICK = Timeouts(seconds=5, interval=0.02, believed=0.1)
APPS = "apps"

KUSTOMIZATION = """namespace: place
resources: [all.yaml]
"""
OBJECTS = """apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: x}
spec:
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec: {containers: [{name: manager, image: old}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: caches.example.com}
spec:
  group: example.com
  names: {kind: Cache, plural: caches}
  versions: [{name: v1, served: true, storage: true}]
---
apiVersion: v1
kind: Namespace
metadata: {name: x}
"""


def resource(group: str, kind: str, plural: str, *, cluster: bool = False) -> Resource:
    gvk = GVK(group=group, version="v1", kind=kind)
    return Resource(gvk=gvk, plural=plural, namespaced=not cluster,
                    subresources=frozenset({"status"}))  # fmt: skip


KINDS = (
    resource("", "Namespace", "namespaces", cluster=True),
    resource("", "Pod", "pods"),
    resource("", "Event", "events"),
    resource(APPS, "Deployment", "deployments"),
    resource("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions",
             cluster=True),
    resource("example.com", "Cache", "caches"),
)  # fmt: skip


@pytest.fixture
def options(tmp_path: Path) -> DeployOptions:
    folder = tmp_path / "config/default"
    folder.mkdir(parents=True)
    (folder / "kustomization.yaml").write_text(KUSTOMIZATION)
    (folder / "all.yaml").write_text(OBJECTS)
    return DeployOptions(project=tmp_path)


def run(scenario: Callable[[ClusterObjects, ApiServer], Awaitable[None]]) -> None:
    async def whole() -> None:
        server = ApiServer.of(KINDS)
        server.collects_garbage = True

        async def controllers() -> None:
            while True:
                _look(server)
                await asyncio.sleep(0.01)

        async with asyncio.timeout(30), server.serving():
            working = asyncio.ensure_future(controllers())
            try:
                async with HttpCluster(ClusterConfig(server=server.url)) as http:
                    await scenario(ClusterObjects(http), server)
            finally:
                working.cancel()

    asyncio.run(whole())


def _look(server: ApiServer) -> None:
    """Makes CRDs established, and Deployments available unless their image is `bad`."""
    for plural, type_ in (("customresourcedefinitions", "Established"),
                          ("deployments", "Available")):  # fmt: skip
        for one in server.all(plural):
            bad = "'bad'" in str(one)
            value = "False" if bad else "True"
            conditions = [{"type": type_, "status": value}]
            status: dict[str, Any] = {"conditions": conditions}
            if plural == "deployments":
                status["observedGeneration"] = one["metadata"].get("generation", 1)
            if one.get("status") != status:
                server.put(plural, one | {"status": status})


def test_objects_are_applied_in_order_and_waited_for(options: DeployOptions) -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer) -> None:
        wanted = deploy.desired_objects(options)
        before = await deploy.changes(reader, wanted)
        assert before[0] == "would create Namespace place"
        assert server.writes() == []

        said: list[str] = []
        found = await deploy.apply(reader, wanted, report=said.append, timeouts=QUICK)

        assert found.is_ready
        applied = [line for line in said if line.startswith("applied")]
        assert [line.split()[1] for line in applied] == [
            "Namespace",
            "CustomResourceDefinition",
            "Deployment",
        ]

    run(scenario)


def test_a_deployment_that_does_not_become_available_is_reported(options: DeployOptions) -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer) -> None:
        wanted = deploy.desired_objects(DeployOptions(project=options.project, image="bad"))
        found = await deploy.apply(
            reader, wanted, report=[].append, timeouts=Timeouts(seconds=0.2, interval=0.02)
        )

        assert not found.is_ready
        assert "manager" in found.message
        assert "bad" in str(server.get("deployments", "manager", "place"))

    run(scenario)


def test_only_the_crds_are_applied_on_request(options: DeployOptions) -> None:
    wanted = deploy.desired_objects(DeployOptions(project=options.project, crds_only=True))

    assert [one["kind"] for one in wanted] == ["CustomResourceDefinition"]


def test_an_image_without_a_name_is_refused(options: DeployOptions) -> None:
    with pytest.raises(ConfigurationError, match="not an image reference"):
        deploy.desired_objects(
            DeployOptions(project=options.project, image="quay.io/Example/cache:1")
        )


def test_a_missing_overlay_is_refused(options: DeployOptions) -> None:
    with pytest.raises(ConfigurationError):
        deploy.desired_objects(DeployOptions(project=options.project, overlay="config/none"))


def test_undeploy_keeps_the_objects_of_other_owners(options: DeployOptions) -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer) -> None:
        wanted = deploy.desired_objects(options)
        await deploy.apply(reader, wanted, report=[].append, timeouts=QUICK)
        server.put("caches", {"apiVersion": "example.com/v1", "kind": "Cache",
                              "metadata": {"name": "mine", "namespace": "a"}})  # fmt: skip

        with pytest.raises(InputError, match="would be deleted with the CRDs"):
            await deploy.removal(reader, wanted, keep_crds=False, delete_operands=False)
        kept = await deploy.removal(reader, wanted, keep_crds=True, delete_operands=False)
        assert [one["kind"] for one in kept.all] == ["Deployment", "Namespace"]

        made = await deploy.removal(reader, wanted, keep_crds=False, delete_operands=True)
        done = await deploy.delete(reader, made, report=[].append, timeouts=QUICK)

        assert done.left == ()
        assert [one["kind"] for one in done.gone] == [
            "Cache",
            "Deployment",
            "CustomResourceDefinition",
            "Namespace",
        ]
        again = await deploy.removal(reader, wanted, keep_crds=True, delete_operands=True)
        assert (again.all, again.kept) == ((), ())

    run(scenario)


def test_objects_that_cannot_be_converted_for_a_while_are_waited_for(
    options: DeployOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_wait, "_TRIED_AGAIN", 0.01)
    webhook = "conversion webhook for example.com/v1, Kind=Cache failed: unknown authority"
    refused: set[str] = set()

    def once_for_each_verb(method: str, path: str) -> Refusal | None:
        if "example.com/v1/" not in path or method in refused:
            return None
        refused.add(method)
        return Refusal(500, "InternalError", webhook)

    async def scenario(reader: ClusterObjects, server: ApiServer) -> None:
        wanted = deploy.desired_objects(options)
        await deploy.apply(reader, wanted, report=[].append, timeouts=QUICK)
        server.put("caches", {"apiVersion": "example.com/v1", "kind": "Cache",
                              "metadata": {"name": "mine", "namespace": "a"}})  # fmt: skip
        server.plan = once_for_each_verb
        told: list[str] = []

        made = await deploy.removal(
            reader, wanted, keep_crds=False, delete_operands=True, report=told.append
        )
        done = await deploy.delete(reader, made, report=told.append, timeouts=QUICK)

        assert refused == {"GET", "DELETE"}
        assert [line for line in told if webhook in line]
        assert done.left == ()
        with pytest.raises(KeyError, match="caches"):  # the kind and its objects are gone
            server.all("caches")

    run(scenario)


class NothingConverts(ClusterObjects):
    """The API of a cluster without the conversion webhook of the caches."""

    async def list(
        self, kind: Any, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> Any:
        if kind[1] == "Cache":
            crds = await super().list(("apiextensions.k8s.io/v1", "CustomResourceDefinition"))
            if any(one["spec"].get("conversion", {}).get("strategy") == "Webhook" for one in crds):
                raise ClusterError("conversion webhook for example.com/v1, Kind=Cache failed: no",
                                   code=500, temporary=True)  # fmt: skip
        return await super().list(kind, namespace, labels=labels, fields=fields)


def test_a_missing_conversion_webhook_does_not_stop_undeploy(options: DeployOptions) -> None:
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": {
        "service": {"name": "gone", "namespace": "place"}}}}  # fmt: skip

    async def scenario(plain: ClusterObjects, server: ApiServer) -> None:
        reader = NothingConverts(plain.cluster)
        wanted = deploy.desired_objects(options)
        await deploy.apply(reader, wanted, report=[].append, timeouts=QUICK)
        crd = next(one for one in wanted if one["kind"] == "CustomResourceDefinition")
        await reader.merge(crd, {"spec": {"conversion": conversion}})
        server.put("caches", {"apiVersion": "example.com/v1", "kind": "Cache",
                              "metadata": {"name": "mine", "namespace": "a"}})  # fmt: skip

        for same in (True, False):
            with pytest.raises(InputError, match="cannot be listed") as raised:
                await deploy.removal(reader, wanted, keep_crds=same, delete_operands=same)
            assert "`--delete-operands` without `--keep-crds`" in raised.value.hint
        kept = await deploy.removal(reader, wanted, keep_crds=True, delete_operands=False)
        assert (kept.unread, [one["kind"] for one in kept.kept]) == ((), [crd["kind"]])

        made = await deploy.removal(reader, wanted, keep_crds=False, delete_operands=True)
        assert len(made.unlisted) == 1
        done = await deploy.delete(reader, made, report=[].append, timeouts=QUICK)

        assert done.left == ()
        assert [one["kind"] for one in done.gone] == [
            "Deployment",
            "Cache",
            "CustomResourceDefinition",
            "Namespace",
        ]

    run(scenario)
