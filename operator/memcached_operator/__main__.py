"""The process: `python -m memcached_operator`."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from aiohttp import web

from memcached_operator import wiring
from olmkit.base.diagnostics import OlmkitError
from olmkit.edges import kubeconfig
from olmkit.edges.cluster import HttpCluster
from olmkit.runtime import manager as managers
from olmkit.runtime.manager import Group, Manager

NAME = "memcached-operator"
_LOG = logging.getLogger(__name__)


class Probes:
    """Answers `/healthz` always, and `/readyz` once the manager is ready."""

    name = "probes"

    def __init__(self, address: str, manager: Manager) -> None:
        host, _, port = address.rpartition(":")
        self._host, self._port = host or None, int(port)
        self._manager = manager

    async def run(self) -> None:
        application = web.Application()
        application.router.add_get("/healthz", self._healthy)
        application.router.add_get("/readyz", self._ready)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, self._host, self._port).start()
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    async def _healthy(self, _: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _ready(self, _: web.Request) -> web.Response:
        is_ready = self._manager.ready
        return web.Response(status=200 if is_ready else 503, text="ok" if is_ready else "not ready")


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=NAME, description="Keeps a Deployment for each Memcached."
    )
    parser.add_argument("--kubeconfig", type=Path, help="instead of the pod's service account")
    parser.add_argument("--health-probe-bind-address", default=":8081", metavar="HOST:PORT")
    parser.add_argument("--metrics-bind-address", default="0", metavar="HOST:PORT")
    parser.add_argument("--leader-elect", action="store_true")
    return parser.parse_args(words)


async def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> None:
    """Work until a signal says stop."""
    paths = [arguments.kubeconfig] if arguments.kubeconfig else []
    config = kubeconfig.load(paths=paths, environment=environment)
    async with HttpCluster(config, user_agent=NAME) as cluster:
        manager = Manager(
            cluster, name=NAME, cache_settings=wiring.CACHE, graceful_shutdown_timeout=8.0
        )
        if arguments.health_probe_bind_address != "0":
            manager.add(Probes(arguments.health_probe_bind_address, manager), Group.SERVERS)
        wiring.add_controller(manager, image=environment.get("MEMCACHED_IMAGE", ""))
        managers.stop_on_signals(manager)
        await manager.run()


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    arguments = _arguments(sys.argv[1:])
    if arguments.leader_elect or arguments.metrics_bind_address != "0":
        _LOG.warning("leader election and metrics are not served by this version")
    try:
        asyncio.run(run(arguments, os.environ))
    except OlmkitError as error:
        _LOG.error("%s", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
