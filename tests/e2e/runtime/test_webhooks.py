"""The operator's webhooks, called by a real API server: defaults, warnings, conversions.

The API server calls the process by URL, while in a cluster it uses a
Service; the certificate is one that the test creates and puts into `caBundle`.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import re
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from olmkit.base import documents
from olmkit.jobs.project import scaffold as project
from olmkit.kube.api import (
    ClusterError,
    EventType,
    Forbidden,
    Invalid,
    NotFound,
    PatchType,
    Resource,
)
from olmkit.kube.objects import Manifest
from olmkit.project.scaffold.project import InitRequest
from olmkit.project.scaffold.webhook import WebhookRequest
from olmkit.runtime.serve import self_signed
from olmkit.testing.registry import free_port

if TYPE_CHECKING:
    from conftest import OperatorPlane, Replica

    from olmkit.edges.cluster.client import HttpCluster

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parent.parent.parent.parent
CRD = "memcacheds.cache.example.com"
WAIT = 180.0

Until = Callable[..., Awaitable[Any]]


class WebhookReplica:
    """An API server, and one replica that answers its webhooks on its own port."""

    def __init__(self, operator_plane: OperatorPlane) -> None:
        self.operated = operator_plane
        self.port = free_port()
        self.folder = operator_plane.plane.folder / "serving-certs"
        self.folder.mkdir()
        self._pairs = [self_signed.make() for _ in range(2)]
        self._bundle = base64.b64encode(b"".join(pair[0] for pair in self._pairs)).decode()
        self.renew()

    def renew(self) -> str:
        """Write the next certificate; return what a client sees, as PEM."""
        certificate, key = self._pairs.pop(0)
        (self.folder / "tls.crt").write_bytes(certificate)
        (self.folder / "tls.key").write_bytes(key)
        return certificate.decode()

    def start(self, **how: Any) -> Replica:
        return self.operated.start(
            f"--webhook-bind-address=127.0.0.1:{self.port}",
            f"--webhook-cert-path={self.folder}",
            **how,
        )

    def shown(self) -> str:
        """Return the certificate that a new connection sees."""
        return ssl.get_server_certificate(("127.0.0.1", self.port))

    def client_config(self, path: str) -> dict[str, str]:
        return {"url": f"https://127.0.0.1:{self.port}{path}", "caBundle": self._bundle}

    async def convert(self, cluster: HttpCluster) -> None:
        """Configure the conversion of the CRD as in `config/crd/patches`."""
        path = ROOT / "operator/config/crd/patches/webhook_in_memcacheds.yaml"
        patch = documents.load(path.read_bytes(), str(path)).value
        webhook = patch["spec"]["conversion"]["webhook"]
        webhook["clientConfig"] = self.client_config(webhook["clientConfig"]["service"]["path"])
        await self.change_crd(cluster, {"spec": patch["spec"]}, PatchType.MERGE)

    async def change_crd(self, cluster: HttpCluster, patch: Any, kind: PatchType) -> None:
        crds = await cluster.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition")
        await cluster.patch(crds, CRD, patch, type=kind)

    async def admit(self, cluster: HttpCluster, project: Path = ROOT / "operator") -> None:
        """Configure the admission of objects as in `config/webhook` of a project."""
        path = project / "config/webhook/manifests.yaml"
        for document in documents.load_all(path.read_bytes(), str(path)):
            manifest = document.value
            for webhook in manifest["webhooks"]:
                service = webhook["clientConfig"]["service"]
                webhook["clientConfig"] = self.client_config(service["path"])
            await self.operated.create(cluster, manifest)


def alpha(name: str, **spec: Any) -> Manifest:
    return {
        "apiVersion": "cache.example.com/v1alpha1",
        "kind": "Memcached",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def beta(name: str, **spec: Any) -> Manifest:
    return {**alpha(name, **spec), "apiVersion": "cache.example.com/v1beta1"}


async def versions(cluster: HttpCluster) -> tuple[Resource, Resource]:
    return (
        await cluster.resource("cache.example.com/v1alpha1", "Memcached"),
        await cluster.resource("cache.example.com/v1beta1", "Memcached"),
    )


async def _dry_run(cluster: HttpCluster, manifest: Manifest) -> dict[str, Any]:
    """Return the spec that would be stored."""
    resource = await cluster.resource(manifest["apiVersion"], "Memcached")
    made = await cluster.create(resource, manifest, dry_run=True)
    return dict(made["spec"])


def test_both_versions_are_the_same_object(operator_plane: OperatorPlane, until: Until) -> None:
    hooked = WebhookReplica(operator_plane)

    async def scenario() -> None:
        hooked.start()
        async with operator_plane.cluster() as cluster:
            old, new = await versions(cluster)
            await hooked.convert(cluster)
            await cluster.create(old, alpha("old", size=2, containerPort=11222))

            async def converted() -> bool:
                found = await cluster.get(new, "old", namespace="default")
                return bool(found["spec"] == {"replicas": 2, "port": 11222})

            # A changed CRD is served a moment later.
            await until(converted)
            await cluster.create(new, beta("new", replicas=3))
            stored = await cluster.get(old, "new", namespace="default")
            assert stored["spec"] == {"size": 3, "containerPort": 11211}

            deployments = await cluster.resource("apps/v1", "Deployment")

            async def size(name: str, wanted: int) -> bool:
                found = await cluster.get(deployments, name, namespace="default")
                return bool(found["spec"]["replicas"] == wanted)

            async def made(name: str, wanted: int) -> bool:
                try:
                    return await size(name, wanted)
                except NotFound:
                    return False

            await until(lambda: made("new", 3))
            await _run_pod(cluster, "new")

            async def named() -> bool:
                found = await cluster.get(new, "new", namespace="default")
                return bool((found.get("status") or {}).get("pods") == [{"name": "new-0"}])

            await until(named)

            # The cache of the API server starts again later if it could not convert at first.
            page = await until(lambda: cluster.list_page(new, namespace="default"))
            assert {one["apiVersion"] for one in map(json.loads, page.items)} == {
                "cache.example.com/v1beta1"
            }

            # Autoscalers work with any version.
            await cluster.patch(
                new,
                "new",
                {"spec": {"replicas": 4}},
                type=PatchType.MERGE,
                namespace="default",
                subresource="scale",
            )
            await until(lambda: size("new", 4))
            scale = await cluster.request(
                "GET", old.path(namespace="default", name="new", subresource="scale")
            )
            told = json.loads(scale)
            assert told["spec"]["replicas"] == 4
            assert told["status"]["selector"] == (
                "app.kubernetes.io/instance=new,app.kubernetes.io/name=memcached"
            )
            with pytest.raises(Invalid):
                await cluster.create(new, beta("big", replicas=9))

            async with asyncio.timeout(WAIT):
                async for event in cluster.watch(
                    new, namespace="default", resource_version=page.resource_version
                ):
                    if event.type is EventType.MODIFIED:
                        seen = json.loads(event.object)
                        assert seen["apiVersion"] == "cache.example.com/v1beta1"
                        if seen["spec"]["replicas"] == 4:
                            break

    asyncio.run(scenario())


async def _run_pod(cluster: HttpCluster, name: str) -> None:
    """A pod without a node, with the labels of a Deployment's pods."""
    deployments = await cluster.resource("apps/v1", "Deployment")
    template = (await cluster.get(deployments, name, namespace="default"))["spec"]["template"]
    metadata = {**template["metadata"], "name": f"{name}-0", "namespace": "default"}
    accounts = await cluster.resource("v1", "ServiceAccount")
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    await cluster.create(
        accounts, account | {"metadata": {"name": "default", "namespace": "default"}}
    )
    pods = await cluster.resource("v1", "Pod")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
    await cluster.create(pods, pod)


