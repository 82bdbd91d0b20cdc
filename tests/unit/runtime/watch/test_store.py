"""The local copy of one collection and its indexes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.runtime.watch.predicate import CreateEvent, DeleteEvent, UpdateEvent
from olmkit.runtime.watch.snapshot import Snapshot
from olmkit.runtime.watch.store import Store
from olmkit.runtime.work.reconcile import Request


def _one(name: str, namespace: str = "n", version: int = 1, **metadata: Any) -> Snapshot:
    given_ = {"name": name, "namespace": namespace, "resourceVersion": str(version)}
    return Snapshot.of({"metadata": given_ | metadata})


def _colours(snapshot: Snapshot) -> list[str]:
    return [label for key, label in (snapshot.metadata.labels or {}).items() if key == "colour"]


def test_each_change_has_its_type() -> None:
    store = Store()
    first, second, last = _one("a"), _one("a", version=2), _one("a", version=3)
    assert store.upsert(first, initial=True) == CreateEvent(first, initial=True)
    assert store.upsert(second) == UpdateEvent(first, second)
    assert store.remove(last) == DeleteEvent(last)
    assert store.remove(last) is None
    assert store.remove_unseen(last) is None
    store.upsert(first)
    assert store.remove_unseen(first) == DeleteEvent(first, state_unknown=True)
    assert len(store) == 0


def test_an_unseen_recreation_is_one_update_with_two_uids() -> None:
    store = Store()
    store.upsert(_one("a", uid="old"))
    event = store.upsert(_one("a", uid="new", version=9))
    assert isinstance(event, UpdateEvent)
    assert event.old is not None
    assert event.new is not None
    assert (event.old.metadata.uid, event.new.metadata.uid) == ("old", "new")


def test_indexes_work_within_and_across_namespaces() -> None:
    store = Store({"colour": _colours})
    for name, namespace, colour in (("a", "n", "red"), ("b", "m", "red"), ("c", "n", "blue")):
        store.upsert(_one(name, namespace, labels={"colour": colour}))
    assert [one.key.name for one in store.by_index("colour", "red")] == ["a", "b"]
    assert [one.key.name for one in store.by_index("colour", "red", "m")] == ["b"]
    assert store.by_index("colour", "green") == []
    store.upsert(_one("a", "n", labels={"colour": "blue"}))
    assert [one.key.name for one in store.by_index("colour", "red")] == ["b"]
    store.remove(_one("b", "m"))
    assert store.by_index("colour", "red") == []
    with pytest.raises(KeyError):
        store.by_index("size", "1")


def test_cluster_scoped_objects_also_have_indexes() -> None:
    store = Store({"colour": _colours})
    store.upsert(_one("a", "", labels={"colour": "red"}))
    assert len(store.by_index("colour", "red")) == 1
    assert len(store.in_namespace("")) == 1
    store.remove(_one("a", ""))
    assert store.by_index("colour", "red") == []


def test_a_failing_index_only_hides_the_object_from_itself(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(snapshot: Snapshot) -> list[str]:
        if snapshot.key.name == "a":
            raise LookupError("not there")
        return ["x"]

    store = Store({"broken": broken, "colour": _colours})
    store.upsert(_one("a", labels={"colour": "red"}))
    store.upsert(_one("b"))
    assert [one.key.name for one in store.by_index("broken", "x")] == ["b"]
    assert len(store.by_index("colour", "red")) == 1
    assert store.get(Request("a", "n")) is not None
    store.remove(_one("a"))
    assert store.by_index("colour", "red") == []
    assert "index failed" in caplog.text


CHANGES = st.lists(
    st.tuples(
        st.booleans(),
        st.sampled_from("abc"),
        st.sampled_from(["n", "m", ""]),
        st.sampled_from(["red", "blue"]),
    )
)


@pytest.mark.property
@given(CHANGES)
def test_indexes_agree_with_a_full_scan(
    changes: list[tuple[bool, str, str, str]],
) -> None:
    store = Store({"colour": _colours})
    plain: dict[Request, Snapshot] = {}
    for is_there, name, namespace, colour in changes:
        one = _one(name, namespace, labels={"colour": colour})
        if is_there:
            store.upsert(one)
            plain[one.key] = one
        else:
            store.remove(one)
            plain.pop(one.key, None)
    assert {one.key: one for one in store} == plain
    for namespace in ("", "n", "m"):
        inside = {key for key in plain if namespace in ("", key.namespace)}
        assert {one.key for one in store.in_namespace(namespace)} == inside
        for colour in ("red", "blue"):
            wanted = {key for key in inside if _colours(plain[key]) == [colour]}
            found = {one.key for one in store.by_index("colour", colour, namespace)}
            assert found == wanted


def test_an_index_of_a_string_has_it_whole() -> None:
    store = Store({"kind": lambda _: "red"})
    store.upsert(_one("a"))
    assert [one.key.name for one in store.by_index("kind", "red")] == ["a"]
    assert store.by_index("kind", "r") == []
