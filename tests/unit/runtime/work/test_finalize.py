"""Several finalizers: all run, and each is removed on its own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from olmkit.kube.objects import Manifest
from olmkit.runtime.work.finalize import Finalized, Finalizers

GOING = "2026-01-01T00:00:00Z"


def _object(*names: str, **metadata: Any) -> Manifest:
    return {"metadata": {"name": "a", "finalizers": list(names), **metadata}, "status": {}}


def _registry(done: list[str]) -> Finalizers:
    made = Finalizers()

    async def bucket(manifest: Manifest) -> None:
        manifest["status"]["bucket"] = "gone"
        done.append("bucket")

    async def record(_: Manifest) -> None:
        raise OSError("no route")

    async def account(_: Manifest) -> None:
        done.append("account")

    made.add("example.com/bucket", bucket)
    made.add("example.com/record", record)
    made.add("example.com/account", account)
    return made


def test_missing_finalizers_are_added_to_an_object_that_is_not_deleted() -> None:
    manifest = _object("other.com/x", "example.com/bucket")
    done: list[str] = []
    assert asyncio.run(_registry(done).run(manifest)) == Finalized(updated=True)
    assert manifest["metadata"]["finalizers"] == [
        *("other.com/x", "example.com/bucket", "example.com/record", "example.com/account")
    ]
    assert asyncio.run(_registry(done).run(manifest)) == Finalized()
    assert done == []


def test_all_finalizers_run_and_a_failing_one_is_kept() -> None:
    names = ("example.com/bucket", "example.com/record", "other.com/x", "example.com/account")
    manifest = _object(*names, deletionTimestamp=GOING)
    done: list[str] = []
    found = asyncio.run(_registry(done).run(manifest))
    assert (found.updated, found.status_updated, done) == (True, True, ["bucket", "account"])
    assert manifest["metadata"]["finalizers"] == ["example.com/record", "other.com/x"]
    with pytest.raises(ExceptionGroup, match="some clean-ups failed") as raised:
        found.check()
    assert [str(one) for one in raised.value.exceptions] == ["no route"]


def test_an_object_being_deleted_gets_no_finalizer_and_no_cleanup_without_it() -> None:
    manifest = _object("other.com/x", deletionTimestamp=GOING)
    done: list[str] = []
    found = asyncio.run(_registry(done).run(manifest))
    found.check()
    assert (found, done) == (Finalized(), [])
    assert manifest["metadata"]["finalizers"] == ["other.com/x"]


@pytest.mark.parametrize("name", ["example.com/bucket", "bucket"])
def test_a_name_in_use_or_without_a_domain_is_refused(name: str) -> None:
    async def nothing(_: Manifest) -> None:
        """Clean up nothing."""

    with pytest.raises(ValueError, match="finalizer"):
        _registry([]).add(name, nothing)
