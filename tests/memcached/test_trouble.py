"""The operator's reaction to deleted objects, failed writes and broken connections."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from memcached_operator import decisions
from memcached_operator.__main__ import operator
from memcached_operator.api.v1alpha1.memcached import Memcached
from memcached_operator.decisions import FINALIZER

from olmkit.base import documents
from olmkit.edges.cluster import client as cluster
from olmkit.runtime import ClusterError, Conflict, Result, children
from olmkit.runtime.manifests import own_writes
from olmkit.testing import Fault
from olmkit.testing.apiserver import watch as api_watch

if TYPE_CHECKING:
    from conftest import Plan, Stage

Once = Callable[[Callable[[str, str], bool], Any], "Plan"]


def _writes_object(method: str, path: str) -> bool:
    """Return whether this is a write of the Memcached itself, not of its status."""
    return method == "PATCH" and "/memcacheds/m" in path and "/status" not in path


def _replicas(stage: Stage) -> Any:
    return (stage.server.get("deployments", "m") or {"spec": {}})["spec"].get("replicas")


async def _is_made(stage: Stage, name: str) -> None:
    await stage.until(lambda: stage.server.get("services", name))


async def _is_available(stage: Stage, name: str) -> None:
    await stage.until(lambda: stage.condition("Available", name)[0] == "True")


def _gone(stage: Stage) -> bool:
    found = stage.server.get("memcacheds", "m")
    return found is None or not found["metadata"].get("finalizers")


def test_a_missing_object_sends_no_request_and_succeeds(stage: Stage) -> None:
    async def work() -> None:
        stage.memcached(size=1)
        await stage.until(lambda: stage.server.get("services", "m"))
        await stage.rest()
        stage.server.remove("memcacheds", "m")
        before = len(stage.seen)
        await stage.until(lambda: stage.passes[-1][1] == Result() and len(stage.passes) > 1)
        await stage.rest()
        assert len(stage.seen) == before

    stage.play(work)
    assert stage.server.get("memcacheds", "m") is None


def test_a_kind_that_cannot_be_read_is_retried_and_nothing_is_written(stage: Stage) -> None:
    broken = True

    def plan(method: str, path: str) -> int | None:
        return 500 if broken and "/deployments" in path and method == "GET" else None

    async def work() -> None:
        nonlocal broken
        stage.plan = plan
        stage.memcached(size=1)
        await stage.until(lambda: [one for one in stage.seen if one[2] == 500])
        assert stage.server.writes() == []
        broken = False
        await stage.until(lambda: stage.server.get("deployments", "m"))

    stage.play(work)


def test_an_object_that_is_deleted_before_it_gets_its_finalizer_is_not_an_error(
    stage: Stage,
) -> None:
    def plan(method: str, path: str) -> None:
        if _writes_object(method, path):
            stage.server.remove("memcacheds", "m")

    async def work() -> None:
        stage.plan = plan
        stage.memcached(size=1)
        await stage.until(lambda: stage.passes)
        await stage.rest()

    stage.play(work)
    assert [one for _, one in stage.passes if one != Result()] == []
    assert stage.server.get("deployments", "m") is None


def test_an_object_that_changes_before_it_gets_its_finalizer_is_a_conflict(stage: Stage) -> None:
    """The merge patch replaces the list: without the conflict the other finalizer would be lost."""
    theirs = "example.com/theirs"
    is_first = True

    def plan(method: str, path: str) -> None:
        nonlocal is_first
        if _writes_object(method, path) and is_first:
            is_first = False
            stage.change("memcacheds", lambda one: one["metadata"].update(finalizers=[theirs]))

    async def work() -> None:
        stage.plan = plan
        stage.memcached(size=1)
        await stage.until(lambda: stage.server.get("deployments", "m"))

    stage.play(work)
    assert isinstance(stage.passes[0][1], Conflict)
    found = stage.server.get("memcacheds", "m")
    assert found is not None
    assert sorted(found["metadata"]["finalizers"]) == sorted([theirs, FINALIZER])


@pytest.mark.parametrize("fault", [Fault.ERROR, Fault.CUT_BEFORE, Fault.CUT_AFTER, 404, 409])
def test_an_interrupted_deletion_continues_and_is_reported_once(
    stage: Stage, once: Once, fault: Any
) -> None:
    async def work() -> None:
        stage.plan = once(_writes_object, fault)
        metadata = {"name": "m", "deletionTimestamp": "2024-05-01T00:00:00Z"}
        held = {"metadata": metadata | {"finalizers": [FINALIZER]}, "spec": {"size": 1}}
        stage.server.put("memcacheds", held)
        if fault == 404:
            await stage.until(lambda: stage.passes)
            assert stage.passes[-1][1] == Result()
            return
        await stage.until(lambda: _gone(stage))
        await stage.until(lambda: stage.events("Deleting"))
        await stage.rest()

    stage.play(work)
    assert len(stage.events("Deleting")) <= 1
    if fault == 409:
        assert isinstance(stage.passes[0][1], Exception)


def test_connections_that_fail_anywhere_lead_to_the_same_state(stage: Stage) -> None:
    """Every request fails once, in a different way each time."""
    faults = [Fault.TOO_MANY, Fault.ERROR, Fault.CUT_BEFORE, Fault.CUT_ANSWER, Fault.CUT_AFTER]
    broken: dict[str, int] = {}

    def plan(method: str, path: str) -> Fault | None:
        what = f"{method} {path.partition('?')[0]}"
        broken[what] = broken.get(what, 0) + 1
        return faults[len(broken) % len(faults)] if broken[what] == 1 else None

    async def work() -> None:
        stage.plan = plan
        stage.memcached(size=2)
        await stage.until(lambda: stage.server.get("services", "m"))
        await stage.until(lambda: stage.condition("Available") == ("False", "Reconciling"))
        stage.report()
        await stage.until(lambda: stage.condition("Available")[0] == "True")
        await stage.until(
            lambda: (stage.server.get("memcacheds", "m") or {})["status"]["nodes"] == ["m-0", "m-1"]
        )

    stage.play(work)


@pytest.mark.parametrize("how", ["ended", "frozen", "too old"])
def test_lost_watches_miss_nothing(stage: Stage, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A stalled watch is closed when the server should have ended it long ago.
    monkeypatch.setattr(cluster, "_WATCH_GRACE", 0.2)

    async def work() -> None:
        stage.watch_seconds = (1, 1) if how == "frozen" else (300, 600)
        async with stage.operator():
            stage.memcached(size=1)
            await stage.until(lambda: stage.server.get("services", "m"))
            await stage.rest()
            if how == "frozen":
                stage.server.freeze_watches()
            stage.change("memcacheds", lambda one: one["spec"].update(size=3))
            if how == "too old":
                stage.server.compact()
            stage.server.end_watches()
            await stage.until(lambda: _replicas(stage) == 3)

    stage.play(work, alone=True)


def test_the_status_is_correct_although_own_writes_are_not_seen(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compared with an outdated status, the new one would look as if it was already written."""
    monkeypatch.setattr(own_writes, "_FRESH_TIMEOUT", 0.1)

    def available(number: int) -> Callable[[Any], None]:
        return lambda one: one["status"].update(availableReplicas=number)

    async def work() -> None:
        stage.memcached(size=1)
        await stage.until(lambda: stage.server.get("services", "m"))
        stage.report()
        await stage.until(lambda: stage.condition("Available")[0] == "True")
        await stage.rest()
        memcacheds = stage.server.collections["/apis/cache.example.com/v1alpha1/memcacheds"]
        for watcher in memcacheds.watchers:
            watcher.put_nowait(api_watch.FREEZE)
        stage.change("deployments", available(0))
        await stage.until(lambda: stage.condition("Available")[0] == "False")
        stage.change("deployments", available(1))
        await stage.until(lambda: stage.condition("Available")[0] == "True")

    stage.play(work)


