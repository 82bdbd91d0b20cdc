"""Obstacles for an operator: they are reported, and without them the work continues."""

from __future__ import annotations

import asyncio
import copy
import json
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest

from olmkit.kube import conditions
from olmkit.kube.api import NotFound
from olmkit.testing.registry import free_port

if TYPE_CHECKING:
    from conftest import OperatorPlane

    from olmkit.edges.cluster.client import HttpCluster

pytestmark = pytest.mark.e2e


def _probe(port: int, path: str) -> tuple[int, str]:
    """Return status code and body of a probe, or 0 while nothing listens."""
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
    bare: OperatorPlane, until: Callable[..., Awaitable[Any]]
) -> None:
    replica = bare.start()

    async def is_said() -> bool:
        assert replica.is_running, replica.words()
        return "the kind is not installed" in replica.words()

    asyncio.run(until(is_said))
    bare.install_kinds()

    async def scenario() -> None:
        async with bare.cluster() as cluster:
            await _make(cluster)
            await until(lambda: _is_deployed(cluster))

    asyncio.run(scenario())
    assert replica.is_running
    assert "Traceback" not in replica.words()


async def _degraded(cluster: HttpCluster) -> tuple[str, str]:
    """Return status and message."""
    memcacheds = await cluster.resource("cache.example.com/v1alpha1", "Memcached")
    found = await cluster.get(memcacheds, "sample", namespace="default")
    listed = (found.get("status") or {}).get("conditions") or []
    one = conditions.find(listed, "Degraded") or {}
    return str(one.get("status")), str(one.get("message"))


def test_an_operator_without_permissions_names_them_and_continues_when_it_has_them(
    operator_plane: OperatorPlane, until: Callable[..., Awaitable[Any]]
) -> None:
    health = free_port()
    config = operator_plane.allow("unprivileged", [])
    flags = (f"--health-probe-bind-address=127.0.0.1:{health}", "--watch-patience=1")
    replica = operator_plane.start(*flags, config=config)

    async def is_said() -> bool:
        assert replica.is_running, replica.words()
        return replica.words().count(" cannot list api_version=") == 4

    asyncio.run(until(is_said))
    assert 'cannot list resource \\"memcacheds\\"' in replica.words()
    assert "resources: [memcacheds], verbs: [get, list, watch]" in replica.words()

    async def scenario() -> None:
        await until(lambda: _answers(health, "/readyz", 500))
        await asyncio.sleep(3)
        assert _probe(health, "/healthz")[0] == 200, "a new process would have no more permissions"
        assert replica.words().count(" cannot list api_version=") == 4, "once per kind"
        async with operator_plane.cluster() as cluster:
            await _make(cluster)
            await asyncio.to_thread(operator_plane.allow, "unprivileged", operator_plane.roles())
            await until(lambda: _is_deployed(cluster), 90)
        await until(lambda: _answers(health, "/readyz", 200))

    asyncio.run(scenario())
    assert replica.is_running


async def _answers(port: int, path: str, code: int) -> bool:
    return (await asyncio.to_thread(_probe, port, path))[0] == code


def test_a_missing_permission_for_one_kind_is_reported_in_the_status(
    operator_plane: OperatorPlane, until: Callable[..., Awaitable[Any]]
) -> None:
    roles = operator_plane.roles()
    [role] = [one for one in roles if one["kind"] == "ClusterRole"]
    without = copy.deepcopy(role)
    for rule in without["rules"]:
        rule["resources"] = [one for one in rule["resources"] if one != "services"]
    without["rules"] = [rule for rule in without["rules"] if rule["resources"]]
    replica = operator_plane.start(config=operator_plane.allow("restricted", [without]))

    async def scenario() -> None:
        async with operator_plane.cluster() as cluster:
            await _make(cluster)

            async def is_said() -> bool:
                status, message = await _degraded(cluster)
                return status == "True" and 'cannot list resource "services"' in message

            await until(is_said)
            assert await _is_deployed(cluster)
            everything = {**role, "metadata": {"name": "everything"}}
            await asyncio.to_thread(operator_plane.allow, "restricted", [everything])

            async def is_well() -> bool:
                return (await _degraded(cluster))[0] == "False"

            await until(is_well, 90)
            services = await cluster.resource("v1", "Service")
            await cluster.get(services, "sample", namespace="default")

    asyncio.run(scenario())
    assert replica.is_running
    assert "Traceback" not in replica.words()


def test_a_deleted_kind_fails_liveness_unless_it_is_installed_again(
    operator_plane: OperatorPlane, until: Callable[..., Awaitable[Any]]
) -> None:
    health = free_port()
    flags = (f"--health-probe-bind-address=127.0.0.1:{health}", "--watch-patience=4")
    replica = operator_plane.start(*flags)

    async def scenario() -> None:
        await until(lambda: _answers(health, "/readyz", 200))
        async with operator_plane.cluster() as cluster:
            await _make(cluster)
            await until(lambda: _is_deployed(cluster))
            crds = await cluster.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition")
            memcacheds = await cluster.resource("cache.example.com/v1alpha1", "Memcached")
            await cluster.delete(memcacheds, "sample", namespace="default")
            await cluster.delete(crds, "memcacheds.cache.example.com")
        await until(lambda: _answers(health, "/healthz", 500), 90)
        assert "install its CustomResourceDefinition again" in replica.words()
        await asyncio.to_thread(operator_plane.install_kinds)
        await until(lambda: _answers(health, "/healthz", 200), 90)
        async with operator_plane.cluster() as cluster:
            deployments = await cluster.resource("apps/v1", "Deployment")
            await cluster.delete(deployments, "sample", namespace="default")
            await _make(cluster)
            await until(lambda: _is_deployed(cluster))

    asyncio.run(scenario())
    assert replica.is_running
    assert "Traceback" not in replica.words()


def test_refused_credentials_are_reported_and_fail_liveness(
    operator_plane: OperatorPlane, until: Callable[..., Awaitable[Any]]
) -> None:
    """A new process has a new certificate or token."""
    health = free_port()
    path = operator_plane.plane.folder / "expired.kubeconfig"
    operator_plane.plane.write_kubeconfig(path, token="expired")
    flags = (f"--health-probe-bind-address=127.0.0.1:{health}", "--watch-patience=1")
    replica = operator_plane.start(*flags, config=path)
    asyncio.run(until(lambda: _answers(health, "/healthz", 500)))
    assert replica.is_running
    assert "does not accept the credentials" in replica.words()
    assert replica.words().count("cannot discover the kind") == 4, "once per kind"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"certificate-authority": None}, "certificate"),
        ({"server": "https://127.0.0.1:1"}, "cannot reach the API server"),
    ],
)
def test_a_server_without_a_valid_connection_is_reported(
    operator_plane: OperatorPlane,
    until: Callable[..., Awaitable[Any]],
    change: dict[str, str | None],
    words: str,
) -> None:
    config = json.loads(operator_plane.plane.kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"] | change
    config["clusters"][0]["cluster"] = {key: value for key, value in cluster.items() if value}
    path = operator_plane.plane.folder / "changed.kubeconfig"
    path.write_text(json.dumps(config))
    replica = operator_plane.start(config=path)

    async def is_said() -> bool:
        return words in replica.words()

    asyncio.run(until(is_said))
    assert "Traceback" not in replica.words()
    assert operator_plane.plane.token not in replica.words()