def test_objects_get_defaults_and_warnings(
    operator_plane: OperatorPlane, until: Until, caplog: pytest.LogCaptureFixture
) -> None:
    hooked = WebhookReplica(operator_plane)
    caplog.set_level(logging.WARNING)

    async def scenario() -> None:
        hooked.start()
        async with operator_plane.cluster() as cluster:
            old, new = await versions(cluster)
            await hooked.convert(cluster)
            # Without the schema's own default, the webhook sets it.
            field = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size"
            patch = [{"op": "remove", "path": f"{field}/default"}]
            await hooked.change_crd(cluster, patch, PatchType.JSON)

            async def is_open() -> bool:
                return "size" not in await _dry_run(cluster, alpha("open"))

            async def is_filled() -> bool:
                return (await _dry_run(cluster, alpha("open"))).get("size") == 1

            await until(is_open)
            await hooked.admit(cluster)
            await until(is_filled)

            await cluster.create(old, alpha("single", size=1))
            assert "spec.size is 1: while its pod is replaced, nothing is cached" in " ".join(
                str(record.__dict__) for record in caplog.records
            )
            # The rule names v1alpha1: the API server converts before the request, and back.
            made = await cluster.create(new, beta("converted", replicas=2))
            assert made["spec"] == {"replicas": 2, "port": 11211}
            wrong: list[dict[str, Any]] = [
                *({"size": size} for size in (0, 6, "3")),
                *({"size": 2, "containerPort": port} for port in (0, 70_000)),
            ]
            for spec in wrong:
                with pytest.raises(Invalid):
                    await cluster.create(old, alpha("wrong", **spec))

    asyncio.run(scenario())


