"""`olmkit run` of the shipped operator with a real API server."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from olmkit.kube.api import NotFound

if TYPE_CHECKING:
    from conftest import OperatorPlane

pytestmark = pytest.mark.e2e

OPERATOR = Path(__file__).resolve().parent.parent.parent.parent / "operator"


def test_the_shipped_operator_works_until_it_is_interrupted(
    operator_plane: OperatorPlane, until: Callable[..., Awaitable[Any]]
) -> None:
    clean = {key: value for key, value in os.environ.items() if key != "MEMCACHED_IMAGE"}
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "olmkit", "run", "-C", str(OPERATOR), "-n", "default"),
            *("--kubeconfig", str(operator_plane.plane.kubeconfig)),
            *("--", "--health-probe-bind-address=0"),
        ],
        env=clean,
        stderr=subprocess.PIPE,
    )

    async def scenario() -> None:
        async with operator_plane.cluster() as cluster:
            memcacheds = await cluster.resource("cache.example.com/v1alpha1", "Memcached")
            deployments = await cluster.resource("apps/v1", "Deployment")
            manifest = {
                "apiVersion": memcacheds.api_version,
                "kind": "Memcached",
                "metadata": {"name": "sample", "namespace": "default"},
                "spec": {"size": 2, "containerPort": 11211},
            }
            await cluster.create(memcacheds, manifest)

            async def found() -> dict[str, Any] | None:
                try:
                    return await cluster.get(deployments, "sample", namespace="default")
                except NotFound:
                    return None

            deployment = await until(found)
            [container] = deployment["spec"]["template"]["spec"]["containers"]
            assert container["image"].startswith("docker.io/library/memcached:"), (
                "the image that config/manager names"
            )

    try:
        asyncio.run(scenario())
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, words.decode()
    assert b"Traceback" not in words