def test_a_restarted_server_is_found_again(stage: Stage) -> None:
    async def work() -> None:
        async with stage.operator():
            async with stage.server.serving():
                stage.line_to(stage.server.url)
                stage.memcached(size=1)
                await stage.until(lambda: stage.server.get("services", "m"))
            async with stage.server.serving():
                stage.line_to(stage.server.url)
                stage.change("memcacheds", lambda one: one["spec"].update(size=3))
                await stage.until(lambda: _replicas(stage) == 3)

    stage.play(work, alone=True)


def test_a_restart_with_a_thousand_healthy_objects_writes_nothing(stage: Stage) -> None:
    number = 1000

    async def work() -> None:
        stage.memcached("m0", size=1)
        async with stage.operator():
            await _is_made(stage, "m0")
            stage.report("m0")
            await _is_available(stage, "m0")
            await stage.rest()
        for index in range(1, number):
            _copy(stage, "m0", f"m{index}")
        before = stage.server.writes()
        stage.passes.clear()
        async with stage.operator():
            await stage.until(lambda: len({request for request, _ in stage.passes}) == number)
            await stage.rest()
        assert stage.server.writes() == before
        assert len(stage.passes) == number

    stage.play(work, alone=True)


def _copy(stage: Stage, old: str, new: str) -> None:
    """Return a Memcached and all its children, unchanged, under another name."""
    uid = ""  # of the Memcached, which comes first
    digests: dict[str, str] = {}
    for plural in ("memcacheds", "deployments", "services", "pods"):
        found = stage.server.get(plural, f"{old}-0" if plural == "pods" else old)
        made = json.loads(json.dumps(found).replace(old, new))
        del made["metadata"]["uid"]
        for reference in made["metadata"].get("ownerReferences", ()):
            reference["uid"] = uid
        if made["kind"] in digests:
            made["metadata"]["annotations"][children.APPLIED] = digests[made["kind"]]
        kept = stage.server.put(plural, made)
        if not uid:
            uid = kept["metadata"]["uid"]
            for one in decisions.children_of(Memcached.from_manifest(kept), "memcached:1.6"):
                wanted = children.described(kept, one, namespaced=True)
                digests[one["kind"]] = wanted["metadata"]["annotations"][children.APPLIED]


