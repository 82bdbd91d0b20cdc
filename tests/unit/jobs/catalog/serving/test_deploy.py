"""Deploying a shared catalog server, against a small API server."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError, OlmkitError, RemoteError
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog.serving import deploy
from olmkit.jobs.cluster import bundle as cluster_bundle
from olmkit.jobs.cluster.wait import Timeouts
from olmkit.jobs.image import digest
from olmkit.kube.api import ClusterError, Resource
from olmkit.kube.objects import GVK
from olmkit.oci.store import RegistryError
from olmkit.olm import catalog_deployment
from olmkit.olm.catalog_deployment import CatalogDeployment
from olmkit.testing.apiserver.server import ApiServer

OLD, NEW = f"sha256:{'0' * 64}", f"sha256:{'1' * 64}"
QUICK = Timeouts(seconds=0.3, interval=0.02, believed=0.1)
WANTED = CatalogDeployment(name="shared", namespace="olm", image="quay.io/example/catalog:v1")
PLURALS = {
    "CatalogSource": "catalogsources",
    "NetworkPolicy": "networkpolicies",
    "Service": "services",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "Deployment": "deployments",
    "HorizontalPodAutoscaler": "horizontalpodautoscalers",
    "Pod": "pods",
    "Event": "events",
}


def _resource(api_version: str, kind: str) -> Resource:
    group, _, version = api_version.rpartition("/")
    gvk = GVK(group=group, version=version, kind=kind)
    return Resource(
        gvk=gvk, plural=PLURALS[kind], namespaced=True, subresources=frozenset({"status"})
    )


@pytest.mark.parametrize(
    ("served", "message"),
    [
        (("ClusterCatalog", "ClusterExtension"), "this cluster has OLM v1 only"),
        (("ClusterCatalog", "ClusterExtension", "Subscription"), ""),
        ((), ""),
    ],
)
def test_a_catalog_source_is_refused_on_a_cluster_with_olm_v1_only(
    served: tuple[str, ...], message: str
) -> None:
    class Reader:
        async def knows(self, kind: tuple[str, str]) -> bool:
            return kind[1] in served

    reader: Any = Reader()
    source = catalog_deployment.served_objects(WANTED)
    catalog = (catalog_deployment.cluster_catalog("shelf", "quay.io/example/catalog:v1"),)
    asyncio.run(deploy.require_kinds(reader, catalog))
    if not message:
        asyncio.run(deploy.require_kinds(reader, source))
        return
    with pytest.raises(InputError, match=message) as refused:
        asyncio.run(deploy.require_kinds(reader, source))
    assert refused.value.hint == "use OLM v1 with `--olm v1`"


@pytest.mark.parametrize("answer", ["/configs", "", RemoteError("denied")])
def test_an_image_without_a_server_is_refused(
    monkeypatch: pytest.MonkeyPatch, answer: str | RemoteError
) -> None:
    asked: list[str] = []

    async def folder_to_extract(image: str, _: Access) -> str:
        asked.append(image)
        if isinstance(answer, RemoteError):
            raise answer
        return answer

    monkeypatch.setattr(cluster_bundle, "folder_to_extract", folder_to_extract)
    job = deploy.require_images(catalog_deployment.served_objects(WANTED), Access())
    if answer != "/configs":
        asyncio.run(job)
    else:
        with pytest.raises(InputError, match="has the files of a catalog, but no server") as raised:
            asyncio.run(job)
        assert "`grpcPodConfig.extractContent.catalogDir: /configs`" in raised.value.hint
    assert asked == ["quay.io/example/catalog:v1"]


def test_a_cluster_catalog_is_ready_when_it_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    made = (catalog_deployment.cluster_catalog("shelf", "quay.io/example/catalog:v1"),)
    gvk = GVK(group="olm.operatorframework.io", version="v1", kind="ClusterCatalog")
    resource = Resource(
        gvk=gvk, plural="clustercatalogs", namespaced=False, subresources=frozenset({"status"})
    )

    async def absent(*_: Any) -> bool:
        raise RegistryError("manifest unknown", status=404)

    async def read_digest(*_: Any) -> str:
        return NEW

    monkeypatch.setattr(digest, "read_digest", read_digest)
    monkeypatch.setattr(cluster_bundle, "is_catalog", absent)
    with pytest.raises(RegistryError):
        asyncio.run(deploy.require_images(made, Access()))

    async def scenario() -> None:
        server = ApiServer.of([resource])
        async with server.serving(), HttpCluster(ClusterConfig(server=server.url)) as http:
            reader = ClusterObjects(http)
            told: list[str] = []
            new: list[Any] = []
            for expected in (list(made), []):  # only a new one is created
                new.clear()
                found = await deploy.apply(
                    reader, made, report=told.append, timeouts=QUICK, access=Access(), created=new
                )
                assert (found.is_ready, found.cause) == (False, "catalog-not-ready")
                assert new == expected
            assert told[0] == "applied ClusterCatalog shelf"

            there = server.get("clustercatalogs", "shelf", "") or {}
            serving = {"conditions": [{"type": "Serving", "status": "True"}]}
            server.put("clustercatalogs", there | {"status": serving})
            found = await deploy.apply(
                reader, made, report=told.append, timeouts=QUICK, access=Access()
            )
            assert (found.is_ready, found.message) == (True, "the catalog `shelf` is served")

            # The tag names a newer image than catalogd serves.
            for served, cause in ((OLD, "catalog-outdated"), (NEW, "healthy")):
                source = {"image": {"ref": f"quay.io/example/catalog@{served}"}}
                read = {"type": "Progressing", "status": "True", "reason": "Succeeded",
                        "observedGeneration": 9}  # fmt: skip
                conditions = [*serving["conditions"], read]
                resolved = {"conditions": conditions, "resolvedSource": source}
                server.put("clustercatalogs", there | {"status": resolved})
                found = await deploy.apply(
                    reader, made, report=told.append, timeouts=QUICK, access=Access()
                )
                assert found.cause == cause
                assert ("pass `--poll MINUTES`" in found.hint) == (served == OLD)

    asyncio.run(scenario())


def test_a_directory_and_an_image_without_a_catalog_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = "shelf"
    (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path)
    for made in (
        (catalog_deployment.cluster_catalog("shelf", folder),),
        catalog_deployment.served_objects(replace(WANTED, image=folder)),
    ):
        with pytest.raises(InputError, match="is a path on this machine") as raised:
            asyncio.run(deploy.require_images(made, Access()))
        assert f"`olmkit catalog build {folder} -t IMAGE --push`" in raised.value.hint

    answers: list[bool | OlmkitError] = [False, True, RemoteError("denied")]

    async def is_catalog(*_: Any) -> bool:
        answer = answers.pop(0)
        if isinstance(answer, OlmkitError):
            raise answer
        return answer

    monkeypatch.setattr(cluster_bundle, "is_catalog", is_catalog)
    made = (catalog_deployment.cluster_catalog("shelf", "quay.io/example/bundle:v1"),)
    with pytest.raises(InputError, match="is not a catalog: it has no label"):
        asyncio.run(deploy.require_images(made, Access()))
    asyncio.run(deploy.require_images(made, Access()))
    asyncio.run(deploy.require_images(made, Access()))


def test_extensions_that_also_read_a_new_catalog_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = (catalog_deployment.cluster_catalog("shelf", "quay.io/example/catalog:v1"),)
    group = "olm.operatorframework.io"
    resources = [
        Resource(
            gvk=GVK(group=group, version="v1", kind=kind),
            plural=f"{kind.lower()}s",
            namespaced=False,
            subresources=frozenset({"status"}),
        )
        for kind in ("ClusterCatalog", "ClusterExtension")
    ]

    def extension(name: str, **asked: Any) -> dict[str, Any]:
        return {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterExtension",
            "metadata": {"name": name},
            "spec": {"source": {"catalog": {"packageName": name, **asked}}},
        }

    content: list[SimpleNamespace] = [
        SimpleNamespace(catalog=SimpleNamespace(packages={"cache": 1, "queue": 1}))
    ]

    async def read_catalog(*_: Any) -> SimpleNamespace:
        if not content:
            raise RemoteError("denied")
        return content[0]

    monkeypatch.setattr(cluster_bundle, "read_catalog", read_catalog)

    async def scenario() -> None:
        server = ApiServer.of(resources)
        async with server.serving(), HttpCluster(ClusterConfig(server=server.url)) as http:
            reader = ClusterObjects(http)
            server.put("clusterextensions", extension("cache"))
            server.put("clusterextensions", extension("other"))
            narrow = {"matchLabels": {f"{group}/metadata.name": "old"}}
            server.put("clusterextensions", extension("queue", selector=narrow))
            assert await deploy.notes(reader, made, Access()) == ()  # they have no catalog yet
            old = catalog_deployment.cluster_catalog("old", "quay.io/example/catalog:v0")
            server.put("clustercatalogs", old)
            (note,) = await deploy.notes(reader, made, Access())
            assert note.startswith("the ClusterExtension `cache` has no selector that excludes")
            content.clear()
            found = await deploy.notes(reader, made, Access())
            assert len(found) == 2
            assert "`cache` reads the new catalog too, and stops while it is not" in found[0]
            await reader.apply(made[0])
            assert await deploy.notes(reader, made, Access()) == ()

            kept = catalog_deployment.cluster_catalog(
                "shelf", "quay.io/example/catalog:v1", priority=5, poll_minutes=10
            )
            await reader.apply(kept)
            assert await deploy.notes(reader, (kept,), Access()) == ()
            rank, poll = await deploy.notes(reader, made, Access())
            assert rank.endswith("`shelf` changes from 5 to 0; `--priority 5` keeps it")
            assert poll.endswith(
                "new images of the ClusterCatalog `shelf`; `--poll 10` keeps the interval"
            )

    asyncio.run(scenario())


def test_objects_of_other_owners_are_not_overwritten_and_own_ones_are_updated() -> None:
    made = catalog_deployment.served_objects(WANTED)
    kinds = [(one["apiVersion"], one["kind"]) for one in made] + [("v1", "Pod"), ("v1", "Event")]

    async def scenario() -> None:
        server = ApiServer.of([_resource(*kind) for kind in kinds])
        async with (
            server.serving(),
            HttpCluster(ClusterConfig(server=server.url)) as http,
        ):
            reader = ClusterObjects(http)
            other: dict[str, Any] = {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "shared", "namespace": "olm"},
                "spec": {"ports": [{"port": 1}]},
            }
            server.put("services", other)
            for job in (
                deploy.changes(reader, made),
                deploy.apply(reader, made, report=[].append, timeouts=QUICK, access=Access()),
            ):
                with pytest.raises(ClusterError, match="olmkit did not create it"):
                    await job
            assert server.all("deployments") == []

            await reader.delete(other)
            lines = await deploy.changes(reader, made)
            assert all(line.startswith("would create ") for line in lines)
            told: list[str] = []
            found = await deploy.apply(
                reader, made, report=told.append, timeouts=QUICK, access=Access()
            )
            assert not found.is_ready  # no kubelet runs the pods here
            assert len([line for line in told if line.startswith("applied ")]) == len(made)
            newer = replace(WANTED, image="quay.io/example/catalog:v2")
            newer_objects = catalog_deployment.served_objects(newer)
            lines = await deploy.changes(reader, newer_objects)
            assert [line for line in lines if "would change" in line] == [
                "would change Deployment olm/shared"
            ]

    asyncio.run(scenario())
