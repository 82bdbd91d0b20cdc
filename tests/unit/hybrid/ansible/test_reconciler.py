"""Passes over one object, on the API server double with a program that replaces ansible-runner."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import Location
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.connection import Connection
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.cluster.run_proxy import RunProxy
from olmkit.edges.programs.ansible import runs
from olmkit.edges.programs.ansible.runs import Run, RunContent
from olmkit.hybrid.ansible import run_variables
from olmkit.hybrid.ansible.reconciler import AnsibleReconciler, FailedRunError, RunSettings
from olmkit.hybrid.ansible.watches import AnsibleFinalizer, AnsibleWatch
from olmkit.kube.api import Resource
from olmkit.kube.labels import LabelSelector
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.client import Client
from olmkit.runtime.work.reconcile import Request, Result
from olmkit.testing.apiserver.server import ApiServer
from olmkit.testing.waiting import until
from tests.processes import wait_for_end
from tests.unit.hybrid.ansible import runners

CACHE = GVK(group="demo.example.com", version="v1", kind="Cache")
CONFIG = GVK(group="", version="v1", kind="ConfigMap")
SECRET = GVK(group="", version="v1", kind="Secret")
RESOURCES = [
    Resource(gvk=CACHE, plural="caches", subresources=frozenset({"status"})),
    Resource(gvk=CONFIG, plural="configmaps"),
    Resource(gvk=SECRET, plural="secrets"),
]
ONE = Request("one", "ns")
FAKE = Path(__file__).parent / "fake_ansible.py"
END = AnsibleFinalizer(name="demo.example.com/end", variables={"state": "absent"})


@dataclass(eq=False)
class Harness:
    reconciler: AnsibleReconciler
    client: Client
    folder: Path
    watched: list[GVK] = field(default_factory=list)

    async def create(self, annotations: Mapping[str, str] | None = None, **spec: Any) -> None:
        manifest: Manifest = {
            "apiVersion": CACHE.api_version,
            "kind": "Cache",
            "metadata": {"name": "one", "namespace": "ns", "annotations": dict(annotations or {})},
            "spec": spec,
        }
        await self.client.create(manifest)

    async def create_secret(self) -> None:
        await self.client.create(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": "hidden", "namespace": "ns"},
                "data": {"password": "aGlkZGVuLXdvcmQ="},
            }
        )

    async def conditions(self) -> dict[str, tuple[str, str, str]]:
        owner = await self.client.require(CACHE, ONE)
        return {
            one["type"]: (one["status"], one["reason"], one["message"])
            for one in owner.get("status", {}).get("conditions", [])
        }

    def left(self, name: str) -> str:
        return (self.folder / "runs/demo.example.com/v1/Cache/ns" / name).read_text()

    def change(self, **watch: Any) -> None:
        self.reconciler.watch = replace(self.reconciler.watch, **watch)


Start = Callable[[Path, Callable[[Harness], Awaitable[None]]], None]


@pytest.fixture(params=runners.NAMES)
def run(request: pytest.FixtureRequest) -> Start:
    return lambda folder, test: start(request.param, folder, test)


def start(name: str, folder: Path, test: Callable[[Harness], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with ApiServer.of(RESOURCES).serving() as server:
            config = ClusterConfig(server=server.url)
            proxy = RunProxy(Connection(config, user_agent="test"))
            serving = asyncio.create_task(proxy.run())
            await proxy.wait_until_ready()
            times = iter(range(1000))
            async with HttpCluster(config) as cluster:
                client = Client(cluster, None, field_manager="test")
                content = RunContent(playbook=folder / "play.yml")
                reconciler = AnsibleReconciler(
                    watch=AnsibleWatch(gvk=CACHE, at=Location("watches.yaml"), playbook="play.yml"),
                    content=content,
                    finalizing=content,
                    runner=runners.runner(
                        name, (sys.executable, str(FAKE)), {"PATH": "/usr/bin:/bin"}, folder
                    ),
                    proxy=proxy,
                    client=client,
                    settings=RunSettings(folder=folder / "runs", period=600),
                    now=lambda: "2026-01-01T00:00:00Z",
                    clock=lambda: float(next(times)),
                )
                harness = Harness(reconciler, client, folder)

                async def watch(gvk: GVK) -> None:
                    harness.watched.append(gvk)

                reconciler.watch_kind = watch
                try:
                    await test(harness)
                finally:
                    serving.cancel()
                    reconciler.runner.close()

    asyncio.run(whole())


def test_a_run_creates_the_dependents_of_the_object(run: Start, tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        seen: list[tuple[bool, float]] = []
        harness.reconciler.observe = lambda ok, seconds: seen.append((ok, seconds))
        harness.change(variables={"size": 5})
        await harness.create(
            config="made", clusterIP="x", size=3, ansiblePythonInterpreter="/bin/sh"
        )
        result = await harness.reconciler.reconcile(ONE)
        assert result.requeue_after == 600
        assert await harness.conditions() == {
            "Running": ("True", "Successful", "Awaiting next reconciliation"),
            "Successful": ("True", "Successful", "Last reconciliation succeeded"),
            "Failure": ("False", "", ""),
        }
        owner = await harness.client.require(CACHE, ONE)
        made = await harness.client.require(CONFIG, Request("made", "ns"))
        assert [one["uid"] for one in made["metadata"]["ownerReferences"]] == [
            owner["metadata"]["uid"]
        ]
        assert harness.watched == [CONFIG]
        variables = json.loads(harness.left("variables"))
        assert (variables["size"], variables["cluster_ip"]) == (5, "x")
        assert "ansible_python_interpreter" not in variables
        assert seen == [(True, 1.0)]
        # Values and access end with the run.
        folder = tmp_path / "runs/demo.example.com/v1/Cache/ns/one"
        assert not (folder / "env" / "extravars").exists()
        assert not (folder / "kubeconfig").exists()
        assert folder.stat().st_mode & 0o777 == 0o700

    run(tmp_path, scenario)


def test_a_failure_is_in_the_status_without_secrets(
    run: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.create_secret()
        await harness.create(fail="broken", secret="hidden")
        with caplog.at_level(logging.INFO), pytest.raises(FailedRunError, match=r"broken: \*\*\*"):
            await harness.reconciler.reconcile(ONE)
        found = await harness.conditions()
        assert found["Failure"] == ("True", "Failed", "broken: ***")
        assert found["Running"] == ("False", "", "")
        logged = str([record.__dict__ for record in caplog.records])
        assert "***" in logged
        assert "aGlkZGVuLXdvcmQ" not in logged
        assert harness.left("one/artifacts/1/stdout") == '{"password": "***"}'

    run(tmp_path, scenario)


def test_the_whole_output_is_logged_on_request_without_secrets(
    run: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.create_secret()
        await harness.create(secret="hidden")
        settings = replace(harness.reconciler.settings, log_events="nothing", logs_output=True)
        harness.reconciler.settings = settings
        with caplog.at_level(logging.INFO):
            await harness.reconciler.reconcile(ONE)
        (record,) = [one for one in caplog.records if one.message == "output of a run"]
        assert record.__dict__["output"] == "read ***"

    run(tmp_path, scenario)


def test_a_run_that_stalls_or_is_killed_is_a_failure(run: Start, tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.create(hang=60)
        harness.change(timeout=5)
        with pytest.raises(FailedRunError, match=r"ended after 5 s"):
            await harness.reconciler.reconcile(ONE)
        await asyncio.to_thread(wait_for_end, int(harness.left("child")))
        owner = await harness.client.require(CACHE, ONE)
        await harness.client.patch(owner, {**owner, "spec": {"die": True}})
        harness.change(timeout=120)
        with pytest.raises(FailedRunError, match="signal SIGKILL"):
            await harness.reconciler.reconcile(ONE)
        assert (await harness.conditions())["Failure"][:2] == ("True", "Failed")

    run(tmp_path, scenario)


def test_the_finalizer_is_removed_after_a_successful_run(run: Start, tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        harness.change(finalizer=END)
        await harness.create()
        await harness.reconciler.reconcile(ONE)
        owner = await harness.client.require(CACHE, ONE)
        assert owner["metadata"]["finalizers"] == [END.name]
        assert "state" not in json.loads(harness.left("variables"))
        await harness.client.patch(owner, {**owner, "spec": {"fail": "not yet"}})
        await harness.client.delete(CACHE, ONE)
        with pytest.raises(FailedRunError):
            await harness.reconciler.reconcile(ONE)
        assert json.loads(harness.left("variables"))["state"] == "absent"
        owner = await harness.client.require(CACHE, ONE)
        await harness.client.patch(owner, {**owner, "spec": {}})
        await harness.reconciler.reconcile(ONE)
        assert await harness.client.get(CACHE, ONE) is None
        assert not (tmp_path / "runs/demo.example.com/v1/Cache/ns/one").exists()

    run(tmp_path, scenario)


def test_a_run_whose_object_was_deleted_in_the_meantime_has_not_failed(
    run: Start, tmp_path: Path
) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.create(wait=str(tmp_path / "go"), fail="it is not there")
        reconciling = asyncio.create_task(harness.reconciler.reconcile(ONE))
        waits = tmp_path / "runs/demo.example.com/v1/Cache/ns/waits"
        await until(waits.exists, seconds=120)
        await harness.client.delete(CACHE, ONE)
        (tmp_path / "go").touch()
        assert await reconciling == Result()
        assert not (tmp_path / "runs/demo.example.com/v1/Cache/ns/one").exists()

    run(tmp_path, scenario)


def test_annotations_and_the_play_decide_when_the_next_run_is(run: Start, tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        prefix = "ansible.sdk.operatorframework.io"
        await harness.create(
            {f"{prefix}/reconcile-period": "1m", f"{prefix}/verbosity": "4"}, again=""
        )
        assert (await harness.reconciler.reconcile(ONE)).requeue_after == 60
        assert "-vvvv" in harness.left("calls")
        owner = await harness.client.require(CACHE, ONE)
        await harness.client.patch(owner, {**owner, "spec": {"again": "7s"}})
        assert (await harness.reconciler.reconcile(ONE)).requeue_after == 7
        metadata = {**owner["metadata"], "annotations": {f"{prefix}/reconcile-period": "soon"}}
        await harness.client.patch(owner, {**owner, "metadata": metadata})
        with pytest.raises(FailedRunError, match="`soon` is not a duration"):
            await harness.reconciler.reconcile(ONE)
        assert "`soon`" in (await harness.conditions())["Failure"][2]

    run(tmp_path, scenario)


def test_the_play_alone_can_write_the_status(run: Start, tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        harness.change(manages_status=False)
        await harness.create(fail="broken")
        with pytest.raises(FailedRunError):
            await harness.reconciler.reconcile(ONE)
        assert await harness.conditions() == {}

    run(tmp_path, scenario)


def test_objects_that_are_not_selected_are_ignored(run: Start, tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        harness.change(selector=LabelSelector.parse("a=b"))
        await harness.create()
        await harness.reconciler.reconcile(ONE)
        assert await harness.conditions() == {}
        assert not (tmp_path / "runs").exists()

    run(tmp_path, scenario)


def test_check_mode_writes_nothing(run: Start, tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.create(config="made")
        (line,) = await harness.reconciler.differences(ONE)
        assert line == "error: 403: check mode writes nothing without `dryRun=All`"
        assert await harness.client.get(CONFIG, Request("made", "ns")) is None
        assert await harness.conditions() == {}
        # ansible-runner reads them from a file.
        place = tmp_path / "runs/demo.example.com/v1/Cache/ns/one/env/cmdline"
        words = place.read_text() if place.exists() else harness.left("calls")
        assert "--check --diff" in words

    run(tmp_path, scenario)


def test_a_cancelled_pass_ends_its_run(run: Start, tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.create(hang=60)
        task = asyncio.create_task(harness.reconciler.reconcile(ONE))
        place = tmp_path / "runs/demo.example.com/v1/Cache/ns/child"
        async with asyncio.timeout(20):
            while not (place.exists() and place.read_text()):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(wait_for_end, int(place.read_text()))

    run(tmp_path, scenario)


def test_a_run_without_a_directory_for_its_files_is_a_failure(run: Start, tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        (tmp_path / "file").touch()
        harness.reconciler.settings = replace(
            harness.reconciler.settings, folder=tmp_path / "file" / "home" / "runs"
        )
        await harness.create()
        with pytest.raises(FailedRunError, match="cannot write the files of the run"):
            await harness.reconciler.reconcile(ONE)
        assert await harness.conditions() == {
            "Running": ("False", "", ""),
            "Successful": ("False", "", ""),
            "Failure": ("True", "Failed", "cannot write the files of the run: not a directory"),
        }

    run(tmp_path, scenario)


def test_an_object_that_is_nested_too_deeply_is_a_failure(
    run: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In the operator, the limit is above that of the double.
    written = run_variables.files
    deep: dict[str, Any] = {}
    for _ in range(2000):
        deep = {"a": deep}
    monkeypatch.setattr(
        run_variables, "files", lambda _, *rest, **named: written({"a": deep}, *rest, **named)
    )

    async def scenario(harness: Harness) -> None:
        await harness.create()
        with pytest.raises(FailedRunError, match="nested too deeply"):
            await harness.reconciler.reconcile(ONE)
        assert (await harness.conditions())["Failure"][:2] == ("True", "Failed")

    run(tmp_path, scenario)


def test_the_kept_files_of_a_run_are_masked_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "_PART", 8)
    left = tmp_path / "artifacts" / "1"
    left.mkdir(parents=True)
    text = "ab" * 5 + "hidden\nword" + "a" * 20 + "hidden" + "b" * 7 + "hidden\nwo"
    (left / "stdout").write_text(text)
    (left / "stdout").chmod(0o640)
    (left / "status").write_text("ab" * 100)
    before = (left / "status").stat().st_ino
    run = Run(
        content=RunContent(playbook=tmp_path),
        folder=tmp_path,
        temporary=tmp_path,
        ident="1",
        variables=b"",
        trusted=b"",
        server="",
    )
    runs.mask(run, {b"hidden\nword": b"***", b"hidden": b"***"})
    expected = "ab" * 5 + "***" + "a" * 20 + "***" + "b" * 7 + "***\nwo"
    assert (left / "stdout").read_text() == expected
    assert (left / "stdout").stat().st_mode & 0o777 == 0o640
    assert (left / "status").stat().st_ino == before
    assert sorted(one.name for one in left.iterdir()) == ["status", "stdout"]


def test_a_file_that_cannot_be_masked_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(runs, "_replaced", full)
    left = tmp_path / "artifacts" / "1"
    left.mkdir(parents=True)
    (left / "stdout").write_text("hidden")
    run = Run(
        content=RunContent(playbook=tmp_path),
        folder=tmp_path,
        temporary=tmp_path,
        ident="1",
        variables=b"",
        trusted=b"",
        server="",
    )
    runs.mask(run, {b"hidden": b"***"})
    assert list(left.iterdir()) == []
