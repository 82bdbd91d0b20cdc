"""What happened to an object, and filters over that.

A predicate answers one question for each of four events. Filters combine with
`&`, `|` and `~`. Beware: `~` inverts every answer, so `~GENERATION_CHANGED`
drops all creations and deletions; `on_update(…)` is the safe way to filter
updates alone.
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
    """An object is there; `initial` when it was there before the watch began."""

    object: Snapshot
    initial: bool = False


@dataclass(frozen=True, slots=True)
class UpdateEvent:
    """An object was replaced. Both have the same key, and may have different UIDs."""

    old: Snapshot | None
    new: Snapshot | None


@dataclass(frozen=True, slots=True)
class DeleteEvent:
    """An object is gone; `state_unknown` when its last state was not seen."""

    object: Snapshot
    state_unknown: bool = False


@dataclass(frozen=True, slots=True)
class GenericEvent:
    """Something from outside Kubernetes concerns an object."""

    object: Snapshot


Event = CreateEvent | UpdateEvent | DeleteEvent | GenericEvent


class Predicate:
    """Lets everything through; subclasses answer differently."""

    def create(self, event: CreateEvent) -> bool:  # noqa: ARG002 - the default answer
        return True

    def update(self, event: UpdateEvent) -> bool:  # noqa: ARG002 - the default answer
        return True

    def delete(self, event: DeleteEvent) -> bool:  # noqa: ARG002 - the default answer
        return True

    def generic(self, event: GenericEvent) -> bool:  # noqa: ARG002 - the default answer
        return True

    def admits(self, event: Event) -> bool:
        """The answer to the question that fits the event."""
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
    """Every one lets it through; all of nothing do. Asked from left to right."""

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
    """One at least lets it through; none of nothing do. Asked from left to right."""

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
    """The opposite of every answer."""

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
    """Four free functions; a missing one lets everything through."""

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
    """One function of the object; for updates, of the new one."""

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
    """Lets an update through when a part differs between old and new, or the object is another.

    An object that was deleted and created again under its name has another UID. Nothing that
    is known of the old one holds for it, even if the part is the same in both.
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
"""Passes updates that change the object at all; a resync does not."""
GENERATION_CHANGED: Predicate = _Changed(
    "generation changed", lambda snapshot: snapshot.metadata.generation
)
"""Passes updates that change `metadata.generation`, which the API server raises with the spec.

Kinds without generation (ConfigMap, Secret) never pass on update. On an owned kind it hides
changes of the status, so it belongs on the primary kind only.
"""
ANNOTATIONS_CHANGED: Predicate = _Changed(
    "annotations changed", lambda snapshot: snapshot.metadata.annotations or {}
)
"""Passes updates that change annotations; a missing map and an empty one are equal."""
LABELS_CHANGED: Predicate = _Changed(
    "labels changed", lambda snapshot: snapshot.metadata.labels or {}
)
"""Passes updates that change labels; a missing map and an empty one are equal."""


def on_update(function: Callable[[UpdateEvent], bool]) -> Predicate:
    """Asks `function` about updates alone; everything else passes."""
    return Funcs(update=function)


def updates_without(predicate: Predicate) -> Predicate:
    """Passes updates that `predicate` drops, and everything that is not an update.

    The safe spelling of "not": `updates_without(GENERATION_CHANGED)` passes updates
    without a new generation, and still all creations and deletions.
    """
    return Funcs(update=lambda event: not predicate.update(event))


def matching_labels(selector: str | Mapping[str, str]) -> Predicate:
    """Objects that match a label selector; for updates, the new object.

    An object that loses its label gets no further event.
    Raises `InputError` when the selector is not valid.
    """
    parsed = LabelSelector.parse(selector)
    return ObjectFunc(lambda snapshot: parsed.matches(snapshot.metadata.labels or {}))
