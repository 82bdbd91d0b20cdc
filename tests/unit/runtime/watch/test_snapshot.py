from __future__ import annotations

import msgspec
import pytest

from olmkit.runtime.watch.snapshot import Snapshot
from olmkit.runtime.work.reconcile import Request


def test_a_snapshot_keeps_the_bytes_and_reads_the_metadata() -> None:
    raw = b'{"kind":"X","metadata":{"name":"a","namespace":"n","resourceVersion":"7"},"odd":1}'
    snapshot = Snapshot(raw)
    assert snapshot.key == Request("a", "n")
    assert snapshot.metadata.resource_version == "7"
    assert snapshot.manifest()["odd"] == 1


def test_every_reader_gets_its_own_copy() -> None:
    snapshot = Snapshot.of({"metadata": {"name": "a"}, "spec": {"size": 1}})
    snapshot.manifest()["spec"]["size"] = 2
    assert snapshot.manifest()["spec"]["size"] == 1


def test_metadata_can_be_missing() -> None:
    assert Snapshot(b"{}").key == Request("")
    assert Snapshot(b'{"metadata":null}').key == Request("")


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b'{"metadata":[]}', b'{"metadata":1}'])
def test_a_value_that_is_not_an_object_is_refused(raw: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        Snapshot(raw)


def test_a_null_or_a_wrong_type_in_one_field_only_loses_that_field() -> None:
    snapshot = Snapshot(b'{"metadata":{"name":"a","generation":null,"labels":{"x":1},"uid":"u"}}')
    assert snapshot.key == Request("a")
    assert snapshot.metadata.generation == 0
    assert snapshot.metadata.labels is None
    assert snapshot.metadata.uid == "u"
