"""Logs, commands and ports of pods, through both servers to the simulated node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from olmkit.kube.api import ClusterError, NotFound
from olmkit.runtime.direct.pods import Pods
from olmkit.runtime.work.reconcile import Request
from tests.conformance.apiserver import kubelet
from tests.conformance.apiserver.test_client import client_of, make_pod

if TYPE_CHECKING:
    from conftest import World


async def pods_of(world: World) -> tuple[Pods, Request]:
    await make_pod(world, node=kubelet.NODE)
    return client_of(world).pods, Request("p", world.namespace)


async def test_logs_are_read(world: World) -> None:
    async with kubelet.serving(world, "p"):
        pods, pod = await pods_of(world)
        assert [line async for line in pods.logs(pod)] == ["one", "two", "three"]
        assert [line async for line in pods.logs(pod, tail=1, container="c")] == ["three"]
        assert [line async for line in pods.logs(pod, previous=True)] == ["before"]
        assert [line async for line in pods.logs(pod, since=90)] == ["since 90"]
        followed = [line async for line in pods.logs(pod, follow=True)]
        assert followed == ["one", "two", "three", "later"]
        if not world.is_double:
            with pytest.raises(NotFound):
                [line async for line in pods.logs(Request("q", world.namespace))]


async def test_commands_are_executed(world: World) -> None:
    async with kubelet.serving(world, "p"):
        pods, pod = await pods_of(world)
        done = await pods.execute(pod, ["echo", "a b", "c"], container="c")
        assert (done.code, done.output, done.errors) == (0, b"a b c", b"warned")
        assert (await pods.execute(pod, ["false"])).code == 3
        if world.is_double:  # a real server converts version 5 to SPDY, which a kubelet supports
            given = b"x" * 100_000
            assert (await pods.execute(pod, ["cat"], stdin=given)).output == given


async def test_ports_are_forwarded(world: World) -> None:
    async with kubelet.serving(world, "p"):
        pods, pod = await pods_of(world)
        async with pods.forward(pod, 8080) as pipe:
            await pipe.write(b"hello")
            assert await pipe.read() == b"HELLO"
        async with pods.forward(pod, 1) as pipe:
            with pytest.raises(ClusterError, match="nothing listens on port 1"):
                await pipe.read()


async def test_a_pod_without_a_node_has_no_logs(world: World) -> None:
    await make_pod(world)
    pods, pod = client_of(world).pods, Request("p", world.namespace)
    assert [line async for line in pods.logs(pod)] == []
    with pytest.raises(ClusterError, match="pod p does not have a host assigned"):
        await pods.execute(pod, ["ls"])
    with pytest.raises(ClusterError, match="pod p does not have a host assigned"):
        async with pods.forward(pod, 80):
            pass
    with pytest.raises(NotFound, match='pods "q" not found'):
        await pods.execute(Request("q", world.namespace), ["ls"])
