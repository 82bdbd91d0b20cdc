"""The controllers of a Helm operator: one for each entry of its `watches.yaml`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass

import olmkit
from olmkit.edges.programs.helm import ChartSource, Helm
from olmkit.hybrid.dependents import Dependents
from olmkit.hybrid.helm.failures import Failures
from olmkit.hybrid.helm.reconciler import HelmReconciler
from olmkit.hybrid.helm.watches import HelmWatch
from olmkit.runtime.client import Client
from olmkit.runtime.events import EventRecorder
from olmkit.runtime.manager import Group, Manager
from olmkit.runtime.watch.predicate import (
    ANNOTATIONS_CHANGED,
    GENERATION_CHANGED,
    LABELS_CHANGED,
    Predicate,
    UpdateEvent,
    on_update,
)
from olmkit.runtime.work.builder import ControllerBuilder
from olmkit.runtime.work.controller import ControllerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class HelmOperator:
    """The common settings of all entries; `period` in seconds."""

    entries: Sequence[tuple[HelmWatch, ChartSource]]
    helm: Helm
    now: Callable[[], str]
    period: float = 60.0
    workers: int = 1
    hides_overrides: bool = False

    def reconcilers(
        self, client: Client, recorder: EventRecorder | None = None
    ) -> Iterable[HelmReconciler]:
        """Yield a reconciler for each entry; they remember only failures."""
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

    def close(self) -> None:
        """Do nothing: each call of helm ends with its caller."""

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Provide nothing: each call of helm is a separate process."""
        yield

    def add_controllers(self, manager: Manager) -> None:
        """Add the controllers to a manager."""
        recorder = EventRecorder(manager.cluster, manager.name, registry=manager.registry)
        # With the servers, which stop last: late events are sent.
        manager.add(recorder, Group.SERVERS)
        manager.registry.gauge(
            "helm_operator_build_info", "The version that runs", ("commit", "version")
        ).labels("", olmkit.__version__).set(1)
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
            reconciler.watch_kinds = Dependents(controller, watch.gvk).watch
            manager.add_controller(controller)


def _is_deleted(event: UpdateEvent) -> bool:
    if event.old is None or event.new is None:
        return False
    return event.old.metadata.deletion_timestamp != event.new.metadata.deletion_timestamp


_PRIMARY: Predicate = (
    GENERATION_CHANGED | ANNOTATIONS_CHANGED | LABELS_CHANGED | on_update(_is_deleted)
)
