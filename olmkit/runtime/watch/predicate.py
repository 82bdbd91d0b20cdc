"""Events about objects, and predicates, which filter them.

A predicate has a method for each of the four types of events. Predicates combine with `&`, `|` and
`~`. Note that `~` inverts every result, so `~GENERATION_CHANGED` drops all creations and deletions;
use `on_update(…)` to filter only updates.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from olmkit.kube.labels import LabelSelector
from olmkit.runtime.watch.snapshot import Snapshot

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CreateEvent:
    """An object exists; `initial` if it existed before the watch started."""

    object: Snapshot
    initial: bool = False


@dataclass(frozen=True, slots=True)
class UpdateEvent:
    """An object changed. Both have the same key, but may have different UIDs."""

    old: Snapshot | None
    new: Snapshot | None


@dataclass(frozen=True, slots=True)
class DeleteEvent:
    """An object was deleted; `state_unknown` if its last state was not received."""

    object: Snapshot
    state_unknown: bool = False


@dataclass(frozen=True, slots=True)
class GenericEvent:
    """An event from outside Kubernetes about an object."""

    object: Snapshot


Event = CreateEvent | UpdateEvent | DeleteEvent | GenericEvent


class Predicate:
    """Passes all events; subclasses override methods."""

    def create(self, event: CreateEvent) -> bool:  # noqa: ARG002 - the default answer
        return True

    def update(self, event: UpdateEvent) -> bool:  # noqa: ARG002 - the default answer
        return True

    def delete(self, event: DeleteEvent) -> bool:  # noqa: ARG002 - the default answer
        return True

    def generic(self, event: GenericEvent) -> bool:  # noqa: ARG002 - the default answer
        return True

    def admits(self, event: Event) -> bool:
        """Return the result of the method for the event's type."""
        match event:
            case CreateEvent():
                return self.create(event)
            case UpdateEvent():
                return self.update(event)
            case DeleteEvent():
                return self.delete(event)
            case GenericEvent():
                return self.generic(event)

    def __and__(self, other: Predicate) -> Predicate:
        return AllOf(self, other)

    def __or__(self, other: Predicate) -> Predicate:
        return AnyOf(self, other)

    def __invert__(self) -> Predicate:
        return Not(self)


class AllOf(Predicate):
    """Passes an event if all predicates pass it. Evaluated from left to right."""

    def __init__(self, *predicates: Predicate) -> None:
        self._predicates = predicates

    def create(self, event: CreateEvent) -> bool:
        return all(predicate.create(event) for predicate in self._predicates)

    def update(self, event: UpdateEvent) -> bool:
        return all(predicate.update(event) for predicate in self._predicates)

    def delete(self, event: DeleteEvent) -> bool:
        return all(predicate.delete(event) for predicate in self._predicates)

    def generic(self, event: GenericEvent) -> bool:
        return all(predicate.generic(event) for predicate in self._predicates)


class AnyOf(Predicate):
    """Passes an event if at least one predicate passes it. Evaluated from left to right."""

    def __init__(self, *predicates: Predicate) -> None:
        self._predicates = predicates

    def create(self, event: CreateEvent) -> bool:
        return any(predicate.create(event) for predicate in self._predicates)

    def update(self, event: UpdateEvent) -> bool:
        return any(predicate.update(event) for predicate in self._predicates)

    def delete(self, event: DeleteEvent) -> bool:
        return any(predicate.delete(event) for predicate in self._predicates)

    def generic(self, event: GenericEvent) -> bool:
        return any(predicate.generic(event) for predicate in self._predicates)


class Not(Predicate):
    """Inverts every result of a predicate."""

    def __init__(self, predicate: Predicate) -> None:
        self._predicate = predicate

    def create(self, event: CreateEvent) -> bool:
        return not self._predicate.create(event)

    def update(self, event: UpdateEvent) -> bool:
        return not self._predicate.update(event)

    def delete(self, event: DeleteEvent) -> bool:
        return not self._predicate.delete(event)

    def generic(self, event: GenericEvent) -> bool:
        return not self._predicate.generic(event)


