"""The controllers of a Helm operator: one for each entry of its `watches.yaml`."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from olmkit.edges.helm import Chart, Helm
from olmkit.hybrid import drift
from olmkit.hybrid.failures import Failures
from olmkit.hybrid.helm_reconciler import HelmReconciler
from olmkit.hybrid.watches import HelmWatch
from olmkit.kube.api import ClusterError
from olmkit.kube.objects import GVK
from olmkit.runtime.client import Client
from olmkit.runtime.events import EventRecorder
from olmkit.runtime.manager import Group, Manager
from olmkit.runtime.watch.handler import EnqueueMapped, EnqueueOwner
from olmkit.runtime.watch.predicate import (
    ANNOTATIONS_CHANGED,
    GENERATION_CHANGED,
    LABELS_CHANGED,
    CreateEvent,
    Funcs,
    Predicate,
    UpdateEvent,
    on_update,
)
from olmkit.runtime.watch.snapshot import Snapshot
from olmkit.runtime.watch.source import KindSource
from olmkit.runtime.work.builder import ControllerBuilder
from olmkit.runtime.work.controller import Controller, ControllerSettings
from olmkit.runtime.work.reconcile import Request

_LOG = logging.getLogger(__name__)
_SYNC = 30.0  # seconds for the first list of a kind


@dataclass(frozen=True, slots=True, kw_only=True)
class HelmOperator:
    """What all entries have in common; `period` in seconds."""

    entries: Sequence[tuple[HelmWatch, Chart]]
    helm: Helm
    now: Callable[[], str]
    period: float = 60.0
    workers: int = 1
    hides_overrides: bool = False

    def reconcilers(
        self, client: Client, recorder: EventRecorder | None = None
    ) -> Iterable[HelmReconciler]:
        """One for each entry; they remember failures and nothing else."""
        for watch, chart in self.entries:
            yield HelmReconciler(
                watch=watch,
                chart=chart,
                helm=self.helm,
                client=client,
                failures=Failures(time.monotonic),
                now=self.now,
                period=self.period,
                recorder=recorder,
                hides_overrides=self.hides_overrides,
            )

    def add_controllers(self, manager: Manager) -> None:
        """Put the controllers into a manager."""
        recorder = EventRecorder(manager.cluster, manager.name, registry=manager.registry)
        # With the servers, which stop last: late events are sent.
        manager.add(recorder, Group.SERVERS)
        for reconciler in self.reconcilers(manager.client, recorder):
            watch = reconciler.watch
            settings = ControllerSettings(
                max_concurrent_reconciles=watch.max_concurrent_reconciles or self.workers
            )
            builder = ControllerBuilder().named(f"{watch.gvk.kind.lower()}-controller")
            controller = (
                builder.watches_for(watch.gvk, _PRIMARY)
                .with_settings(settings)
                .build(reconciler, registry=manager.registry)
            )
            reconciler.watch_kinds = _Dependents(controller, watch.gvk).watch
            manager.add_controller(controller)


@dataclass(slots=True)
class _Dependents:
    """Watches the kinds of what charts made, each once and as metadata alone."""

    controller: Controller
    owner: GVK
    _watched: set[GVK] = field(default_factory=set)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def watch(self, kinds: frozenset[GVK]) -> None:
        # Under a lock: the pass of another object may not continue before the watch has begun.
        async with self._lock:
            for gvk in sorted(kinds - self._watched):
                await self._begin(gvk)
                self._watched.add(gvk)

    async def _begin(self, gvk: GVK) -> None:
        by_reference = EnqueueOwner(group=self.owner.group, kind=self.owner.kind, namespaced=None)
        for handler in (by_reference, EnqueueMapped(self._annotated)):
            source = KindSource(gvk, handler, _DEPENDENT, metadata_only=True)
            await self.controller.watch(source)
            await _synced(source)

    def _annotated(self, snapshot: Snapshot) -> list[Request]:
        """The object that annotations name, where no owner reference may."""
        annotations = snapshot.metadata.annotations or {}
        whose = f"{self.owner.kind}.{self.owner.group}".rstrip(".")
        name = annotations.get(drift.OWNER_ANNOTATION, "")
        if annotations.get(drift.OWNER_TYPE_ANNOTATION) != whose or not name:
            return []
        namespace, _, name = name.rpartition("/")
        return [Request(name, namespace)]


async def _synced(source: KindSource) -> None:
    """Wait until the watch has begun; without it, the object is looked at periodically."""
    try:
        async with asyncio.timeout(_SYNC):
            await source.wait_for_sync()
    except (ClusterError, TimeoutError) as error:
        words = str(error) or source.trouble or f"not synced within {_SYNC:g} s"
        _LOG.error("works without a watch", extra={"watch": str(source), "error": words})


def _is_touched(event: UpdateEvent) -> bool:
    """Whether more than the status changed; a kind without generation has none."""
    if event.old is None or event.new is None:
        return False
    old, new = event.old.metadata, event.new.metadata
    if new.generation == 0:
        return old.resource_version != new.resource_version
    return (old.generation, old.labels, old.annotations) != (
        new.generation,
        new.labels,
        new.annotations,
    )


def _never(_: CreateEvent) -> bool:
    return False


def _is_deleted(event: UpdateEvent) -> bool:
    if event.old is None or event.new is None:
        return False
    return event.old.metadata.deletion_timestamp != event.new.metadata.deletion_timestamp


_PRIMARY: Predicate = (
    GENERATION_CHANGED | ANNOTATIONS_CHANGED | LABELS_CHANGED | on_update(_is_deleted)
)
_DEPENDENT: Predicate = Funcs(create=_never, update=_is_touched)
