"""What the controller watches, and what an event of it means."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from memcached_operator.api.v1alpha1.memcached import Memcached
from memcached_operator.decisions import DEPLOYMENT, POD
from memcached_operator.reconciler import MemcachedReconciler
from olmkit.runtime.builder import ControllerBuilder
from olmkit.runtime.cache import CacheSettings, KindScope, Scope
from olmkit.runtime.controller import Controller, ControllerSettings
from olmkit.runtime.handler import EnqueueMapped
from olmkit.runtime.manager import Manager
from olmkit.runtime.predicate import GENERATION_CHANGED
from olmkit.runtime.reconcile import Request
from olmkit.runtime.snapshot import Snapshot

# Only what carries our label is held in memory: others' Deployments and pods are many.
_OURS = Scope(label_selector="app.kubernetes.io/managed-by=memcached-operator")
CACHE = CacheSettings(kinds={DEPLOYMENT: KindScope(scope=_OURS), POD: KindScope(scope=_OURS)})


def now() -> str:
    """The time as conditions write it."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def memcached_of(pod: Snapshot) -> list[Request]:
    """The Memcached whose pod this is, by the pod's label."""
    name = (pod.metadata.labels or {}).get("app.kubernetes.io/instance")
    return [Request(name, pod.metadata.namespace)] if name else []


def add_controller(manager: Manager, *, image: str, now: Callable[[], str] = now) -> Controller:
    """Build the controller and put it into the manager."""
    reconciler = MemcachedReconciler(manager.client, image=image, now=now)
    controller = (
        ControllerBuilder()
        .watches_for(Memcached.gvk, GENERATION_CHANGED)
        .owns(DEPLOYMENT)
        .watches(POD, EnqueueMapped(memcached_of))
        .with_settings(ControllerSettings(max_concurrent_reconciles=2))
        .build(reconciler, registry=manager.registry)
    )
    manager.add_controller(controller)
    return controller
