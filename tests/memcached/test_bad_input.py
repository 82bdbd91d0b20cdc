"""The operator's own process with invalid input: it reports the error, and reacts correctly.

An error that only a new start can fix ends it at once with exit code 1. If others
can fix it while the process runs, it continues, and probes and status show its state.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from memcached_operator.api.v1alpha1.memcached import Memcached

from olmkit.base import documents
from olmkit.runtime import Resource, conditions, self_signed
from olmkit.testing import BUILT_IN, Access, ApiServer, Fault, free_port

MEMCACHEDS = Resource(gvk=Memcached.gvk, plural="memcacheds", subresources=frozenset({"status"}))


@dataclass(eq=False)
class Running:
    """A process of the operator and the lines that it has written."""

    process: asyncio.subprocess.Process
    health: int
    lines: list[str] = field(default_factory=list)

    def said(self, words: str) -> list[str]:
        return [line for line in self.lines if words in line]

    async def until(self, holds: Callable[[], Any]) -> Any:
        while not (found := holds()):
            assert self.process.returncode is None, self.lines
            await asyncio.sleep(0.02)
        return found

    async def probe(self, path: str) -> int:
        """Return the status code of a probe, or 0 while nothing answers."""
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"http://127.0.0.1:{self.health}{path}") as answer,
            ):
                return answer.status
        except aiohttp.ClientConnectionError:
            return 0

    async def until_probe(self, path: str, code: int) -> None:
        while await self.probe(path) != code:
            assert self.process.returncode is None, self.lines
            await asyncio.sleep(0.05)

    async def end(self) -> int:
        """Return the exit code, if it ends by itself."""
        return await self.process.wait()


@asynccontextmanager
async def started(config: Path, *flags: str) -> AsyncIterator[Running]:
    """Run the process as a container does; it never prints a traceback."""
    health = free_port()
    words = [f"--kubeconfig={config}", f"--health-probe-bind-address=127.0.0.1:{health}", *flags]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-m", "memcached_operator", *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={"MEMCACHED_IMAGE": "m:1", "TMPDIR": str(config.parent), "HOME": str(config.parent)},
    )
    running = Running(process, health)

    async def read() -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            running.lines.append(line.decode().rstrip())

    reading = asyncio.create_task(read())
    try:
        yield running
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        await reading
    assert running.said("Traceback") == [], "\n".join(running.lines)


def write_kubeconfig(path: Path, server: str, **cluster: str) -> Path:
    manifest = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": server} | cluster}],
        "users": [{"name": "u", "user": {}}],
    }
    path.write_bytes(documents.dump(manifest))
    return path


def run_scenario(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await work()

    asyncio.run(bounded())


def condition(server: ApiServer, kind: str) -> Mapping[str, Any]:
    found = server.get("memcacheds", "m") or {}
    listed = (found.get("status") or {}).get("conditions") or []
    return conditions.find(listed, kind) or {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "does not exist"),
        ("clusters: [", "kubeconfig"),
        ("{}", "kubeconfig"),
        ("{current-context: gone, contexts: []}", "gone"),
    ],
    ids=["missing", "no YAML", "empty", "no such context"],
)
def test_an_invalid_kubeconfig_ends_the_process_and_is_named(
    tmp_path: Path, text: str | None, words: str
) -> None:
    config = tmp_path / "kubeconfig"
    if text is not None:
        config.write_text(text)

    async def work() -> None:
        async with started(config) as running:
            assert await running.end() == 1
        [line] = running.lines
        assert words in line
        assert " ERROR " in line

    run_scenario(work)


def test_an_unreachable_server_is_reported_and_fails_liveness_in_time(
    tmp_path: Path,
) -> None:
    config = write_kubeconfig(tmp_path / "kubeconfig", f"http://127.0.0.1:{free_port()}")

    async def work() -> None:
        async with started(config, "--watch-patience=2") as running:
            await running.until(lambda: running.said("cannot reach the API server at"))
            assert await running.probe("/healthz") == 200
            await running.until_probe("/healthz", 500)
        assert len(running.said("cannot discover the kind")) == 4, "once per kind"

    run_scenario(work)


def test_a_missing_kind_is_reported_and_found_when_it_is_installed(tmp_path: Path) -> None:
    async def work() -> None:
        async with ApiServer.of(BUILT_IN).serving() as server:
            config = write_kubeconfig(tmp_path / "kubeconfig", server.url)
            async with started(config, "--watch-patience=1") as running:
                await running.until(lambda: running.said("does not know the kind `Memcached`"))
                assert running.said("install its CustomResourceDefinition first")
                await running.until_probe("/readyz", 500)
                await asyncio.sleep(1.5)
                assert await running.probe("/healthz") == 200
                server.collections |= ApiServer.of([MEMCACHEDS]).collections
                server.put("memcacheds", {"metadata": {"name": "m"}, "spec": {"size": 1}})
                await running.until(lambda: server.get("deployments", "m"))
                assert await running.probe("/readyz") == 200

    run_scenario(work)


def test_forbidden_verbs_are_reported_with_the_rule_and_in_the_status(tmp_path: Path) -> None:
    def denies(access: Access) -> bool:
        return access.resource == "services"

    async def work() -> None:
        server = ApiServer.of([MEMCACHEDS, *BUILT_IN])
        server.denies = denies
        server.put("memcacheds", {"metadata": {"name": "m"}, "spec": {"size": 1}})
        async with server.serving():
            config = write_kubeconfig(tmp_path / "kubeconfig", server.url)
            async with started(config, "--watch-patience=1") as running:
                await running.until(lambda: condition(server, "Degraded").get("status") == "True")
                words = 'cannot list resource "services"'
                assert words in condition(server, "Degraded")["message"]
                assert server.get("deployments", "m") is not None
                await running.until_probe("/readyz", 500)
                await asyncio.sleep(1.5)
                assert await running.probe("/healthz") == 200
                [line] = running.said(" cannot list api_version")
                assert "resources: [services], verbs: [get, list, watch]" in line
                server.denies = lambda _: False
                await running.until(lambda: server.get("services", "m"))
                await running.until(lambda: condition(server, "Degraded").get("status") == "False")
                await running.until_probe("/readyz", 200)

    run_scenario(work)


@pytest.mark.parametrize("how", ["forbidden", "broken"])
def test_a_refused_watch_fails_liveness(tmp_path: Path, how: str) -> None:
    """Lists are answered during this time: they do not replace a watch."""

    async def work() -> None:
        server = ApiServer.of([MEMCACHEDS, *BUILT_IN])
        async with server.serving():
            config = write_kubeconfig(tmp_path / "kubeconfig", server.url)
            async with started(config, "--watch-patience=3") as running:
                await running.until_probe("/readyz", 200)
                await running.until(lambda: all(c.watchers for c in _watched(server)))
                if how == "forbidden":
                    server.denies = lambda access: access.verb == "watch"
                else:
                    server.plan = lambda _, path: Fault.ERROR if "watch=true" in path else None
                server.end_watches()
                await running.until(lambda: running.said("the watch was"))
                assert await running.probe("/healthz") == 200
                await running.until_probe("/healthz", 500)
                await running.until(lambda: running.said("failing for 3 s"))
                server.denies, server.plan = (lambda _: False), None
                server.put("memcacheds", {"metadata": {"name": "m"}, "spec": {"size": 1}})
                await running.until(lambda: server.get("deployments", "m"))

    run_scenario(work)


def _watched(server: ApiServer) -> list[Any]:
    kinds = ("/memcacheds", "/deployments", "/services", "/pods")
    return [one for path, one in server.collections.items() if path.endswith(kinds)]


def test_an_expired_certificate_of_the_server_is_reported(tmp_path: Path) -> None:
    past = datetime.timedelta(minutes=-1)
    certificate, key = self_signed.make(addresses=["127.0.0.1"], lifetime=past)
    (tmp_path / "ca.crt").write_bytes(certificate)
    (tmp_path / "ca.key").write_bytes(key)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "ca.crt", tmp_path / "ca.key")

    async def work() -> None:
        async with _tls_server(tls) as port:
            authority = {"certificate-authority": str(tmp_path / "ca.crt")}
            url = f"https://127.0.0.1:{port}"
            config = write_kubeconfig(tmp_path / "kubeconfig", url, **authority)
            async with started(config, "--watch-patience=1") as running:
                await running.until(lambda: running.said("certificate has expired"))
                await running.until_probe("/healthz", 500)

    run_scenario(work)


@asynccontextmanager
async def _tls_server(tls: ssl.SSLContext) -> AsyncIterator[int]:
    runner = web.AppRunner(web.Application(), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def _write_certificate(folder: Path, **options: Any) -> None:
    certificate, key = self_signed.make(**options)
    (folder / "tls.crt").write_bytes(certificate)
    (folder / "tls.key").write_bytes(key)


def test_webhooks_with_an_expired_certificate_are_not_ready(tmp_path: Path) -> None:
    _write_certificate(tmp_path, lifetime=datetime.timedelta(minutes=-1))

    async def work() -> None:
        async with ApiServer.of([MEMCACHEDS, *BUILT_IN]).serving() as server:
            config = write_kubeconfig(tmp_path / "kubeconfig", server.url)
            flags = (
                f"--webhook-bind-address=127.0.0.1:{free_port()}",
                f"--webhook-cert-path={tmp_path}",
            )
            async with started(config, *flags) as running:
                await running.until_probe("/readyz/manager", 200)
                assert await running.probe("/readyz") == 500
                assert await running.probe("/healthz") == 200
                await running.until(lambda: running.said("certificate is not valid now"))

    run_scenario(work)


MUTATE = "/mutate-cache-example-com-v1alpha1-memcached"
VALIDATE = "/validate-cache-example-com-v1alpha1-memcached"
NO_REVIEWS = [
    (MUTATE, b"{}", "application/json", 400),
    (MUTATE, b"[1]", "application/json", 400),
    (VALIDATE, b"\xff{", "application/json", 400),
    (VALIDATE, b"", "application/json", 400),
    (VALIDATE, b"{}", "text/plain", 415),
    ("/convert", b'{"kind": "AdmissionReview", "request": {}}', "application/json", 400),
]


def test_an_invalid_review_is_refused_and_reported(tmp_path: Path) -> None:
    _write_certificate(tmp_path)
    port = free_port()

    async def work() -> None:
        async with ApiServer.of([MEMCACHEDS, *BUILT_IN]).serving() as server:
            config = write_kubeconfig(tmp_path / "kubeconfig", server.url)
            flags = (f"--webhook-bind-address=127.0.0.1:{port}", f"--webhook-cert-path={tmp_path}")
            async with started(config, *flags) as running:
                await running.until_probe("/readyz", 200)
                tls = ssl.create_default_context(cafile=str(tmp_path / "tls.crt"))
                async with aiohttp.ClientSession(f"https://localhost:{port}") as session:
                    for path, body, kind, status in NO_REVIEWS:
                        headers = {"Content-Type": kind}
                        async with session.post(
                            path, data=body, headers=headers, ssl=tls
                        ) as answer:
                            assert answer.status == status, (path, body)
                await running.until(lambda: len(running.said("no review")) == len(NO_REVIEWS))
                assert await running.probe("/readyz") == 200

    run_scenario(work)


@pytest.mark.parametrize("which", ["health-probe", "metrics", "webhook"])
def test_a_port_in_use_ends_the_process_and_is_named(tmp_path: Path, which: str) -> None:
    _write_certificate(tmp_path)

    async def work() -> None:
        async with ApiServer.of([MEMCACHEDS, *BUILT_IN]).serving() as server:
            config = write_kubeconfig(tmp_path / "kubeconfig", server.url)
            taken = server.url.removeprefix("http://")
            flags = (
                f"--webhook-bind-address=127.0.0.1:{free_port()}",
                f"--webhook-cert-path={tmp_path}",
                f"--{which}-bind-address={taken}",
            )
            async with started(config, *flags) as running:
                assert await running.end() == 1
            assert [line for line in running.said(" ERROR ") if taken in line]

    run_scenario(work)


def test_of_two_processes_with_one_lease_one_works_and_the_other_names_the_holder(
    tmp_path: Path,
) -> None:
    flags = ("--leader-elect", "--leader-election-namespace=default")

    async def work() -> None:
        async with ApiServer.of([MEMCACHEDS, *BUILT_IN]).serving() as server:
            config = write_kubeconfig(tmp_path / "kubeconfig", server.url)
            async with started(config, *flags) as first:
                await first.until(lambda: first.said("this replica leads"))
                async with started(config, *flags) as second:
                    await second.until(lambda: second.said("another replica leads"))
                    await second.until_probe("/readyz", 200)
                    assert await second.probe("/healthz") == 200
                    first.process.terminate()
                    assert await first.end() == 0
                    await second.until(lambda: second.said("this replica leads"))
                    server.put("memcacheds", {"metadata": {"name": "m"}, "spec": {"size": 1}})
                    await second.until(lambda: server.get("deployments", "m"))

    run_scenario(work)


def test_a_lease_that_cannot_be_read_is_reported_once(tmp_path: Path) -> None:
    flags = (
        "--leader-elect",
        "--leader-election-namespace=default",
        "--leader-elect-retry-period=0.1",
    )

    async def work() -> None:
        server = ApiServer.of([MEMCACHEDS, *BUILT_IN])
        server.denies = lambda access: access.resource == "leases"
        async with server.serving():
            config = write_kubeconfig(tmp_path / "kubeconfig", server.url)
            async with started(config, *flags) as running:
                await running.until(lambda: running.said("lease not acquired"))
                await asyncio.sleep(1)
                [line] = running.said("lease not acquired")
                assert 'resource \\"leases\\"' in line
                server.denies = lambda _: False
                await running.until(lambda: running.said("this replica leads"))

    run_scenario(work)


@pytest.mark.parametrize("size", [0, 6, "many"])
def test_an_object_that_violates_the_schema_is_reported_in_its_status(
    tmp_path: Path, size: Any
) -> None:
    """Like an object that was stored before there was a schema; the server refuses new ones."""

    async def work() -> None:
        server = ApiServer.of([MEMCACHEDS, *BUILT_IN])
        server.put("memcacheds", {"metadata": {"name": "m"}, "spec": {"size": size}})
        async with server.serving():
            config = write_kubeconfig(tmp_path / "kubeconfig", server.url)
            async with started(config) as running:
                await running.until(lambda: condition(server, "Degraded").get("status") == "True")
                assert condition(server, "Degraded")["reason"] == "InvalidSpec"
                assert "size" in condition(server, "Degraded")["message"]
                await running.until(lambda: running.said("reconcile failed, terminal error"))
                await asyncio.sleep(0.5)
                assert len(running.said("reconcile failed")) == 1
                assert await running.probe("/healthz") == 200

    run_scenario(work)
