"""The controllers, watches and webhooks of this operator.

`olmkit create api` and `olmkit create webhook` add controllers and webhooks here,
and keep the existing ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from olmkit.runtime import (
    GENERATION_CHANGED,
    CacheSettings,
    ConfigurationError,
    Controller,
    ControllerBuilder,
    ControllerSettings,
    Conversions,
    EventRecorder,
    Group,
    KindScope,
    Manager,
    Request,
    Scope,
    Snapshot,
    Spoke,
    WebhookServer,
    defaulting,
    timestamp,
    validating,
    webhook_path,
)

from memcached_operator import decisions
from memcached_operator.api.v1alpha1.memcached import Memcached
from memcached_operator.conversions import memcached_v1beta1
from memcached_operator.decisions import DEPLOYMENT, MEMCACHED, POD, SERVICE
from memcached_operator.reconcilers.memcached import MemcachedReconciler, Settings
from memcached_operator.webhooks.memcached_v1alpha1 import MemcachedDefaulter, MemcachedValidator

CONTROLLER = "memcached"
RECORDER = "memcached-controller"

# Only labeled objects are in memory: there are many other Deployments and pods.
_OURS = KindScope(scope=Scope(label_selector="app.kubernetes.io/managed-by=memcached-operator"))
CACHE = CacheSettings(kinds=dict.fromkeys((DEPLOYMENT, SERVICE, POD), _OURS))


def memcached_of(pod: Snapshot) -> list[Request]:
    """Return the Memcached of a pod: by annotation, since a label can be shortened."""
    metadata = pod.metadata
    labels = metadata.labels or {}
    name = (metadata.annotations or {}).get(MEMCACHED) or labels.get("app.kubernetes.io/instance")
    return [Request(name, metadata.namespace)] if name else []


def add_controller(
    manager: Manager,
    *,
    settings: Settings,
    now: Callable[[], str] = timestamp,
    workers: int = 2,
) -> Controller:
    """Build the controller and its event recorder, and add both to the manager."""
    recorder = EventRecorder(manager.cluster, RECORDER, registry=manager.registry)
    # With the servers, which stop last: late events are sent.
    manager.add(recorder, Group.SERVERS)
    reconciler = MemcachedReconciler(
        manager.client, manager.cache, recorder, manager.registry, settings=settings, now=now
    )
    controller = (
        ControllerBuilder()
        .named(CONTROLLER)
        .watches_for(Memcached.gvk, GENERATION_CHANGED)
        .owns(DEPLOYMENT)
        .owns(SERVICE)
        .watches(POD, memcached_of, metadata_only=True)
        .with_settings(ControllerSettings(max_concurrent_reconciles=workers))
        .build(reconciler, registry=manager.registry)
    )
    manager.add_controller(controller)
    return controller


def settings(environment: Mapping[str, str]) -> Settings:
    """Return what the environment configures for the pods."""
    user = environment.get("MEMCACHED_RUN_AS_USER", str(decisions.USER))
    if user and not (user.isascii() and user.isdigit()):
        raise ConfigurationError(f"`MEMCACHED_RUN_AS_USER` is not a number: `{user}`")
    return Settings(image=environment.get("MEMCACHED_IMAGE", ""), user=int(user) if user else None)


def add_controllers(manager: Manager, environment: Mapping[str, str], *, workers: int = 2) -> None:
    """Add the controllers to the manager; the environment is that of the pod."""
    add_controller(manager, settings=settings(environment), workers=workers)
    # +kubebuilder:scaffold:builder


def add_webhooks(server: WebhookServer) -> None:
    """Add the webhooks to their server."""
    server.add_conversions(conversions())
    server.add(
        webhook_path("mutate", Memcached.gvk),
        defaulting(MemcachedDefaulter(), Memcached),
    )
    server.add(
        webhook_path("validate", Memcached.gvk),
        validating(MemcachedValidator(), Memcached),
    )
    # +kubebuilder:scaffold:webhook


def conversions() -> Conversions:
    """The conversions: for each kind, its hub and its other versions."""
    made = Conversions()
    made.add(
        Memcached.gvk,
        Spoke(
            version="v1beta1",
            to_hub=memcached_v1beta1.to_hub,
            from_hub=memcached_v1beta1.from_hub,
        ),
    )
    # +kubebuilder:scaffold:conversion
    return made
