"""Each operator of the guides, on the API server double and on a real API server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from olmkit.runtime import GVK, Client, ConfigurationError, Request
from olmkit.testing import RunManager, RunOperator, Until

from guides import namespaces, several_kinds, shards
from guides.namespaces import TEXT, Greeting
from guides.several_kinds import CONFIG_MAP, Shelf, Shop
from guides.shards import SHARD, Tenant

NAMESPACE = GVK(group="", version="v1", kind="Namespace")


def manifest(kind: type[Any], key: Request, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": kind.gvk.api_version,
        "kind": kind.gvk.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": spec,
    }


def config_map(key: Request, **data: str) -> dict[str, Any]:
    metadata = {"name": key.name, "namespace": key.namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def have_namespace(client: Client, name: str) -> None:
    if await client.get(NAMESPACE, Request(name)) is None:
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


@pytest.mark.usefixtures("each_server")
async def test_a_shop_has_its_shelves_and_a_shelf_its_contents(
    kube_client: Client, kube_namespace: str, run_manager: RunManager, until: Until
) -> None:
    key = Request("corner", kube_namespace)
    await run_manager(several_kinds.add_controllers)
    await kube_client.create(manifest(Shop, key, shelves=["tea", "milk"]))

    async def filled() -> int:
        found = await kube_client.require(Shop, key)
        return found.status.filled if found.status else 0

    async def is_full() -> bool:
        return await filled() == 2

    await until(is_full)
    found = await kube_client.require(CONFIG_MAP, Request("corner-tea", kube_namespace))
    assert found["data"] == {"label": "tea"}

    shop = await kube_client.require(Shop, key)
    smaller = shop.model_copy(deep=True)
    smaller.spec.shelves = ["milk"]
    await kube_client.patch(shop, smaller)

    async def is_smaller() -> bool:
        tea = await kube_client.get(Shelf, Request("corner-tea", kube_namespace))
        return tea is None and await filled() == 1

    await until(is_smaller)


@pytest.mark.usefixtures("each_server")
async def test_greetings_of_watched_namespaces_have_the_text_of_all(
    kube_client: Client, kube_namespace: str, run_operator: RunOperator, until: Until
) -> None:
    second, other = f"{kube_namespace}-b", f"{kube_namespace}-c"
    for name in (second, other, TEXT.namespace):
        await have_namespace(kube_client, name)
    await kube_client.apply(config_map(TEXT, text="Welcome"))
    environment = {"WATCH_NAMESPACE": f"{kube_namespace},{second}"}
    await run_operator(namespaces.operator(environment), environment=environment)
    for namespace in (kube_namespace, second, other):
        await kube_client.create(manifest(Greeting, Request("one", namespace), name="you"))

    async def texts() -> list[str]:
        found = [
            await kube_client.require(Greeting, Request("one", namespace))
            for namespace in (kube_namespace, second, other)
        ]
        return [one.status.text if one.status else "" for one in found]

    async def are(text: str) -> bool:
        return await texts() == [text, text, ""]

    await until(lambda: are("Welcome, you"))
    await kube_client.apply(config_map(TEXT, text="Good morning"))
    await until(lambda: are("Good morning, you"))


@pytest.mark.usefixtures("each_server")
async def test_each_shard_serves_its_tenants(
    kube_client: Client, kube_namespace: str, run_operator: RunOperator, until: Until
) -> None:
    environment: Mapping[str, str] = {"SHARDS": "2", "WATCH_NAMESPACE": kube_namespace}
    for more in ({}, {"SHARD": "0"}, {"SHARD": "1"}):
        whole = {**environment, **more}
        await run_operator(shards.operator(whole), environment=whole)
    names = [f"tenant-{number}" for number in range(8)]
    for name in names:
        await kube_client.create(manifest(Tenant, Request(name, kube_namespace)))

    async def tenants() -> Sequence[Tenant]:
        return await kube_client.list(Tenant, namespace=kube_namespace)

    async def all_served() -> bool:
        return all(one.status and one.status.served_by for one in await tenants())

    await until(all_served)
    for one in await tenants():
        assert one.status is not None
        assert one.status.served_by == one.metadata.labels[SHARD]
        assert one.metadata.labels[SHARD] == shards.shard_of(one.metadata.uid or "", 2)

    moved = (await tenants())[0]
    there = moved.model_copy(deep=True)
    there.metadata.labels[SHARD] = "1" if moved.metadata.labels[SHARD] == "0" else "0"
    await kube_client.patch(moved, there)

    async def is_moved() -> bool:
        found = await kube_client.require(Tenant, Request(moved.metadata.name, kube_namespace))
        return found.status is not None and found.status.served_by == there.metadata.labels[SHARD]

    await until(is_moved)


def test_an_invalid_number_of_shards_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="SHARDS"):
        shards.operator({"SHARDS": "many"})
