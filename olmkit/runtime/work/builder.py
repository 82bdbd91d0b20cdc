"""A builder of controllers: for, owns, watches."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from olmkit.kube.objects import GVK
from olmkit.runtime import typed
from olmkit.runtime.metrics import Registry
from olmkit.runtime.typed import Kind, ModelKind
from olmkit.runtime.watch.handler import (
    EnqueueMapped,
    EnqueueObject,
    EnqueueOwner,
    Handler,
    Mapping,
)
from olmkit.runtime.watch.predicate import Predicate
from olmkit.runtime.watch.source import KindSource, Source
from olmkit.runtime.work.controller import Controller, ControllerSettings
from olmkit.runtime.work.reconcile import BlockingReconciler, Reconciler

_NAME = re.compile(r"[A-Za-z0-9_-]+")  # it becomes the value of a label of metrics


@dataclass(slots=True)
class ControllerBuilder:
    """Builds a controller from its primary kind, owned kinds and other watched kinds.

    Predicates of a watch apply to that watch; those of `with_event_filter` apply to all. Pass kinds
    as `GVK` or as a class.
    """

    _primary: GVK | None = None
    _primary_namespaced: bool | None = None
    _primary_predicates: tuple[Predicate, ...] = ()
    _primary_metadata_only: bool = False
    _owned: list[tuple[GVK, tuple[Predicate, ...], bool]] = field(default_factory=list)
    _watched: list[tuple[GVK, Handler, tuple[Predicate, ...], bool]] = field(default_factory=list)
    _sources: list[Source] = field(default_factory=list)
    _filters: tuple[Predicate, ...] = ()
    _name: str = ""
    _settings: ControllerSettings | None = None

    def watches_for(
        self,
        kind: GVK | type[Kind | ModelKind],
        *predicates: Predicate,
        namespaced: bool | None = None,
        metadata_only: bool = False,
    ) -> ControllerBuilder:
        """Watch the primary kind, exactly one; discovery determines whether it is namespaced.

        With `metadata_only`, the cache holds only the metadata of the objects: the reconciler reads
        `client.get(gvk, request, metadata_only=True)`, or the whole object with
        `client.direct.get`.
        """
        if self._primary is not None:
            raise ValueError("a controller has one primary kind")
        self._primary, self._primary_namespaced = typed.gvk_of(kind), namespaced
        self._primary_predicates = _checked(predicates)
        self._primary_metadata_only = metadata_only
        return self

    def owns(
        self,
        kind: GVK | type[Kind | ModelKind],
        *predicates: Predicate,
        metadata_only: bool = False,
    ) -> ControllerBuilder:
        """Watch a kind whose objects are controlled by objects of the primary kind."""
        self._owned.append((typed.gvk_of(kind), _checked(predicates), metadata_only))
        return self

    def watches(
        self,
        kind: GVK | type[Kind | ModelKind],
        handler: Handler | Mapping,
        *predicates: Predicate,
        metadata_only: bool = False,
    ) -> ControllerBuilder:
        """Watch any kind, with a handler that turns its events into requests.

        A function that maps an object to requests is used as `EnqueueMapped(function)`.
        """
        found = _handler(handler)
        self._watched.append((typed.gvk_of(kind), found, _checked(predicates), metadata_only))
        return self

    def source(self, source: Source) -> ControllerBuilder:
        """Add another source of requests; event filters do not apply to it."""
        self._sources.append(source)
        return self

    def with_event_filter(self, *predicates: Predicate) -> ControllerBuilder:
        """Drop events of all watches if one of the predicates drops them."""
        self._filters += _checked(predicates)
        return self

    def named(self, name: str) -> ControllerBuilder:
        """Set the name of the controller; the default is derived from the kind."""
        self._name = name
        return self

    def with_settings(self, settings: ControllerSettings) -> ControllerBuilder:
        """Set the number of workers and how failures are retried."""
        self._settings = settings
        return self

    def build(
        self, reconciler: Reconciler | BlockingReconciler, *, registry: Registry | None = None
    ) -> Controller:
        """Return the controller; raise `ValueError` if its watches are not valid."""
        primary = self._primary
        if primary is None and not self._name:
            raise ValueError("a controller without a primary kind needs a name")
        if primary is None and self._owned:
            raise ValueError("a controller that owns something needs a primary kind")
        sources: list[Source] = []
        if primary is not None:
            sources.append(
                KindSource(
                    primary,
                    EnqueueObject(),
                    *self._filters,
                    *self._primary_predicates,
                    metadata_only=self._primary_metadata_only,
                )
            )
            owner = EnqueueOwner(
                group=primary.group, kind=primary.kind, namespaced=self._primary_namespaced
            )
            sources += [
                KindSource(gvk, owner, *self._filters, *own, metadata_only=metadata_only)
                for gvk, own, metadata_only in self._owned
            ]
        sources += [
            KindSource(gvk, handler, *self._filters, *own, metadata_only=metadata_only)
            for gvk, handler, own, metadata_only in self._watched
        ]
        sources += self._sources
        if not sources:
            raise ValueError("a controller needs something to watch")
        name = self._name or (primary.kind.lower() if primary else "")
        if not _NAME.fullmatch(name):
            raise ValueError(f"`{name}` has characters other than letters, digits, `_` and `-`")
        return Controller(
            name, reconciler, sources, registry=registry, settings=self._settings, gvk=primary
        )


def _handler(given: object) -> Handler:
    """Return the handler; raise `TypeError` for one that would fail at the first event."""
    if callable(getattr(given, "handle", None)) and not isinstance(given, type):
        handler: Handler = given  # type: ignore[assignment]
        return handler
    if callable(given) and not isinstance(given, type):
        return EnqueueMapped(given)
    raise TypeError(
        f"a handler has `handle(event, queue)`, or is a function from an object to requests; "
        f"this is {given!r:.100}"
    )


def _checked(predicates: tuple[Predicate, ...]) -> tuple[Predicate, ...]:
    for one in predicates:
        if not isinstance(one, Predicate):
            raise TypeError(
                f"a predicate is a `Predicate`, not {one!r:.100}: write a subclass, "
                "or use `on_update(function)` or `matching_labels(selector)`"
            )
    return predicates
