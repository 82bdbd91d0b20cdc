"""Scorecard tests as pods, with a small API server and a simulated kubelet."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from olmkit.base.diagnostics import ConfigurationError, InputError, RemoteError
from olmkit.base.tree import Tree
from olmkit.bundle import layout
from olmkit.bundle.model import Bundle
from olmkit.bundle.scorecard.configuration import ScorecardTest
from olmkit.bundle.scorecard.pods import PodSettings
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster.scorecard import PodRun, PodTests
from olmkit.kube.api import ClusterError, Resource
from olmkit.kube.objects import GVK
from olmkit.testing.apiserver.refusals import Refusal
from olmkit.testing.apiserver.server import ApiServer

FILES = {"metadata/annotations.yaml": b"annotations: {a: b}", "manifests/x.yaml": b"kind: X"}
OWN = ScorecardTest("own:1", ("run", "it"), {"suite": "own", "test": "it"})
STORING = OWN._replace(storage="/data")
PASSED = json.dumps({"results": [{"name": "it", "state": "pass"}]})
ENDED = {
    "containerStatuses": [{"name": "scorecard-test", "state": {"terminated": {"exitCode": 1}}}]
}


def resource(kind: str, plural: str) -> Resource:
    subresources = frozenset({"status"})
    return Resource(gvk=GVK("", "v1", kind), plural=plural, subresources=subresources)


class Kubelet:
    """Sets the status of each new pod, and answers requests for its logs and commands."""

    def __init__(self, server: ApiServer, *, status: Any, log: str, stored: bytes = b"") -> None:
        self.server = server
        self.status = status
        self.log = log
        self.stored = stored
        self.commands: list[list[str]] = []

    def look(self) -> None:
        for pod in self.server.all("pods"):
            name = pod["metadata"]["name"]
            path = f"/api/v1/namespaces/n/pods/{name}"
            if f"{path}/log" not in self.server.handlers:
                self.server.handlers[f"{path}/log"] = self._log
                self.server.handlers[f"{path}/exec"] = self.exec
                self.server.put("pods", pod | {"status": self.status})

    async def _log(self, request: web.Request) -> web.StreamResponse:
        assert request.query["container"] in ("scorecard-test", "scorecard-untar")
        return web.Response(text=self.log)

    async def exec(self, request: web.Request) -> web.StreamResponse:
        self.commands.append(request.query.getall("command"))
        socket = web.WebSocketResponse(protocols=("v4.channel.k8s.io",))
        await socket.prepare(request)
        assert socket.ws_protocol == "v4.channel.k8s.io"
        await socket.send_bytes(b"\1")
        for begin in range(0, len(self.stored), 1000):
            await socket.send_bytes(b"\1" + self.stored[begin : begin + 1000])
        await socket.send_bytes(b"\2tar: removing leading /\n")
        await socket.send_bytes(b'\3{"status": "Success"}')
        await socket.close()
        return socket


@asynccontextmanager
async def playing(
    status: Any = ENDED, log: str = PASSED, stored: bytes = b""
) -> AsyncIterator[tuple[ClusterObjects, ApiServer, Kubelet]]:
    server = ApiServer.of([resource("Pod", "pods"), resource("ConfigMap", "configmaps")])
    kubelet = Kubelet(server, status=status, log=log, stored=stored)

    async def work() -> None:
        while True:
            kubelet.look()
            await asyncio.sleep(0.01)

    async with server.serving():
        working = asyncio.ensure_future(work())
        try:
            async with HttpCluster(ClusterConfig(server=server.url)) as http:
                yield ClusterObjects(http), server, kubelet
        finally:
            working.cancel()


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with asyncio.timeout(30):
            await scenario()

    asyncio.run(whole())


def bundle(**more: bytes) -> Bundle:
    return layout.read(Tree(FILES | more), "bundle")


def how(output: Path = Path("unused"), **settings: Any) -> PodRun:
    keep = settings.pop("keep", False)
    return PodRun(PodSettings("n", **settings), output=output, keep=keep, interval=0.02)


def test_a_test_gets_the_bundle_and_its_log_is_the_result() -> None:
    async def scenario() -> None:
        async with playing() as (reader, server, _):
            tests = PodTests(reader, how(service_account="checker", restricted=True))
            await tests.start(bundle())
            [made] = server.all("configmaps")
            [result] = await tests.run(OWN)

            assert (result.name, result.state) == ("it", "pass")
            data = base64.b64decode(made["binaryData"]["bundle.tar.gz"])
            with tarfile.open(fileobj=io.BytesIO(data)) as tar:
                assert [one for one in tar.getnames() if "." in one] == sorted(FILES)
            [pod] = server.all("pods")
            assert pod["metadata"]["labels"] == {
                "app": "scorecard-test",
                "testrun": made["metadata"]["name"],
            }
            assert pod["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
            spec = pod["spec"]
            assert spec["serviceAccountName"] == "checker"
            assert spec["securityContext"]["runAsNonRoot"] is True
            [container] = spec["containers"]
            assert (container["image"], container["command"]) == ("own:1", ["run", "it"])
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["volumeMounts"][0]["mountPath"] == "/bundle"

            await tests.clean()
            assert server.all("pods") == []
            assert server.all("configmaps") == []

    run(scenario)


def test_stored_files_are_copied_into_a_directory_of_the_test(tmp_path: Path) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        info = tarfile.TarInfo("data/report.txt")
        info.size = 5000
        tar.addfile(info, io.BytesIO(b"r" * 5000))

    async def scenario() -> None:
        async with playing(stored=made.getvalue()) as (reader, server, kubelet):
            tests = PodTests(reader, how(tmp_path, restricted=True))
            await tests.start(bundle())
            (tmp_path / "own/it").mkdir(parents=True)
            (tmp_path / "own/it/report.txt").write_text("of an earlier run")
            [result] = await tests.run(STORING)

            assert result.state == "pass"
            assert (tmp_path / "own/it/report.txt").read_bytes() == b"r" * 5000
            assert (tmp_path / "own/it/tar_stderr").read_bytes() == b"tar: removing leading /\n"
            assert kubelet.commands == [["tar", "cf", "-", "/data"]]
            [pod] = server.all("pods")
            gather = pod["spec"]["containers"][1]
            assert gather["name"] == "scorecard-gather"
            assert gather["securityContext"]["runAsNonRoot"] is True
            environment = pod["spec"]["containers"][0]["env"]
            assert {"name": "SCORECARD_STORAGE", "value": "/data"} in environment

    run(scenario)


@pytest.mark.parametrize("label", ["../up", ".."])
def test_a_label_does_not_lead_out_of_the_output(tmp_path: Path, label: str) -> None:
    async def scenario() -> None:
        async with playing() as (reader, server, _):
            tests = PodTests(reader, how(tmp_path / "output"))
            await tests.start(bundle())
            with pytest.raises(ConfigurationError, match="cannot name a folder"):
                await tests.run(STORING._replace(labels={"test": label}))
            assert server.all("pods") == []

    run(scenario)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (
            {
                "initContainerStatuses": [
                    {"name": "scorecard-untar", "state": {"terminated": {"exitCode": 2}}}
                ]
            },
            "container `scorecard-untar` ended with 2",
        ),
        (
            {
                "containerStatuses": [
                    {
                        "name": "scorecard-test",
                        "state": {"waiting": {"reason": "InvalidImageName", "message": "bad"}},
                    }
                ]
            },
            "container `scorecard-test` waits: InvalidImageName: bad",
        ),
        ({"phase": "Failed", "reason": "Evicted", "message": "no disk"}, "Evicted: no disk"),
        ({"phase": "Failed"}, "it is `Failed`"),
    ],
)
def test_a_pod_that_will_never_run_the_test_is_not_waited_for(status: Any, words: str) -> None:
    async def scenario() -> None:
        async with playing(status) as (reader, _, __):
            tests = PodTests(reader, how())
            await tests.start(bundle())
            with pytest.raises(ClusterError) as raised:
                await tests.run(OWN)
            assert words in raised.value.message

    run(scenario)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (
            {
                "containerStatuses": [
                    {
                        "name": "scorecard-test",
                        "state": {"waiting": {"reason": "ImagePullBackOff", "message": "back"}},
                    }
                ]
            },
            "container `scorecard-test` waits: ImagePullBackOff: back",
        ),
        (
            {"conditions": [{"type": "PodScheduled", "status": "False", "message": "no node"}]},
            "the pod is not scheduled: no node",
        ),
        (
            {
                "initContainerStatuses": [
                    {
                        "name": "scorecard-untar",
                        "state": {"waiting": {"reason": "ErrImagePull", "message": "no"}},
                    }
                ],
                "containerStatuses": [
                    {"name": "scorecard-test", "state": {"waiting": {"reason": "PodInitializing"}}}
                ],
            },
            "container `scorecard-untar` waits: ErrImagePull: no",
        ),
        (
            {
                "containerStatuses": [
                    {
                        "name": "scorecard-test",
                        "state": {"waiting": {"reason": "ContainerCreating"}},
                    }
                ]
            },
            "container `scorecard-test` waits: ContainerCreating",
        ),
        ({"phase": "Pending"}, "no node has started the pod yet"),
        (
            {"containerStatuses": [{"name": "scorecard-test", "state": {"running": {}}}]},
            "",
        ),
        ({}, ""),
    ],
)
def test_the_reason_of_a_waiting_pod_is_known(status: Any, words: str) -> None:
    async def scenario() -> None:
        async with playing(status) as (reader, _, __):
            tests = PodTests(reader, how())
            await tests.start(bundle())
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await tests.run(OWN)
            assert tests.waiting(OWN) == words

    run(scenario)


def test_a_bundle_that_is_too_large_for_a_config_map_is_refused_before_a_request() -> None:
    noise = b"".join(index.to_bytes(4, "big") for index in range(0, 2**31, 4999))

    async def scenario() -> None:
        async with playing() as (reader, server, _):
            tests = PodTests(reader, how())
            with pytest.raises(InputError, match=r"more than the 1\.0 MB"):
                await tests.start(bundle(**{"manifests/noise": noise}))
            await tests.clean()
            assert server.writes() == []

    run(scenario)


def test_objects_that_cannot_be_removed_are_named() -> None:
    async def scenario() -> None:
        async with playing() as (reader, server, _):
            tests = PodTests(reader, how())
            await tests.start(bundle())
            server.plan = lambda method, _: (
                Refusal(403, "Forbidden", "not you") if method == "DELETE" else None
            )
            with pytest.raises(RemoteError) as raised:
                await tests.clean()
            assert "namespace `n`: not you" in raised.value.message
            assert "scorecard-test-" in raised.value.hint

    run(scenario)


def test_objects_are_kept_on_request() -> None:
    async def scenario() -> None:
        async with playing() as (reader, server, _):
            tests = PodTests(reader, how(keep=True))
            await tests.start(bundle())
            await tests.run(OWN)
            await tests.clean()
            assert len(server.all("pods")) == len(server.all("configmaps")) == 1

    run(scenario)


def test_a_refused_command_is_an_error() -> None:
    async def scenario() -> None:
        async with playing() as (reader, server, _):
            server.plan = lambda _, path: (
                Refusal(403, "Forbidden", "not you") if "/exec" in path else None
            )
            with pytest.raises(ClusterError, match="not you"):
                await reader.execute("n", "p", "c", ["tar"], limit=10)

    run(scenario)


def test_a_command_that_does_not_end_is_ended() -> None:
    async def scenario() -> None:
        async with playing(stored=b"x" * 10_000) as (reader, server, kubelet):
            server.handlers["/api/v1/namespaces/n/pods/p/exec"] = kubelet.exec
            with pytest.raises(ClusterError, match="wrote more than"):
                await reader.execute("n", "p", "c", ["tar"], limit=5000)

            async def silent(request: web.Request) -> web.StreamResponse:
                socket = web.WebSocketResponse(protocols=("v4.channel.k8s.io",))
                await socket.prepare(request)
                await asyncio.sleep(2)
                return socket

            server.handlers["/api/v1/namespaces/n/pods/p/exec"] = silent
            with pytest.raises(ClusterError, match="did not end within"):
                await reader.execute("n", "p", "c", ["tar"], limit=5000, seconds=0.2)

    run(scenario)
