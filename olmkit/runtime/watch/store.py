"""The local copy of one collection, with its indexes.

Only the reflector changes a store. Every change returns an event: a recreation that the watch
missed is an update with two UIDs, and an object that is missing in a new list is a deletion with an
unknown last state.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping

from olmkit.runtime.watch.predicate import CreateEvent, DeleteEvent, Event, UpdateEvent
from olmkit.runtime.watch.snapshot import Snapshot
from olmkit.runtime.work.reconcile import Request

_LOG = logging.getLogger(__name__)

Indexer = Callable[[Snapshot], Iterable[str]]
"""Returns the values of one indexed field of an object; must be pure and fast."""

_ALL = None  # the namespace of index entries for reads across namespaces
_IndexKey = tuple[str | None, str]


class Store:
    """Snapshots by key, with indexes by namespace and by declared fields."""

    def __init__(self, indexers: dict[str, Indexer] | None = None) -> None:
        self._items: dict[Request, Snapshot] = {}
        self._by_namespace: dict[str, dict[Request, None]] = {}
        self._indexers = dict(indexers or {})
        self._indexes: dict[str, dict[_IndexKey, dict[Request, None]]] = {
            field: {} for field in self._indexers
        }

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Snapshot]:
        return iter(list(self._items.values()))

    def get(self, key: Request) -> Snapshot | None:
        return self._items.get(key)

    def in_namespace(self, namespace: str) -> list[Snapshot]:
        """Return the objects of a namespace, or of all namespaces if it is empty."""
        if not namespace:
            return list(self._items.values())
        return [self._items[key] for key in self._by_namespace.get(namespace, ())]

    def by_index(self, field: str, value: str, namespace: str = "") -> list[Snapshot]:
        """Return the objects whose indexed field has `value`; raise `KeyError` without index."""
        return self.by_indexes({field: value}, namespace)

    def by_indexes(self, fields: Mapping[str, str], namespace: str = "") -> list[Snapshot]:
        """Return the objects that match all these indexed fields."""
        found = [
            self._indexes[field].get((namespace or _ALL, value), {})
            for field, value in fields.items()
        ]
        first, *others = sorted(found, key=len)
        return [self._items[key] for key in first if all(key in other for other in others)]

    @property
    def indexed_fields(self) -> frozenset[str]:
        return frozenset(self._indexers)

    def upsert(self, snapshot: Snapshot, *, initial: bool = False) -> Event:
        """Add or update an object; return the event."""
        key = snapshot.key
        old = self._items.get(key)
        if old is not None:
            self._unindex(key, old)
        self._items[key] = snapshot
        self._index(key, snapshot)
        if old is None:
            return CreateEvent(snapshot, initial)
        return UpdateEvent(old, snapshot)

    def remove(self, snapshot: Snapshot) -> Event | None:
        """Remove an object, whose last state is `snapshot`; return None if it was not stored."""
        key = snapshot.key
        old = self._items.pop(key, None)
        if old is None:
            return None
        self._unindex(key, old)
        return DeleteEvent(snapshot)

    def remove_unseen(self, snapshot: Snapshot) -> Event | None:
        """Remove an object that is missing in a new list, so that its last state is unknown."""
        event = self.remove(snapshot)
        return None if event is None else DeleteEvent(snapshot, state_unknown=True)

    def _index(self, key: Request, snapshot: Snapshot) -> None:
        if key.namespace:
            self._by_namespace.setdefault(key.namespace, {})[key] = None
        for field in self._indexers:
            index = self._indexes[field]
            for value in self._values(field, snapshot):
                for namespace in {_ALL, key.namespace or _ALL}:
                    index.setdefault((namespace, value), {})[key] = None

    def _unindex(self, key: Request, snapshot: Snapshot) -> None:
        members = self._by_namespace.get(key.namespace)
        if members is not None:
            members.pop(key, None)
            if not members:
                del self._by_namespace[key.namespace]
        for field in self._indexers:
            index = self._indexes[field]
            for value in self._values(field, snapshot):
                for namespace in {_ALL, key.namespace or _ALL}:
                    entries = index.get((namespace, value))
                    if entries is not None:
                        entries.pop(key, None)
                        if not entries:
                            del index[(namespace, value)]

    def _values(self, field: str, snapshot: Snapshot) -> set[str]:
        try:
            found = self._indexers[field](snapshot)
            return {found} if isinstance(found, str) else set(found)  # a string is one value
        except Exception:
            # An error in the indexer hides the object only from this index.
            _LOG.exception("index failed", extra={"index": field, "object": str(snapshot.key)})
            return set()
