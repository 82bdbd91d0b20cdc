"""Clients of test servers, and manifests from files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.objects import Manifest
from olmkit.runtime.client import Client
from olmkit.testing.apiserver.server import ApiServer
from olmkit.testing.control_plane import ControlPlane


@asynccontextmanager
async def client_for(
    server: ApiServer | ControlPlane, *, field_manager: str = "test"
) -> AsyncIterator[Client]:
    """Return a client without a cache; the server must be running.

    `client.cluster` is the connection for `EventRecorder` and `Manager`.
    """
    async with HttpCluster(config_of(server)) as cluster:
        yield Client(cluster, None, field_manager=field_manager)


def config_of(server: ApiServer | ControlPlane) -> ClusterConfig:
    """Return the connection settings of a running server."""
    if isinstance(server, ApiServer):
        return ClusterConfig(server=server.url)
    return kubeconfig.load(paths=[server.kubeconfig])


def load_manifest(path: Path | str) -> Manifest:
    """Return the first object of a YAML or JSON file.

    Raises `InputError` with line and column if the file is not valid, and `OSError` if it cannot be
    read.
    """
    document = documents.load(Path(path).read_bytes(), str(path))
    if not isinstance(document.value, dict):
        raise InputError(f"`{path}` does not contain an object")
    return document.value