class Funcs(Predicate):
    """A predicate from up to four functions; event types without a function pass."""

    def __init__(
        self,
        *,
        create: Callable[[CreateEvent], bool] | None = None,
        update: Callable[[UpdateEvent], bool] | None = None,
        delete: Callable[[DeleteEvent], bool] | None = None,
        generic: Callable[[GenericEvent], bool] | None = None,
    ) -> None:
        self._create = create
        self._update = update
        self._delete = delete
        self._generic = generic

    def create(self, event: CreateEvent) -> bool:
        return self._create is None or self._create(event)

    def update(self, event: UpdateEvent) -> bool:
        return self._update is None or self._update(event)

    def delete(self, event: DeleteEvent) -> bool:
        return self._delete is None or self._delete(event)

    def generic(self, event: GenericEvent) -> bool:
        return self._generic is None or self._generic(event)


class ObjectFunc(Predicate):
    """A predicate from one function of the object; for updates, of the new object."""

    def __init__(self, function: Callable[[Snapshot], bool]) -> None:
        self._function = function

    def create(self, event: CreateEvent) -> bool:
        return self._function(event.object)

    def update(self, event: UpdateEvent) -> bool:
        return event.new is not None and self._function(event.new)

    def delete(self, event: DeleteEvent) -> bool:
        return self._function(event.object)

    def generic(self, event: GenericEvent) -> bool:
        return self._function(event.object)


class _Changed(Predicate):
    """Passes an update if a part of the object changed, or the object was recreated.

    A recreated object has a new UID. It is a different object, even if the part is the same in
    both.
    """

    def __init__(self, what: str, part: Callable[[Snapshot], object]) -> None:
        self._what = what
        self._part = part

    def update(self, event: UpdateEvent) -> bool:
        if event.old is None or event.new is None:
            _LOG.error("update without old or new object", extra={"predicate": self._what})
            return False
        if event.old.metadata.uid != event.new.metadata.uid:
            return True
        return self._part(event.old) != self._part(event.new)


RESOURCE_VERSION_CHANGED: Predicate = _Changed(
    "resource version changed", lambda snapshot: snapshot.metadata.resource_version
)
"""Passes updates with any change; drops those of a resync."""
GENERATION_CHANGED: Predicate = _Changed(
    "generation changed", lambda snapshot: snapshot.metadata.generation
)
"""Passes updates that change `metadata.generation`, which the API server increases when the spec
changes.

Updates of kinds without a generation (ConfigMap, Secret) never pass. On an owned kind, it drops
status changes, so use it only on the primary kind.
"""
ANNOTATIONS_CHANGED: Predicate = _Changed(
    "annotations changed", lambda snapshot: snapshot.metadata.annotations or {}
)
"""Passes updates that change annotations; a missing and an empty map are equal."""
LABELS_CHANGED: Predicate = _Changed(
    "labels changed", lambda snapshot: snapshot.metadata.labels or {}
)
"""Passes updates that change labels; a missing and an empty map are equal."""


def on_update(function: Callable[[UpdateEvent], bool]) -> Predicate:
    """Return a predicate that filters updates with `function`, and passes all other events."""
    return Funcs(update=function)


def updates_without(predicate: Predicate) -> Predicate:
    """Return a predicate that passes the updates that `predicate` drops, and all other events.

    Use it instead of `~`: `updates_without(GENERATION_CHANGED)` passes updates without a new
    generation, and all creations and deletions.
    """
    return Funcs(update=lambda event: not predicate.update(event))


def matching_labels(selector: str | Mapping[str, str]) -> Predicate:
    """Return a predicate for a label selector; for updates, the new object must match.

    The update that removes a label is not passed. Raises `InputError` if the selector is invalid.
    """
    parsed = LabelSelector.parse(selector)
    return ObjectFunc(lambda snapshot: parsed.matches(snapshot.metadata.labels or {}))
