"""The process of an operator as a whole: flags, election, probes, metrics, webhooks, signals."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import aiohttp
import pytest

from olmkit import __version__
from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import Cluster, Resource
from olmkit.kube.objects import GVK
from olmkit.runtime import process
from olmkit.runtime.flags import Flags
from olmkit.runtime.manager import Manager
from olmkit.runtime.metrics import Registry
from olmkit.runtime.process import Operator
from olmkit.runtime.serve import self_signed
from olmkit.runtime.serve.webhook import CertificateFiles, WebhookServer
from olmkit.runtime.serve.webhook_conversion import Conversions
from olmkit.runtime.work.builder import ControllerBuilder
from olmkit.runtime.work.reconcile import Request, Result
from olmkit.testing.apiserver.server import ApiServer
from olmkit.testing.registry import free_port

TOY = GVK(group="toys.example.com", version="v1", kind="Toy")
RESOURCES = [
    Resource(gvk=TOY, plural="toys"),
    Resource(gvk=GVK(group="events.k8s.io", version="v1", kind="Event"), plural="events"),
    Resource(gvk=GVK(group="coordination.k8s.io", version="v1", kind="Lease"), plural="leases"),
]


class Labeler:
    """Adds a label to every toy."""

    def __init__(self, manager: Manager, colour: str) -> None:
        self._client = manager.client
        self._colour = colour

    async def reconcile(self, request: Request) -> Result:
        if await self._client.get(TOY, request) is not None:
            await self._client.apply(
                {
                    "apiVersion": "toys.example.com/v1",
                    "kind": "Toy",
                    "metadata": {
                        "name": request.name,
                        "namespace": request.namespace,
                        "labels": {"colour": self._colour},
                    },
                }
            )
        return Result()


def add_controllers(manager: Manager, flags: Flags, environment: Mapping[str, str]) -> None:
    painter = Labeler(manager, environment.get("COLOUR", "red"))
    builder = ControllerBuilder().watches_for(TOY)
    manager.add_controller(builder.build(painter, registry=manager.registry))
    assert flags.workers == 3


def add_webhooks(server: WebhookServer) -> None:
    server.add_conversions(Conversions())


OPERATOR = Operator(
    name="toy-operator",
    lock="toys",
    workers=3,
    add_controllers=add_controllers,
    add_webhooks=add_webhooks,
)


def write_kubeconfig(path: Path, url: str) -> None:
    path.write_text(
        "{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], "
        f"clusters: [{{name: k, cluster: {{server: '{url}'}}}}], users: [{{name: u, user: {{}}}}]}}"
    )


def write_certificate(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    certificate, key = self_signed.make()
    (folder / "tls.crt").write_bytes(certificate)
    (folder / "tls.key").write_bytes(key)


async def ask(url: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url, ssl=False) as answer:
        return answer.status, await answer.text()


def test_the_process_leads_works_answers_and_releases_the_lease(tmp_path: Path) -> None:
    health, metrics, webhooks = free_port(), free_port(), free_port()
    write_certificate(tmp_path / "certificate")
    given = process.parse_flags(
        OPERATOR,
        [
            f"--kubeconfig={tmp_path / 'kubeconfig'}",
            f"--health-probe-bind-address=127.0.0.1:{health}",
            f"--metrics-bind-address=127.0.0.1:{metrics}",
            f"--webhook-bind-address=127.0.0.1:{webhooks}",
            f"--webhook-cert-path={tmp_path / 'certificate'}",
            "--leader-elect",
            "--leader-election-namespace=default",
        ],
    )

    async def work() -> None:
        async with asyncio.timeout(30), ApiServer.of(RESOURCES).serving() as server:
            write_kubeconfig(tmp_path / "kubeconfig", server.url)
            server.put("toys", {"metadata": {"name": "t"}})
            running = asyncio.create_task(process.run(OPERATOR, given, {"COLOUR": "blue"}))
            while "labels" not in (server.get("toys", "t") or {"metadata": {}})["metadata"]:
                assert not running.done()
                await asyncio.sleep(0.02)
            toy = server.get("toys", "t")
            assert toy is not None
            assert toy["metadata"]["labels"] == {"colour": "blue"}
            lease = server.get("leases", "toys")
            assert lease is not None
            assert lease["spec"]["holderIdentity"]
            code, text = await ask(f"http://127.0.0.1:{health}/readyz?verbose")
            assert (code, text.splitlines()) == (
                200,
                [
                    "[+]manager ok",
                    "[+]ping ok",
                    "[+]watches ok",
                    "[+]webhook ok",
                    "readyz check passed",
                ],
            )
            code, _ = await ask(f"https://127.0.0.1:{metrics}/metrics")
            assert code == 401  # metrics are only for authenticated clients
            os.kill(os.getpid(), signal.SIGTERM)
            await running
            lease = server.get("leases", "toys")
            assert lease is not None
            assert lease["spec"]["holderIdentity"] == ""

    asyncio.run(work())


def test_the_process_watches_the_given_namespaces(tmp_path: Path) -> None:
    flags = process.parse_flags(
        OPERATOR,
        [f"--kubeconfig={tmp_path / 'kubeconfig'}", "--health-probe-bind-address=0"],
    )

    async def work() -> None:
        async with asyncio.timeout(30), ApiServer.of(RESOURCES).serving() as server:
            write_kubeconfig(tmp_path / "kubeconfig", server.url)
            for namespace in ("a", "b", "c"):
                server.put("toys", {"metadata": {"name": "t", "namespace": namespace}})
            environment = {"WATCH_NAMESPACE": "a, c"}
            running = asyncio.create_task(process.run(OPERATOR, flags, environment))
            for namespace in ("a", "c"):
                while "labels" not in (server.get("toys", "t", namespace) or {})["metadata"]:
                    assert not running.done()
                    await asyncio.sleep(0.02)
            os.kill(os.getpid(), signal.SIGTERM)
            await running
            left = server.get("toys", "t", "b")
            assert left is not None
            assert "labels" not in left["metadata"]

    asyncio.run(work())


def test_the_user_agent_is_the_operator_with_its_version() -> None:
    assert process.user_agent("pytest") == f"pytest/{pytest.__version__} olmkit/{__version__}"
    assert process.user_agent("toy-operator") == f"toy-operator olmkit/{__version__}"


def test_a_process_without_a_reachable_cluster_reports_why_and_ends_with_1(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    code = process.main(OPERATOR, [f"--kubeconfig={tmp_path / 'missing'}"], {})
    assert code == 1
    assert "missing" in caplog.text


def test_an_interrupt_during_the_start_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(5)

    monkeypatch.setattr(process, "run", interrupted)
    assert process.main(OPERATOR, [], {}) == 130


HANGING = """
import asyncio, sys, time
from olmkit.kube.objects import GVK
from olmkit.runtime import process
from olmkit.runtime.work.builder import ControllerBuilder

