"""What the controller watches, and what an event of it means."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from memcached_operator.api.v1alpha1.memcached import Memcached
from memcached_operator.decisions import DEPLOYMENT, MEMCACHED, POD, SERVICE
from memcached_operator.reconciler import MemcachedReconciler, Settings
from olmkit.runtime.builder import ControllerBuilder
from olmkit.runtime.cache import CacheSettings, KindScope, Scope
from olmkit.runtime.controller import Controller, ControllerSettings
from olmkit.runtime.events import EventRecorder
from olmkit.runtime.handler import EnqueueMapped
from olmkit.runtime.manager import Group, Manager
from olmkit.runtime.predicate import GENERATION_CHANGED
from olmkit.runtime.reconcile import Request
from olmkit.runtime.snapshot import Snapshot

CONTROLLER = "memcached"
RECORDER = "memcached-controller"

# Only what carries our label is held in memory: others' Deployments and pods are many.
_OURS = KindScope(scope=Scope(label_selector="app.kubernetes.io/managed-by=memcached-operator"))
CACHE = CacheSettings(kinds=dict.fromkeys((DEPLOYMENT, SERVICE, POD), _OURS))


def now() -> str:
    """The time as conditions write it."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def memcached_of(pod: Snapshot) -> list[Request]:
    """The Memcached whose pod this is: by annotation, since a label may be shortened."""
    metadata = pod.metadata
    labels = metadata.labels or {}
    name = (metadata.annotations or {}).get(MEMCACHED) or labels.get("app.kubernetes.io/instance")
    return [Request(name, metadata.namespace)] if name else []


def add_controller(
    manager: Manager,
    *,
    settings: Settings,
    now: Callable[[], str] = now,
    workers: int = 2,
) -> Controller:
    """Build the controller and its recorder of events, and put both into the manager."""
    recorder = EventRecorder(manager.cluster, RECORDER, registry=manager.registry)
    # With the servers, which stop last: late events go out.
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
        .watches(POD, EnqueueMapped(memcached_of), metadata_only=True)
        .with_settings(ControllerSettings(max_concurrent_reconciles=workers))
        .build(reconciler, registry=manager.registry)
    )
    manager.add_controller(controller)
    return controller
