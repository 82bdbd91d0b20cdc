"""The controllers of an Ansible operator: one for each entry of its `watches.yaml`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import olmkit
from olmkit.base.diagnostics import OlmkitError
from olmkit.edges.cluster.run_proxy import RunProxy
from olmkit.edges.network.json_inbox import JsonInbox
from olmkit.edges.programs.ansible.runs import RunContent, Runner
from olmkit.hybrid.ansible import play_metrics
from olmkit.hybrid.ansible.play_metrics import PlayMetrics
from olmkit.hybrid.ansible.reconciler import AnsibleReconciler, Observe, RunSettings
from olmkit.hybrid.ansible.run_access import WatchKind
from olmkit.hybrid.ansible.watches import AnsibleWatch
from olmkit.hybrid.dependents import Dependents
from olmkit.kube.objects import GVK
from olmkit.runtime.client import Client
from olmkit.runtime.events import EventRecorder
from olmkit.runtime.manager import Group, Manager
from olmkit.runtime.metrics import Registry
from olmkit.runtime.watch.predicate import (
    ANNOTATIONS_CHANGED,
    GENERATION_CHANGED,
    LABELS_CHANGED,
    UpdateEvent,
    on_update,
)
from olmkit.runtime.work.builder import ControllerBuilder
from olmkit.runtime.work.controller import ControllerSettings

_LOG = logging.getLogger(__name__)
_PATIENCE = 5.0  # seconds for which a run waits for the first list of a kind
_BOUNDS = (0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsibleEntry:
    """An entry with its files on disk and the environment's settings for its kind."""

    watch: AnsibleWatch
    content: RunContent
    finalizing: RunContent
    workers: int
    verbosity: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsibleOperator:
    """The common settings of all entries; `metrics_port` 0: no metrics of plays."""

    entries: Sequence[AnsibleEntry]
    runner: Runner
    proxy: RunProxy
    settings: RunSettings
    now: Callable[[], str]
    clock: Callable[[], float]
    metrics_port: int = 0

    def reconcilers(
        self, client: Client, recorder: EventRecorder | None = None
    ) -> Iterable[AnsibleReconciler]:
        """Yield a reconciler for each entry."""
        for entry in self.entries:
            yield AnsibleReconciler(
                watch=entry.watch,
                content=entry.content,
                finalizing=entry.finalizing,
                runner=self.runner,
                proxy=self.proxy,
                client=client,
                settings=replace(self.settings, verbosity=entry.verbosity),
                now=self.now,
                clock=self.clock,
                recorder=recorder,
            )

    def close(self) -> None:
        """End the runs that did not end within the shutdown timeout."""
        self.runner.close()

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Provide the proxy of runs within the block."""
        serving = asyncio.create_task(self.proxy.run())
        try:
            await self.proxy.wait_until_ready()
            yield
        finally:
            serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await serving
            self.close()

    def add_controllers(self, manager: Manager) -> None:
        """Add the controllers to a manager."""
        recorder = EventRecorder(manager.cluster, manager.name, registry=manager.registry)
        # With the servers, which stop last: late events are sent, and runs end before the proxy.
        manager.add(recorder, Group.SERVERS)
        manager.add(self.proxy, Group.SERVERS)
        if self.metrics_port:
            took = PlayMetrics(manager.registry).take
            inbox = JsonInbox("metrics of plays", self.metrics_port, play_metrics.PATH, took)
            manager.add(inbox, Group.SERVERS)
        manager.registry.gauge(
            "ansible_operator_build_info", "The version that runs", ("commit", "version")
        ).labels("", olmkit.__version__).set(1)
        pairs = zip(self.entries, self.reconcilers(manager.client, recorder), strict=True)
        for entry, reconciler in pairs:
            gvk = entry.watch.gvk
            wakes = GENERATION_CHANGED | on_update(_has_no_generation)
            if entry.watch.watches_annotations:
                wakes |= ANNOTATIONS_CHANGED
            if entry.watch.selector is not None:
                wakes |= LABELS_CHANGED
            controller = (
                ControllerBuilder()
                .named(f"{gvk.kind.lower()}-{gvk.version}-controller")
                .watches_for(gvk, wakes)
                .with_settings(ControllerSettings(max_concurrent_reconciles=entry.workers))
                .build(reconciler, registry=manager.registry)
            )
            reconciler.observe = _observer(manager.registry, gvk)
            reconciler.watch_kind = _watcher(
                Dependents(
                    controller,
                    gvk,
                    patience=_PATIENCE,
                    cluster_scoped=entry.watch.watches_cluster_scoped,
                )
            )
            manager.add_controller(controller)


def _watcher(dependents: Dependents) -> WatchKind:
    async def watch(gvk: GVK) -> None:
        try:
            await dependents.watch(frozenset({gvk}))
        except OlmkitError as error:
            # The run continues: its object is reconciled periodically.
            _LOG.error("works without a watch", extra={"kind": str(gvk), "error": error.message})

    return watch


def _observer(registry: Registry, gvk: GVK) -> Observe:
    """Return an observer with the series of ansible-operator; the time is that of the whole run."""
    name = f"{gvk.group}/{gvk.version}, Kind={gvk.kind}"
    results = registry.gauge(
        "ansible_operator_reconcile_result", "Runs by their result", ("GVK", "result")
    )
    times = registry.histogram(
        "ansible_operator_reconciles", "How long runs take, in seconds", ("GVK",), _BOUNDS
    )

    def observe(is_success: bool, seconds: float) -> None:
        results.labels(name, "succeeded" if is_success else "failed").inc()
        times.labels(name).observe(seconds)

    return observe


def _has_no_generation(event: UpdateEvent) -> bool:
    """Return whether the kind has no generation, like ConfigMap: every change counts."""
    return event.new is not None and event.new.metadata.generation == 0
