"""A fleet in shards: each process holds and reconciles the objects with its label."""

# +groupName=guides.example.com
# +versionName=v1

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import ClassVar

from olmkit.runtime import (
    GVK,
    CacheSettings,
    Client,
    ConfigurationError,
    ControllerBuilder,
    CustomResource,
    Flags,
    KindScope,
    Manager,
    Model,
    Operator,
    Request,
    Scope,
)

SHARD = "guides.example.com/shard"


class TenantSpec(Model):
    plan: str = "small"


class TenantStatus(Model):
    served_by: str = ""


# +kubebuilder:subresource:status
class Tenant(CustomResource):
    """A tenant of the fleet."""

    gvk: ClassVar[GVK] = GVK(group="guides.example.com", version="v1", kind="Tenant")
    spec: TenantSpec
    status: TenantStatus | None = None


def shard_of(uid: str, shards: int) -> str:
    """The shard of a new object: always the same for the same UID."""
    digest = hashlib.sha256(uid.encode()).digest()
    return str(int.from_bytes(digest[:8]) % shards)


class Assigner:
    """Assigns a shard to each object that has none. More shards later move no objects."""

    def __init__(self, client: Client, shards: int) -> None:
        self._client = client
        self._shards = shards

    async def reconcile(self, request: Request) -> None:
        tenant = await self._client.get(Tenant, request)
        if tenant is None:
            return
        assigned = tenant.model_copy(deep=True)
        assigned.metadata.labels[SHARD] = shard_of(tenant.metadata.uid or "", self._shards)
        await self._client.patch(tenant, assigned, locked=True)


class TenantReconciler:
    """The work of one shard."""

    def __init__(self, client: Client, shard: str) -> None:
        self._client = client
        self._shard = shard

    async def reconcile(self, request: Request) -> None:
        tenant = await self._client.get(Tenant, request)
        if tenant is None:
            return  # deleted, or moved to another shard
        status = TenantStatus(served_by=self._shard)
        if status != tenant.status:
            await self._client.update_status(tenant.model_copy(update={"status": status}))


def operator(environment: Mapping[str, str]) -> Operator:
    """Return the process of the shard `SHARD`; without it, the process that assigns shards.

    Raises `ConfigurationError` when `SHARDS` is not a number.
    """
    shard, shards = environment.get("SHARD", ""), environment.get("SHARDS", "1")
    if not shards.isdecimal() or int(shards) < 1:
        raise ConfigurationError(f"`SHARDS` must be a number from 1, not `{shards}`")
    selector = f"{SHARD}={shard}" if shard else f"!{SHARD}"
    mine = KindScope(scope=Scope(label_selector=selector))

    def add_controllers(manager: Manager, _flags: Flags, _environment: Mapping[str, str]) -> None:
        builder = ControllerBuilder().watches_for(Tenant)
        if shard:
            controller = builder.build(TenantReconciler(manager.client, shard))
        else:
            controller = builder.build(Assigner(manager.client, int(shards)))
        manager.add_controller(controller)

    # Each shard has its own leader, so replicas wait only for others of the same shard.
    lock = f"tenants-{shard or 'assigner'}.guides.example.com"
    cache = CacheSettings(kinds={Tenant.gvk: mine})
    return Operator(name="tenants", lock=lock, cache=cache, add_controllers=add_controllers)