class Hanging:
    async def reconcile(self, request):
        print("begun", flush=True)
        if sys.argv[1] == "thread":
            await asyncio.to_thread(time.sleep, 1000)
        while True:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                continue

def add(manager, flags, environment):
    toy = GVK(group="toys.example.com", version="v1", kind="Toy")
    builder = ControllerBuilder().watches_for(toy)
    manager.add_controller(builder.build(Hanging(), registry=manager.registry))

operator = process.Operator(
    name="toy", lock="toys", add_controllers=add, graceful_shutdown_timeout=0.2
)
sys.exit(process.main(operator, sys.argv[2:]))
"""


@pytest.mark.parametrize("how", ["thread", "task"])
@pytest.mark.parametrize("event", ["stop", "lost"])
def test_blocked_threads_do_not_block_the_end_of_the_process(
    how: str, event: str, tmp_path: Path
) -> None:
    words = [how, f"--kubeconfig={tmp_path / 'kubeconfig'}", "--health-probe-bind-address=0"]
    words += ["--leader-elect", "--leader-election-namespace=default"]
    words += [f"--leader-elect-{name}" for name in ("retry-period=0.2", "renew-deadline=5")]

    async def work() -> None:
        async with asyncio.timeout(60), ApiServer.of(RESOURCES).serving() as server:
            write_kubeconfig(tmp_path / "kubeconfig", server.url)
            server.put("toys", {"metadata": {"name": "t"}})
            running = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", HANGING, *words),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
            assert running.stdout is not None
            assert await running.stdout.readline() == b"begun\n"
            if event == "stop":
                running.send_signal(signal.SIGTERM)
            else:
                lease = server.get("leases", "toys") or {}
                lease["spec"] |= {"holderIdentity": "other", "leaseDurationSeconds": 600}
                server.put("leases", lease)
            assert await running.wait() == 1

    asyncio.run(work())


def test_a_port_in_use_ends_the_process_and_is_named(tmp_path: Path) -> None:
    async def work() -> None:
        async with ApiServer.of(RESOURCES).serving() as server:
            write_kubeconfig(tmp_path / "kubeconfig", server.url)
            port = server.url.rpartition(":")[2]
            flags = process.parse_flags(
                OPERATOR,
                [
                    f"--kubeconfig={tmp_path / 'kubeconfig'}",
                    f"--health-probe-bind-address=127.0.0.1:{port}",
                ],
            )
            with pytest.raises(ConfigurationError, match=rf"127\.0\.0\.1:{port}.* in use"):
                await process.run(OPERATOR, flags, {})

    asyncio.run(work())


def test_election_outside_a_cluster_needs_a_namespace() -> None:
    config = ClusterConfig(server="http://127.0.0.1:1")
    flags = process.parse_flags(OPERATOR, ["--leader-elect"])
    with pytest.raises(ConfigurationError, match="needs a namespace"):
        process.elector(OPERATOR, config, flags, Registry())
    alone = process.parse_flags(OPERATOR, [])
    assert process.elector(OPERATOR, config, alone, Registry()) is None


def test_a_configured_certificate_must_exist(tmp_path: Path) -> None:
    flags = process.parse_flags(OPERATOR, [f"--webhook-cert-path={tmp_path}"])
    found = process.webhook_files(flags, {})
    assert found is not None
    with pytest.raises(ConfigurationError, match="are not a certificate and its key"):
        WebhookServer(("127.0.0.1", 0), found, registry=Registry())


def test_without_a_certificate_in_the_usual_path_there_are_no_webhooks(tmp_path: Path) -> None:
    environment = {"TMPDIR": str(tmp_path)}
    assert process.webhook_files(Flags(), environment) is None
    folder = tmp_path / "k8s-webhook-server/serving-certs"
    write_certificate(folder)
    assert process.webhook_files(Flags(), environment) == CertificateFiles(folder=folder)
    assert process.webhook_files(Flags(), environment | {"ENABLE_WEBHOOKS": "false"}) is None


def test_renewals_of_the_metrics_certificate_are_counted(tmp_path: Path) -> None:
    write_certificate(tmp_path)
    words = ["--metrics-bind-address=127.0.0.1:0", f"--metrics-cert-path={tmp_path}"]
    registry = Registry()
    process.assemble(
        OPERATOR,
        process.parse_flags(OPERATOR, words),
        {"TMPDIR": str(tmp_path)},
        cluster=HttpCluster(ClusterConfig(server="http://127.0.0.1:1")),
        registry=registry,
    )
    assert "certwatcher_read_certificate_total 0.0\n" in registry.render()


def test_a_controller_that_was_built_and_not_added_is_an_error() -> None:
    def forget(manager: Manager, flags: Flags, environment: Mapping[str, str]) -> None:  # noqa: ARG001
        ControllerBuilder().named("toys").watches_for(TOY).build(Labeler(manager, "red"))

    operator = Operator(name="toy-operator", lock="toys", add_controllers=forget)
    flags = process.parse_flags(
        operator, ["--health-probe-bind-address=0", "--metrics-bind-address=0"]
    )
    with pytest.raises(ConfigurationError, match="built but not added to the manager: `toys`"):
        process.assemble(operator, flags, {}, cluster=cast("Cluster", None), registry=Registry())
