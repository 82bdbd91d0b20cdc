"""A whole operator in a task, with the webhooks of its config directory."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from memcached_operator import wiring
from memcached_operator.__main__ import operator
from memcached_operator.api.v1alpha1.memcached import Memcached

from olmkit.runtime import (
    GVK,
    AdmissionRequest,
    Client,
    Denied,
    Operator,
    Request,
    WebhookServer,
    validating,
    webhook_path,
)
from olmkit.testing import (
    BUILT_IN,
    ApiServer,
    ControlPlane,
    Programs,
    client_for,
    install,
    installing,
    running_operator,
    until,
)

NEWER = GVK("cache.example.com", "v1beta1", "Memcached")
DEPLOYMENT = GVK("apps", "v1", "Deployment")


class Refusing:
    """Refuses a size of five."""

    async def validate_create(self, new: Memcached, _: AdmissionRequest) -> Sequence[str]:
        if new.spec.size == 5:
            raise Denied("five is refused")
        return ()

    async def validate_update(
        self, _old: Memcached, _new: Memcached, _: AdmissionRequest
    ) -> Sequence[str]:
        return ()

    async def validate_delete(self, _: Memcached, __: AdmissionRequest) -> Sequence[str]:
        return ()


def refusing() -> Operator:
    """The Memcached operator with another webhook."""

    def add(server: WebhookServer) -> None:
        server.add_conversions(wiring.conversions())
        path = webhook_path("validate", Memcached.gvk)
        server.add(path, validating(Refusing(), Memcached))
        server.add(webhook_path("mutate", Memcached.gvk))

    return dataclasses.replace(operator(), add_webhooks=add)


def memcached(name: str, version: str = "v1alpha1", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"cache.example.com/{version}",
        "kind": "Memcached",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


async def scenario(server: ApiServer | ControlPlane, client: Client, config: Path) -> None:
    environment = {"MEMCACHED_IMAGE": "example.com/memcached:1"}
    async with running_operator(server, refusing(), environment=environment, config=config):
        with pytest.raises(Exception, match="five is refused"):
            await client.create(memcached("five", size=5))
        await client.create(memcached("one", "v1beta1", replicas=2))
        stored = await client.require(Memcached.gvk, Request("one", "default"))
        assert stored["spec"]["size"] == 2
        newer = await client.require(NEWER, Request("one", "default"))
        assert newer["spec"]["replicas"] == 2
        await until(lambda: client.get(DEPLOYMENT, Request("one", "default")))
    await client.create(memcached("five", size=5))  # its webhooks are removed


@asynccontextmanager
async def double(config: Path) -> AsyncIterator[ApiServer]:
    async with ApiServer.of(BUILT_IN, crds=installing.crds(config)).serving() as server:
        yield server


def test_the_double_calls_the_webhooks_of_an_operator(root: Path) -> None:
    config = root / "operator/config"

    async def whole() -> None:
        async with (
            asyncio.timeout(60),
            double(config) as server,
            client_for(server) as client,
        ):
            await scenario(server, client, config)

    asyncio.run(whole())


@pytest.mark.e2e
def test_a_real_server_calls_the_webhooks_of_an_operator(
    root: Path, tmp_path: Path, control_plane_programs: Programs
) -> None:
    config = root / "operator/config"

    async def whole() -> None:
        with ControlPlane(folder=tmp_path, programs=control_plane_programs) as plane:
            async with asyncio.timeout(120), client_for(plane) as client:
                await install(client, installing.crds(config))
                await scenario(plane, client, config)

    asyncio.run(whole())


def test_an_operator_without_config_runs_without_webhooks(root: Path) -> None:
    async def whole() -> None:
        async with (
            asyncio.timeout(60),
            double(root / "operator/config") as server,
            client_for(server) as client,
            running_operator(server, operator(), environment={"MEMCACHED_IMAGE": "a:1"}),
        ):
            await client.create(memcached("five", size=5))
            await until(lambda: client.get(DEPLOYMENT, Request("five", "default")))

    asyncio.run(whole())


def test_a_directory_without_definitions_installs_nothing(tmp_path: Path) -> None:
    assert installing.crds(tmp_path) == []
    assert installing.webhooks(tmp_path) == []
