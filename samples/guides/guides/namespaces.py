"""Watches some namespaces, and one kind in another one: each Greeting has the text of all."""

# +groupName=guides.example.com
# +versionName=v1

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from olmkit.runtime import (
    GVK,
    CacheSettings,
    Client,
    ControllerBuilder,
    CustomResource,
    Flags,
    KindScope,
    Manager,
    Model,
    Operator,
    Request,
    Scope,
    Snapshot,
    parse_namespaces,
)

CONFIG_MAP = GVK(group="", version="v1", kind="ConfigMap")
TEXT = Request("greeting", "platform")


class GreetingSpec(Model):
    name: str


class GreetingStatus(Model):
    text: str = ""


# +kubebuilder:subresource:status
class Greeting(CustomResource):
    """A greeting, whose beginning the ConfigMap `platform/greeting` has for all namespaces."""

    gvk: ClassVar[GVK] = GVK(group="guides.example.com", version="v1", kind="Greeting")
    spec: GreetingSpec
    status: GreetingStatus | None = None


def cache(environment: Mapping[str, str]) -> CacheSettings:
    """Watch ConfigMaps only in `platform`, and other kinds as `WATCH_NAMESPACE` sets."""
    platform = KindScope(namespaces={TEXT.namespace: Scope()})
    settings = CacheSettings(kinds={CONFIG_MAP: platform})
    return settings.watching(parse_namespaces(environment.get("WATCH_NAMESPACE")))


class GreetingReconciler:
    """Writes the whole greeting into the status."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def reconcile(self, request: Request) -> None:
        greeting = await self._client.get(Greeting, request)
        if greeting is None:
            return
        found = await self._client.get(CONFIG_MAP, TEXT) or {}
        beginning = (found.get("data") or {}).get("text", "Hello")
        status = GreetingStatus(text=f"{beginning}, {greeting.spec.name}")
        if status != greeting.status:
            await self._client.update_status(greeting.model_copy(update={"status": status}))


def all_greetings(manager: Manager) -> Callable[[Snapshot], list[Request]]:
    """Return all watched greetings, because a change of the text affects all of them."""
    greetings = manager.cache.informer(Greeting)

    def concerned(config_map: Snapshot) -> list[Request]:
        if config_map.key != TEXT:
            return []
        return [one.key for one in greetings.list()]

    return concerned


def add_controllers(manager: Manager, _flags: Flags, _environment: Mapping[str, str]) -> None:
    """One controller for all namespaces."""
    builder = ControllerBuilder().watches_for(Greeting)
    builder = builder.watches(CONFIG_MAP, all_greetings(manager))
    manager.add_controller(builder.build(GreetingReconciler(manager.client)))


def operator(environment: Mapping[str, str]) -> Operator:
    """The operator for an environment: OLM sets `WATCH_NAMESPACE` in it."""
    return Operator(
        name="greetings",
        lock="greetings.guides.example.com",
        cache=cache(environment),
        add_controllers=add_controllers,
    )