def test_stored_objects_are_readable_and_none_is_admitted_while_no_webhook_answers(
    operator_plane: OperatorPlane, until: Until
) -> None:
    hooked = WebhookReplica(operator_plane)

    async def scenario() -> None:
        replica = hooked.start()
        async with operator_plane.cluster() as cluster:
            old, new = await versions(cluster)
            await hooked.convert(cluster)
            await hooked.admit(cluster)

            async def is_admitted() -> bool:
                made = await cluster.create(new, beta("m", replicas=2))
                return bool(made["spec"]["replicas"] == 2)

            await until(is_admitted)

            async def is_kept() -> bool:
                found = await cluster.get(old, "m", namespace="default")
                return bool(found["metadata"].get("finalizers") and found.get("status"))

            await until(is_kept)
            replica.kill()
            stored = await cluster.get(old, "m", namespace="default")
            assert stored["spec"]["size"] == 2
            with pytest.raises(ClusterError, match="conversion webhook for"):
                await cluster.get(new, "m", namespace="default")
            with pytest.raises(ClusterError, match="failed calling webhook"):
                await cluster.create(old, alpha("n", size=2))

            hooked.start()

            async def is_back() -> bool:
                made = await cluster.create(old, alpha("n", size=2))
                return bool(made["spec"]["size"] == 2)

            await until(is_back)
            # Its finalizer is also removed through the webhooks.
            await cluster.delete(new, "m", namespace="default")

            async def is_gone() -> bool:
                page = await cluster.list_page(new, namespace="default")
                return [json.loads(one)["metadata"]["name"] for one in page.items] == ["n"]

            await until(is_gone)

    asyncio.run(scenario())


def test_a_renewed_certificate_is_used_and_no_request_is_refused_in_between(
    operator_plane: OperatorPlane, until: Until
) -> None:
    hooked = WebhookReplica(operator_plane)

    async def scenario() -> None:
        replica = hooked.start()
        async with operator_plane.cluster() as cluster:
            old, new = await versions(cluster)
            await hooked.convert(cluster)
            await hooked.admit(cluster)

            async def is_admitted() -> bool:
                made = await cluster.create(new, beta("m", replicas=2))
                return bool(made["spec"]["replicas"] == 2)

            await until(is_admitted)
            renewed = hooked.renew()
            asked = 0
            async with asyncio.timeout(WAIT):
                while await asyncio.to_thread(hooked.shown) != renewed:
                    await cluster.create(old, alpha(f"m{asked}", size=1), dry_run=True)
                    asked += 1
                    await asyncio.sleep(0.1)
            # A new API server has no connection yet, and gets the new certificate.
            operator_plane.plane.stop_server()
            operator_plane.plane.start_server()

            async def is_read() -> bool:
                found = await cluster.get(new, "m", namespace="default")
                return bool(found["spec"]["replicas"] == 2)

            await until(is_read)
            assert asked
            assert replica.is_running

    asyncio.run(scenario())


def add_deployment_webhooks(place: Path) -> None:
    """Scaffold webhooks for a kind of Kubernetes itself, and implement them."""
    project.init(place, InitRequest(domain="example.com", name="toy"))
    request = WebhookRequest(
        group="apps", version="v1", kind="Deployment", defaulting=True, validation=True
    )
    project.create_webhook(place, request)
    handlers = place / "toy/webhooks/deployment_v1.py"
    text = handlers.read_text().replace("AdmissionRequest, ", "AdmissionRequest, Denied, ", 1)
    text = re.sub(
        r"(def default\(self, (\w+): .*\n.*\n)",
        r'\1        \2["metadata"].setdefault("labels", {}).setdefault("team", "none")\n',
        text,
    )
    judged = """\
if new["spec"]["replicas"] > 3:
            raise Denied("more than three replicas")
        return ["one replica leaves no spare"] if new["spec"]["replicas"] == 1 else ()"""
    handlers.write_text(text.replace("return ()", judged, 1))


def deployment(name: str, replicas: int) -> Manifest:
    labels = {"app": name}
    pod = {"containers": [{"name": "c", "image": "example.com/c:1"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def test_scaffolded_webhooks_of_an_external_kind_default_and_validate_it(
    bare: OperatorPlane, until: Until, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "toy"
    add_deployment_webhooks(place)
    hooked = WebhookReplica(bare)
    caplog.set_level(logging.WARNING)

    async def scenario() -> None:
        hooked.start(program=("-m", "toy"), environment={"PYTHONPATH": str(place)})
        async with bare.cluster() as cluster:
            deployments = await cluster.resource("apps/v1", "Deployment")
            await hooked.admit(cluster, place)

            async def is_defaulted() -> bool:
                made = await cluster.create(deployments, deployment("seen", 2), dry_run=True)
                return bool(made["metadata"].get("labels") == {"team": "none"})

            await until(is_defaulted)
            made = await cluster.create(deployments, deployment("single", 1))
            assert made["metadata"]["labels"] == {"team": "none"}
            assert "one replica leaves no spare" in " ".join(
                str(record.__dict__) for record in caplog.records
            )
            with pytest.raises(Forbidden, match="more than three replicas"):
                await cluster.create(deployments, deployment("many", 4))

            # A change is validated as in the scaffold: it is accepted.
            await cluster.patch(
                deployments,
                "single",
                {"spec": {"replicas": 2}},
                type=PatchType.MERGE,
                namespace="default",
            )

    asyncio.run(scenario())