def test_a_write_of_the_own_status_causes_no_pass(stage: Stage) -> None:
    async def work() -> None:
        stage.memcached(size=1)
        await stage.until(lambda: stage.server.get("services", "m"))
        await stage.rest()
        stage.passes.clear()
        stage.change("memcacheds", lambda one: one["status"].update(extra=1))
        await stage.rest()
        assert stage.passes == []

    stage.play(work)


def test_two_objects_count_their_own_pods(stage: Stage) -> None:
    async def work() -> None:
        for name in ("a", "b"):
            stage.memcached(name, size=2)
            await _is_made(stage, name)
            stage.report(name)
        for name in ("a", "b"):
            await _is_available(stage, name)
        await stage.rest()
        for name in ("a", "b"):
            found = stage.server.get("memcacheds", name) or {}
            assert found["status"]["nodes"] == [f"{name}-0", f"{name}-1"]
            assert (found["status"]["replicas"], found["status"]["readyReplicas"]) == (2, 2)
            assert found["status"]["observedGeneration"] == found["metadata"]["generation"]

    stage.play(work)


def test_a_missing_size_is_the_default(stage: Stage) -> None:
    async def work() -> None:
        stage.memcached()
        found = await stage.until(lambda: stage.server.get("deployments", "m"))
        assert found["spec"]["replicas"] == 1

    stage.play(work)


@pytest.mark.parametrize(
    ("watched", "made"),
    [((), {"one", "two", "three"}), (("one",), {"one"}), (("one", "two"), {"one", "two"})],
    ids=["all", "one", "several"],
)
def test_only_watched_namespaces_are_reconciled(
    stage: Stage, watched: tuple[str, ...], made: set[str]
) -> None:
    async def work() -> None:
        for namespace in ("one", "two", "three"):
            stage.memcached(namespace=namespace, size=1)
        async with stage.operator(watched):
            await stage.until(lambda: len(stage.server.all("services")) == len(made))
            await stage.rest()
        found = {one["metadata"]["namespace"] for one in stage.server.all("deployments")}
        assert found == made

    stage.play(work, alone=True)


