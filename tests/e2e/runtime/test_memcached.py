"""The operator with real memcached processes, with only the permissions of its roles.

No kubelet runs next to this API server, so the test starts one memcached for each
replica of a Deployment, with the Deployment's own command, reports the running
ones, and forwards connections as a Service would.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import json
import os
import shutil
import signal
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from olmkit.kube import conditions
from olmkit.kube.api import NotFound, PatchType
from olmkit.testing import rbac

if TYPE_CHECKING:
    from conftest import OperatorPlane

    from olmkit.edges.cluster.client import HttpCluster

pytestmark = pytest.mark.e2e

USER = "memcached-operator"
SERVICE_HOST = "127.96.0.1"  # all of 127/8 is this machine: Services need no setup here


@dataclass(eq=False)
class Pod:
    name: str
    address: str
    port: int
    template: str  # digest of its template
    labels: dict[str, str]
    process: asyncio.subprocess.Process


@dataclass(eq=False)
class Node:
    """Runs the pods of Deployments: the required part of a kubelet and its controllers."""

    cluster: HttpCluster
    program: str
    pods: dict[str, list[Pod]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    async def run(self) -> None:
        deployments = await self.cluster.resource("apps/v1", "Deployment")
        try:
            while True:
                page = await self.cluster.list_page(deployments, namespace="default")
                wanted = {one["metadata"]["name"]: one for one in map(json.loads, page.items)}
                for name in self.pods.keys() - wanted.keys():
                    await self._keep(name, 0, None)
                for name, deployment in wanted.items():
                    spec = deployment["spec"]
                    await self._keep(name, spec["replicas"], spec["template"])
                    await self._report(deployments, deployment)
                await asyncio.sleep(0.1)
        finally:
            for pod in itertools.chain(*self.pods.values()):
                await _end(pod)

    async def _keep(self, name: str, size: int, template: dict[str, Any] | None) -> None:
        """Run as many pods of this template as requested, and no others."""
        digest = hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:8]
        listed = self.pods.setdefault(name, [])
        for pod in [*(pod for pod in listed if pod.template != digest), *listed[size:]]:
            if pod in listed:
                listed.remove(pod)
                await _end(pod)
                resource = await self.cluster.resource("v1", "Pod")
                with contextlib.suppress(NotFound):
                    # At once: there is no kubelet to confirm the end of a grace period.
                    await self.cluster.request(
                        "DELETE",
                        resource.path(namespace="default", name=pod.name),
                        body=b'{"gracePeriodSeconds": 0}',
                    )
        while template is not None and len(listed) < size:
            listed.append(await self._start(name, template, digest))

    async def _start(self, name: str, template: dict[str, Any], digest: str) -> Pod:
        number = next(self._numbers)
        address = f"127.1.0.{number}"
        [container] = template["spec"]["containers"]
        assert container["command"][0] == "memcached"
        words = [*container["command"][1:], "-l", address]
        if os.geteuid() == 0:
            words += ["-u", "nobody"]
        process = await asyncio.create_subprocess_exec(
            self.program,
            *words,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        resource = await self.cluster.resource("v1", "Pod")
        pod = Pod(
            f"{name}-{digest}-{number}",
            address,
            container["ports"][0]["containerPort"],
            digest,
            template["metadata"]["labels"],
            process,
        )
        metadata = {**template["metadata"], "name": pod.name, "namespace": "default"}
        manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
        await self.cluster.create(resource, manifest | {"spec": template["spec"]})
        return pod

    async def _report(self, resource: Any, deployment: dict[str, Any]) -> None:
        name = deployment["metadata"]["name"]
        answering = [pod for pod in self.pods[name] if await _answers(pod)]
        status = {
            "observedGeneration": deployment["metadata"]["generation"],
            "replicas": len(self.pods[name]),
            "updatedReplicas": len(self.pods[name]),
            "readyReplicas": len(answering),
            "availableReplicas": len(answering),
        }
        with contextlib.suppress(NotFound):
            await self.cluster.patch(
                resource,
                name,
                {"status": status},
                type=PatchType.MERGE,
                namespace="default",
                subresource="status",
            )


@dataclass(eq=False)
class Service:
    """Forwards connections at a Service's port to one of its pods, as kube-proxy does."""

    cluster: HttpCluster
    node: Node
    name: str
    turn: Iterator[int] = field(default_factory=itertools.count)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        resource = await self.cluster.resource("v1", "Service")
        spec = (await self.cluster.get(resource, self.name, namespace="default"))["spec"]
        [port] = spec["ports"]
        assert port["targetPort"] == "memcached"
        pods = [
            pod
            for pod in itertools.chain(*self.node.pods.values())
            if spec["selector"].items() <= pod.labels.items()
        ]
        pod = pods[next(self.turn) % len(pods)]
        inward, outward = await asyncio.open_connection(pod.address, pod.port)
        await asyncio.gather(_pump(reader, outward), _pump(inward, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def _answers(pod: Pod) -> bool:
    """Return whether the port accepts connections, like the readiness probe."""
    try:
        _, writer = await asyncio.open_connection(pod.address, pod.port)
    except OSError:
        return False
    writer.close()
    return True


async def _end(pod: Pod) -> None:
    with contextlib.suppress(ProcessLookupError):
        pod.process.send_signal(signal.SIGKILL)
    await pod.process.wait()


async def _say(*lines: str) -> list[str]:
    """Return the response of memcached at the Service's port, up to END or STORED."""
    reader, writer = await asyncio.open_connection(SERVICE_HOST, 11211)
    writer.write("".join(f"{line}\r\n" for line in lines).encode())
    heard = []
    async with asyncio.timeout(60):
        while not heard or heard[-1] not in ("STORED", "END"):
            line = await reader.readline()
            assert line, "the connection was closed"
            heard.append(line.decode().strip())
    writer.close()
    return heard


def test_a_cache_is_served_scaled_moved_and_removed(
    operator_plane: OperatorPlane,
    until: Callable[..., Awaitable[Any]],
    missing: Callable[[str], Any],
) -> None:
    program = shutil.which("memcached")
    if program is None:
        missing("memcached is not here: run scripts/system-packages --e2e")
    config = operator_plane.allow(USER, operator_plane.roles())

    async def scenario() -> None:
        replica = operator_plane.start(
            "--leader-elect", "--leader-election-namespace=default", config=config
        )
        async with operator_plane.cluster() as cluster, asyncio.TaskGroup() as group:
            node = Node(cluster, program)
            running = group.create_task(node.run())
            service = Service(cluster, node, "sample")
            memcacheds = await cluster.resource("cache.example.com/v1alpha1", "Memcached")

            async def change(**spec: Any) -> None:
                await cluster.patch(
                    memcacheds,
                    "sample",
                    {"spec": spec},
                    type=PatchType.MERGE,
                    namespace="default",
                )

            async def available(nodes: int) -> bool:
                found = await cluster.get(memcacheds, "sample", namespace="default")
                status = found.get("status") or {}
                condition = conditions.find(status.get("conditions") or [], "Available") or {}
                return (
                    condition.get("status") == "True"
                    and condition.get("observedGeneration") == found["metadata"]["generation"]
                    and len(status.get("nodes") or []) == nodes
                    and sorted(status["nodes"])
                    == sorted(pod.name for pod in node.pods.get("sample", []))
                )

            await cluster.create(
                memcacheds,
                {
                    "apiVersion": memcacheds.api_version,
                    "kind": "Memcached",
                    "metadata": {"name": "sample", "namespace": "default"},
                    "spec": {"size": 1, "containerPort": 11211},
                },
            )
            await until(lambda: available(1))
            server = await asyncio.start_server(service.connected, SERVICE_HOST, 11211)
            async with server:
                assert await _say("set greeting 0 0 5", "hello") == ["STORED"]
                assert await _say("get greeting") == ["VALUE greeting 0 5", "hello", "END"]

                await change(size=3)
                await until(lambda: available(3))
                assert await _say("stats settings")
                heard = {(await _say("get greeting"))[0] for _ in range(3)}
                assert heard == {"VALUE greeting 0 5", "END"}, "the first pod still runs"

                await change(size=2, containerPort=12345)
                await until(lambda: available(2))
                assert {pod.port for pod in node.pods["sample"]} == {12345}
                assert await _say("set greeting 0 0 5", "again") == ["STORED"]

            await cluster.delete(memcacheds, "sample", namespace="default")

            async def gone() -> bool:
                try:
                    await cluster.get(memcacheds, "sample", namespace="default")
                except NotFound:
                    return True
                return False

            await until(gone)
            events = await cluster.resource("events.k8s.io/v1", "Event")
            page = await cluster.list_page(events, namespace="default")
            reasons = {one["reason"] for one in map(json.loads, page.items)}
            assert {"Created", "Scaled", "Deleting"} <= reasons
            assert replica.is_running, replica.words()
            assert "forbidden" not in replica.words().lower()
            running.cancel()

    asyncio.run(scenario())
    used = rbac.from_audit_log(operator_plane.audit_log, user=USER)
    report = rbac.compare(used, rbac.read(operator_plane.role_files, namespace="default"))
    assert not report.missing, report.words()
    assert {"get", "list", "watch", "create", "patch"} <= {use.verb for use in used}
