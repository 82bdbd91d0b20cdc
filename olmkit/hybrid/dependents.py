"""Watch the kinds of dependents, whose changes cause a reconcile of their owner."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from olmkit.hybrid import primaries
from olmkit.kube.api import ClusterError
from olmkit.kube.objects import GVK
from olmkit.runtime.watch.handler import EnqueueMapped, EnqueueOwner
from olmkit.runtime.watch.predicate import CreateEvent, Funcs, Predicate, UpdateEvent
from olmkit.runtime.watch.snapshot import Snapshot
from olmkit.runtime.watch.source import KindSource
from olmkit.runtime.work.controller import Controller
from olmkit.runtime.work.reconcile import Request

_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class Dependents:
    """Watches each kind once, with metadata only.

    `patience` is the time limit for the first list of a kind, in seconds; `cluster_scoped`:
    annotations of objects without a namespace count.
    """

    controller: Controller
    owner: GVK
    patience: float = 30.0
    cluster_scoped: bool = True
    _watched: set[GVK] = field(default_factory=set)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def watch(self, kinds: frozenset[GVK]) -> None:
        # Under a lock: the reconcile of another object may not continue before the watch has
        # started.
        async with self._lock:
            for gvk in sorted(kinds - self._watched):
                await self._begin(gvk)
                self._watched.add(gvk)

    async def _begin(self, gvk: GVK) -> None:
        # An object that Ansible creates has an owner that is not its controller.
        by_reference = EnqueueOwner(
            group=self.owner.group, kind=self.owner.kind, namespaced=None, controller_only=False
        )
        for handler in (by_reference, EnqueueMapped(self._annotated_owners)):
            source = KindSource(gvk, handler, _DEPENDENT, metadata_only=True)
            await self.controller.watch(source)
            await _wait_until_synced(source, self.patience)

    def _annotated_owners(self, snapshot: Snapshot) -> list[Request]:
        """Return the owner in annotations, for objects that cannot have an owner reference."""
        if not snapshot.metadata.namespace and not self.cluster_scoped:
            return []
        found = primaries.find_owner(snapshot.metadata.annotations or {}, self.owner)
        return [Request(found[1], found[0])] if found else []


async def _wait_until_synced(source: KindSource, seconds: float) -> None:
    """Wait until the watch has started; otherwise the object is reconciled periodically."""
    try:
        async with asyncio.timeout(seconds):
            await source.wait_for_sync()
    except (ClusterError, TimeoutError) as error:
        words = str(error) or source.trouble or f"not synced within {seconds:g} s"
        _LOG.error("works without a watch", extra={"watch": str(source), "error": words})


def _is_touched(event: UpdateEvent) -> bool:
    """Return whether more than the status changed; for a kind without generation, always true."""
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


_DEPENDENT: Predicate = Funcs(create=_never, update=_is_touched)