def test_a_new_object_causes_no_later_pass(stage: Stage) -> None:
    """The created objects cause events: a timer would be an unnecessary pass."""

    async def work() -> None:
        stage.memcached(size=1)
        await _is_made(stage, "m")
        await stage.rest()
        assert stage.condition("Progressing") == ("True", "Reconciling")

    stage.play(work)
    assert [one for _, one in stage.passes if one != Result()] == []
    assert [event["type"] for event in stage.events("Created")] == ["Normal", "Normal"]


def test_a_name_of_another_owner_is_checked_again_periodically(stage: Stage) -> None:
    """Theirs is not watched, so nothing else would tell that it went."""

    async def work() -> None:
        stage.server.put("deployments", {"metadata": {"name": "m"}, "spec": {"theirs": True}})
        stage.memcached(size=1)
        await stage.until(lambda: stage.condition("Degraded") == ("True", "NameTaken"))
        await stage.rest()

    stage.play(work)
    assert stage.passes[-1][1] == Result(requeue_after=60.0)
    assert len(stage.passes) <= 3


def test_scaling_that_fails_is_reported_and_available_stays_the_truth(stage: Stage) -> None:
    is_refused = False

    def plan(method: str, path: str) -> int | None:
        return 403 if is_refused and method == "PATCH" and "/deployments/m" in path else None

    async def work() -> None:
        nonlocal is_refused
        stage.plan = plan
        stage.memcached(size=1)
        await _is_made(stage, "m")
        stage.report()
        await _is_available(stage, "m")
        is_refused = True
        stage.change("memcacheds", lambda one: one["spec"].update(size=2))
        await stage.until(lambda: stage.condition("Progressing") == ("False", "Resizing"))
        assert stage.condition("Degraded")[0] == "True"
        found = stage.server.get("memcacheds", "m") or {}
        [available] = [one for one in found["status"]["conditions"] if one["type"] == "Available"]
        assert available["message"] == "1 of 2 pods are available"
        is_refused = False
        await stage.until(lambda: _replicas(stage) == 2)
        stage.report()
        await _is_available(stage, "m")
        assert stage.condition("Degraded") == ("False", "Reconciling")

    stage.play(work)
    assert isinstance(
        next(one for _, one in stage.passes if not isinstance(one, Result)), ClusterError
    )


def test_name_that_no_service_may_have_gets_children_all_the_same(stage: Stage) -> None:
    name = "a" * 253

    async def work() -> None:
        stage.memcached(name, size=1)
        [made] = await stage.until(lambda: stage.server.all("services"))
        assert len(made["metadata"]["name"]) <= 63
        stage.report(made["metadata"]["name"])
        await _is_available(stage, name)
        await stage.until(
            lambda: len((stage.server.get("memcacheds", name) or {})["status"]["nodes"])
        )

    stage.play(work)


def test_pod_of_the_operator_is_given_longer_than_the_operator_takes(root: Path) -> None:
    text = (root / "operator/config/manager/manager.yaml").read_bytes()
    [pod] = [
        one.value["spec"]["template"]["spec"]
        for one in documents.load_all(text, "manager.yaml")
        if one.value["kind"] == "Deployment"
    ]
    assert pod["terminationGracePeriodSeconds"] > operator().graceful_shutdown_timeout


@pytest.mark.parametrize(
    "status", [{"nodes": "none"}, {"conditions": [{"type": 5}]}, {"replicas": "x"}]
)
def test_odd_status_is_written_again_and_keeps_no_object_from_its_end(
    stage: Stage, status: dict[str, Any]
) -> None:
    """As one from before its schema may be."""

    async def work() -> None:
        made = stage.memcached(size=1)
        stage.server.put("memcacheds", {**made, "status": status})
        await stage.until(lambda: stage.condition("Progressing")[0])
        await stage.rest()
        found = stage.server.get("memcacheds", "m") or {}
        assert found["status"]["nodes"] == []
        going = {**found["metadata"], "deletionTimestamp": "2024-05-01T00:00:00Z"}
        stage.server.put("memcacheds", {**found, "metadata": going, "status": status})
        await stage.until(lambda: _gone(stage))

    stage.play(work)
