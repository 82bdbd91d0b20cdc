"""What keeps an operator from its work: it is said, and when it ends the work goes on."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest

from olmkit.kube.api import NotFound
from olmkit.testing.registry import free_port

if TYPE_CHECKING:
    from conftest import Operated

    from olmkit.edges.cluster import HttpCluster

pytestmark = pytest.mark.e2e


def _probe(port: int, path: str) -> tuple[int, str]:
    """Code and words of a probe; 0 while nobody listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


async def _make(cluster: HttpCluster) -> None:
    memcacheds = await cluster.resource("cache.example.com/v1alpha1", "Memcached")
    manifest = {
        "apiVersion": memcacheds.api_version,
        "kind": "Memcached",
        "metadata": {"name": "sample", "namespace": "default"},
        "spec": {"size": 1, "containerPort": 11211},
    }
    await cluster.create(memcacheds, manifest)


async def _is_deployed(cluster: HttpCluster) -> bool:
    deployments = await cluster.resource("apps/v1", "Deployment")
    try:
        await cluster.get(deployments, "sample", namespace="default")
    except NotFound:
        return False
    return True


def test_kinds_that_are_installed_after_the_operator_are_found(
    bare: Operated, until: Callable[..., Awaitable[Any]]
) -> None:
    replica = bare.start()

    async def is_said() -> bool:
        assert replica.is_running, replica.words()
        return "the kind is not there" in replica.words()

    asyncio.run(until(is_said))
    bare.install_kinds()

    async def story() -> None:
        async with bare.cluster() as cluster:
            await _make(cluster)
            await until(lambda: _is_deployed(cluster))

    asyncio.run(story())
    assert replica.is_running
    assert "Traceback" not in replica.words()


def test_operator_without_rights_says_which_and_goes_on_when_it_has_them(
    operated: Operated, until: Callable[..., Awaitable[Any]]
) -> None:
    health = free_port()
    config = operated.plane.write_kubeconfig(
        operated.plane.folder / "nobody.kubeconfig", user="nobody", groups=()
    )
    replica = operated.start(f"--health-probe-bind-address=127.0.0.1:{health}", config=config)

    async def is_said() -> bool:
        assert replica.is_running, replica.words()
        return "memcacheds" in replica.words()

    asyncio.run(until(is_said))
    words = replica.words()
    assert 'cannot list resource \\"memcacheds\\"' in words, words[-2000:]
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "nobody-is-somebody"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [{"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    file = operated.plane.folder / "role.json"
    file.write_text(json.dumps(role))
    operated.install([file])

    async def story() -> None:
        async with operated.cluster() as cluster:
            await _make(cluster)
            await until(lambda: _is_deployed(cluster), 90)

    asyncio.run(story())
    assert replica.is_running
    assert _probe(health, "/readyz")[0] == 200


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"certificate-authority": None}, "certificate"),
        ({"server": "https://127.0.0.1:1"}, "cannot reach the API server"),
    ],
)
def test_server_that_cannot_be_talked_to_is_said(
    operated: Operated,
    until: Callable[..., Awaitable[Any]],
    change: dict[str, str | None],
    words: str,
) -> None:
    config = json.loads(operated.plane.kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"] | change
    config["clusters"][0]["cluster"] = {key: value for key, value in cluster.items() if value}
    path = operated.plane.folder / "changed.kubeconfig"
    path.write_text(json.dumps(config))
    replica = operated.start(config=path)

    async def is_said() -> bool:
        return words in replica.words()

    asyncio.run(until(is_said))
    assert "Traceback" not in replica.words()
    assert operated.plane.token not in replica.words()
