"""Run a manager, or a whole operator with its webhooks, in a task of a test."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olmkit.edges.cluster.client import HttpCluster
from olmkit.kube.objects import Manifest
from olmkit.runtime import process
from olmkit.runtime.client import Client
from olmkit.runtime.manager import Manager
from olmkit.runtime.metrics import Registry
from olmkit.runtime.process import Operator
from olmkit.runtime.serve import self_signed
from olmkit.runtime.serve.webhook import WebhookServer
from olmkit.runtime.serve.webhook_conversion import Conversions
from olmkit.testing import clients, installing
from olmkit.testing.apiserver import admission
from olmkit.testing.apiserver.server import ApiServer
from olmkit.testing.control_plane import ControlPlane
from olmkit.testing.installing import Endpoint
from olmkit.testing.registry import free_port
from olmkit.testing.waiting import until

Server = ApiServer | ControlPlane
_START = 60.0


@dataclass(frozen=True, slots=True)
class Running:
    """A manager and the task in which it runs."""

    manager: Manager
    task: asyncio.Task[None]


@asynccontextmanager
async def running(manager: Manager) -> AsyncIterator[Running]:
    """Run the manager in a task within the block, which starts when the manager is ready.

    Raises the error that ended the manager early.
    """
    task = asyncio.create_task(manager.run(), name=f"manager {manager.name}")

    def has_started() -> bool:
        return manager.ready or task.done()

    try:
        await until(has_started, seconds=_START, what=f"the manager {manager.name} is ready")
        if task.done():
            task.result()
        yield Running(manager, task)
    finally:
        manager.stop()
        await asyncio.wait([task])
    task.result()


@asynccontextmanager
async def running_operator(
    server: Server,
    operator: Operator,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    config: Path | None = None,
) -> AsyncIterator[Running]:
    """Run the operator like its process, without probes, metrics and leader election.

    `arguments` are flags, `environment` is that of the pod. With `config`, webhooks are served on
    loopback, and the server calls them according to the manifests in that folder until the block
    ends. Raises `ConfigurationError` for webhooks without the extra `certificates`.
    """
    hooks = _Hooks(operator)
    with tempfile.TemporaryDirectory() as folder:
        flags = [
            "--metrics-bind-address=0",
            "--health-probe-bind-address=0",
            "--leader-elect=false",
        ]
        endpoint = None
        if config is not None and operator.add_webhooks is not None:
            endpoint = _certify(Path(folder))
            address = endpoint.url.removeprefix("https://")
            flags += [f"--webhook-bind-address={address}", f"--webhook-cert-path={folder}"]
        else:
            flags += ["--webhook-bind-address=0"]
        given = process.parse_flags(operator, [*flags, *arguments])
        agent = process.user_agent(operator.name)
        async with HttpCluster(clients.config_of(server), user_agent=agent) as cluster:
            manager = process.assemble(
                hooks.noted, given, environment or {}, cluster=cluster, registry=Registry()
            )
            async with contextlib.AsyncExitStack() as calls:
                if endpoint is not None and config is not None:
                    await calls.enter_async_context(hooks.called(server, config, endpoint))
                yield await calls.enter_async_context(running(manager))


def _certify(folder: Path) -> Endpoint:
    certificate, key = self_signed.make()
    (folder / "tls.crt").write_bytes(certificate)
    (folder / "tls.key").write_bytes(key)
    return Endpoint(url=f"https://127.0.0.1:{free_port()}", certificate=certificate)


class _Hooks:
    """The webhooks and conversions of an operator."""

    def __init__(self, operator: Operator) -> None:
        self._conversions: Conversions | None = None
        add = operator.add_webhooks

        def noted(server: WebhookServer) -> None:
            if add is not None:
                whole: Any = _Noting(server, self)
                add(whole)

        self.noted = dataclasses.replace(operator, add_webhooks=noted if add else None)

    def converts(self, conversions: Conversions) -> None:
        """Record the conversions of the operator."""
        self._conversions = conversions

    @asynccontextmanager
    async def called(self, server: Server, config: Path, endpoint: Endpoint) -> AsyncIterator[None]:
        """Make the server call the webhooks within the block."""
        several = [one for one in installing.crds(config) if self._is_converted(one)]
        configurations = installing.webhooks(config)
        if isinstance(server, ApiServer):
            before = list(server.webhooks)
            for one in configurations:
                server.webhooks += admission.of_configuration(one, endpoint.url)
            for one in several:
                server.install(one, convert=self._convert)
            try:
                yield
            finally:
                server.webhooks[:] = before
            return
        calling = [installing.calling(one, endpoint) for one in configurations]
        converting = [installing.converting(one, endpoint) for one in several]
        async with clients.client_for(server, field_manager=_MANAGER) as client:
            await installing.install(client, [*converting, *calling])
            try:
                yield
            finally:
                await _restore(client, calling, several)

    def _is_converted(self, crd: Manifest) -> bool:
        if self._conversions is None or len(crd["spec"]["versions"]) < 2:
            return False
        return not self._conversions.check(crd)

    def _convert(self, manifest: Manifest, version: str) -> Manifest:
        assert self._conversions is not None  # noqa: S101 - asked for what is converted only
        return self._conversions.convert(manifest, version.rpartition("/")[2])


class _Noting:
    """A wrapper of a webhook server that records its conversions."""

    def __init__(self, server: WebhookServer, hooks: _Hooks) -> None:
        self._server = server
        self._hooks = hooks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    def add_conversions(self, conversions: Conversions, *path: str) -> None:
        """Record the conversions and add them to the server."""
        self._hooks.converts(conversions)
        self._server.add_conversions(conversions, *path)


_MANAGER = "olmkit-testing"


async def _restore(client: Client, calling: list[Manifest], crds: list[Manifest]) -> None:
    """Restore the server's state from before the webhooks, which no longer respond."""
    await installing.uninstall(client, calling)
    for crd in crds:
        await client.apply(crd, force=True)
