"""Passes over one object, on the API server double with a program that replaces helm."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import Location, OlmkitError
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.programs import helm
from olmkit.hybrid.helm.failures import FIRST, Failures
from olmkit.hybrid.helm.reconciler import FINALIZER, HelmReconciler
from olmkit.hybrid.helm.watches import HelmWatch
from olmkit.kube.api import Resource
from olmkit.kube.labels import LabelSelector
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.client import Client
from olmkit.runtime.work.reconcile import Request
from olmkit.testing.apiserver.server import ApiServer
from olmkit.testing.faults import Fault, FaultProxy
from olmkit.testing.waiting import until

CACHE = GVK(group="demo.example.com", version="v1", kind="Cache")
CONFIG = GVK(group="", version="v1", kind="ConfigMap")
SECRET = GVK(group="", version="v1", kind="Secret")
RESOURCES = [
    Resource(gvk=CACHE, plural="caches", subresources=frozenset({"status"})),
    Resource(gvk=CONFIG, plural="configmaps"),
    Resource(gvk=SECRET, plural="secrets"),
]
ONE = Request("one", "ns")
FAKE = Path(__file__).parent / "fake_helm.py"


@dataclass(eq=False)
class Harness:
    reconciler: HelmReconciler
    client: Client
    server: ApiServer
    calls_file: Path
    times: list[float] = field(default_factory=lambda: [0.0])
    is_away: bool = False

    def calls(self) -> list[str]:
        """Return the calls of helm since the last time."""
        found = self.calls_file.read_text().splitlines() if self.calls_file.exists() else []
        self.calls_file.write_text("")
        return [one for one in found if not one.startswith("version")]

    async def conditions(self) -> list[tuple[str, str, str]]:
        owner = await self.client.require(CACHE, ONE)
        return [
            (one["type"], one["status"], one.get("reason", ""))
            for one in owner["status"]["conditions"]
        ]

    async def change(self, **spec: Any) -> None:
        owner = await self.client.require(CACHE, ONE)
        await self.client.patch(owner, {**owner, "spec": owner["spec"] | spec})


def owner(**spec: Any) -> Manifest:
    return {
        "apiVersion": CACHE.api_version,
        "kind": "Cache",
        "metadata": {"name": "one", "namespace": "ns"},
        "spec": spec,
    }


def run(
    folder: Path, test: Callable[[Harness], Awaitable[None]], selector: LabelSelector | None = None
) -> None:
    async def whole() -> None:
        chart = folder / "chart"
        chart.mkdir()
        (chart / "Chart.yaml").write_text("name: cache\nversion: 0.1.0\n")
        program = folder / "helm"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "$@"\n')
        program.chmod(0o700)
        rigs: list[Harness] = []

        def plan(_: str, __: str) -> Fault | None:
            return Fault.CUT_BEFORE if rigs and rigs[0].is_away else None

        async with (
            ApiServer.of(RESOURCES).serving() as server,
            FaultProxy(upstream=server.url, plan=plan) as proxy,
        ):
            url = f"http://{proxy.host}"
            config = {"clusters": [{"cluster": {"server": url}}]}
            (folder / "kubeconfig").write_text(json.dumps(config))
            environment = {"CALLS": str(folder / "calls"), "PATH": "/usr/bin:/bin"}
            found = await helm.helm(
                str(program),
                environment=environment,
                home=folder,
                kubeconfig=folder / "kubeconfig",
            )
            times = [0.0]
            async with HttpCluster(ClusterConfig(server=url)) as cluster:
                client = Client(cluster, None, field_manager="test")
                reconciler = HelmReconciler(
                    watch=HelmWatch(
                        gvk=CACHE, chart="chart", at=Location("watches.yaml"), selector=selector
                    ),
                    chart=helm.chart(chart),
                    helm=found,
                    client=client,
                    failures=Failures(lambda: times[0]),
                    now=lambda: "2026-01-01T00:00:00Z",
                )
                rigs.append(Harness(reconciler, client, server, folder / "calls", times))
                await test(rigs[0])

    asyncio.run(whole())


def test_one_release_is_installed_upgraded_and_uninstalled(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.client.create(owner(size="1"))
        assert await harness.reconciler.differences(ONE) == [
            "install the release",
            "  ConfigMap one",
        ]
        assert harness.calls() == ["install one dry"]
        assert (await harness.reconciler.reconcile(ONE)).requeue_after == 60
        assert harness.calls() == ["install one"]
        assert await harness.conditions() == [
            ("Initialized", "True", ""),
            ("Deployed", "True", "InstallSuccessful"),
        ]
        found = await harness.client.require(CACHE, ONE)
        assert found["metadata"]["finalizers"] == [FINALIZER]
        config = await harness.client.require(CONFIG, ONE)
        assert config["metadata"]["ownerReferences"][0]["uid"] == found["metadata"]["uid"]

        # A pass without a change does not run helm and only writes dry runs.
        await harness.reconciler.reconcile(ONE)
        before = len(harness.server.writes())
        await harness.reconciler.reconcile(ONE)
        assert harness.calls() == []
        assert harness.server.writes()[before:] == [
            ("PATCH", "/api/v1/namespaces/ns/configmaps/one")
        ]

        await harness.client.patch(config, {**config, "data": {"size": "9"}})
        assert await harness.reconciler.differences(ONE) == [
            "change ConfigMap one: replace /data/size: '1'"
        ]
        await harness.reconciler.reconcile(ONE)
        assert (await harness.client.require(CONFIG, ONE))["data"] == {"size": "1"}

        await harness.change(size="2")
        shown = await harness.reconciler.differences(ONE)
        assert shown[0] == "upgrade the release"
        assert harness.calls() == ["upgrade one dry"]
        await harness.reconciler.reconcile(ONE)
        assert harness.calls() == ["upgrade one"]
        assert ("Deployed", "True", "UpgradeSuccessful") in await harness.conditions()

        await harness.client.delete(CACHE, ONE)
        assert await harness.reconciler.differences(ONE) == ["uninstall the release"]
        await harness.reconciler.reconcile(ONE)
        assert harness.calls() == ["uninstall one"]
        assert await harness.client.get(CACHE, ONE) is None

    run(tmp_path, scenario)


def test_an_upgrade_whose_rollback_fails_too_shows_both_reasons(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.client.create(owner(size="1"))
        await harness.reconciler.reconcile(ONE)
        harness.calls()
        await harness.change(size="stuck")
        await harness.reconciler.reconcile(ONE)
        assert harness.calls() == ["upgrade one", "rollback one", "upgrade one dry"]
        found = await harness.client.require(CACHE, ONE)
        assert found["status"]["conditions"][-1]["message"] == (
            "UPGRADE FAILED: the object is immutable\nrollback: the revision cannot be restored"
        )

    run(tmp_path, scenario)


def test_a_failed_spec_waits_and_another_one_does_not(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.client.create(owner(size="broken"))
        assert (await harness.reconciler.reconcile(ONE)).requeue_after == FIRST
        assert ("ReleaseFailed", "True", "InstallError") in await harness.conditions()
        found = await harness.client.require(CACHE, ONE)
        assert found["status"]["conditions"][-1]["message"] == "UPGRADE FAILED: the size is broken"
        harness.calls()
        assert (await harness.reconciler.reconcile(ONE)).requeue_after == FIRST
        assert harness.calls() == []
        harness.times[0] += FIRST
        assert (await harness.reconciler.reconcile(ONE)).requeue_after == FIRST * 2
        # The rendered manifest shows which values of an error are secret.
        assert harness.calls() == ["install one", "install one dry"]
        await harness.change(size="1")
        await harness.reconciler.reconcile(ONE)
        assert await harness.conditions() == [
            ("Initialized", "True", ""),
            ("Deployed", "True", "InstallSuccessful"),
        ]

    run(tmp_path, scenario)


def test_an_object_that_the_selector_excludes_is_not_changed(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.client.create(owner(size="1"))
        await harness.reconciler.reconcile(ONE)
        assert await harness.reconciler.differences(ONE) == []
        assert harness.calls() == []
        assert "finalizers" not in (await harness.client.require(CACHE, ONE))["metadata"]

    run(tmp_path, scenario, LabelSelector.parse({"tier": "db"}))


def test_a_release_of_another_chart_is_refused(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.client.create(owner(size="1"))
        await harness.reconciler.reconcile(ONE)
        harness.reconciler.chart = helm.ChartSource(path=tmp_path, name="other", digest="d")
        with pytest.raises(Exception, match="duplicate release name"):
            await harness.reconciler.reconcile(ONE)
        assert ("Irreconcilable", "True", "ReconcileError") in await harness.conditions()

    run(tmp_path, scenario)


def test_helms_message_about_a_secret_is_masked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.client.create(owner(size="1", secret={"password": "hidden-word"}))
        await harness.reconciler.reconcile(ONE)
        found = await harness.client.require(CACHE, ONE)
        message = found["status"]["conditions"][-1]["message"]
        assert message == "the server does not accept {'password': '***'}"
        assert "hidden-word" not in caplog.text

    run(tmp_path, scenario)


def test_the_owner_of_a_releases_secret_is_the_object(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        made = await harness.client.create(owner(size="1"))
        await harness.reconciler.reconcile(ONE)
        (secret,) = await harness.client.list(SECRET, namespace="ns")
        uids = [one["uid"] for one in secret["metadata"]["ownerReferences"]]
        assert uids == [made["metadata"]["uid"]]
        version = secret["metadata"]["resourceVersion"]
        await harness.reconciler.reconcile(ONE)
        (secret,) = await harness.client.list(SECRET, namespace="ns")
        assert secret["metadata"]["resourceVersion"] == version

    run(tmp_path, scenario)


async def statuses(harness: Harness) -> list[str]:
    """Return the status of each stored revision."""
    found = await harness.client.list(SECRET, namespace="ns")
    return [one["metadata"]["labels"]["status"] for one in found]


def test_a_killed_helm_does_not_block_the_next_pass(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.client.create(owner(size="1", die=True))
        assert (await harness.reconciler.reconcile(ONE)).requeue_after == FIRST
        assert ("ReleaseFailed", "True", "InstallError") in await harness.conditions()
        await harness.change(die=False)
        await harness.reconciler.reconcile(ONE)
        assert await statuses(harness) == ["deployed"]

        await harness.change(size="2", die=True)
        await harness.reconciler.reconcile(ONE)
        assert ("ReleaseFailed", "True", "UpgradeError") in await harness.conditions()
        await harness.change(size="3", die=False)
        await harness.reconciler.reconcile(ONE)
        assert await statuses(harness) == ["deployed"]
        assert (await harness.client.require(CONFIG, ONE))["data"] == {"size": "3"}
        assert await harness.conditions() == [
            ("Initialized", "True", ""),
            ("Deployed", "True", "UpgradeSuccessful"),
        ]

    run(tmp_path, scenario)


def test_a_release_that_its_operator_left_pending_is_upgraded(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.client.create(owner(size="1"))
        await harness.reconciler.reconcile(ONE)
        (secret,) = await harness.client.list(SECRET, namespace="ns")
        labels = secret["metadata"]["labels"] | {"status": "pending-upgrade", "version": "2"}
        metadata = {"name": "sh.helm.release.v1.one.v2", "namespace": "ns", "labels": labels}
        packed = json.loads(
            gzip.decompress(base64.b64decode(base64.b64decode(secret["data"]["release"])))
        )
        packed |= {"version": 2, "info": {"status": "pending-upgrade"}}
        data = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(packed).encode())))
        left = {**secret, "metadata": metadata, "data": {"release": data.decode()}}
        await harness.client.create(left)
        await harness.change(size="2")
        harness.calls()
        await harness.reconciler.reconcile(ONE)
        assert harness.calls() == ["upgrade one"]
        assert await statuses(harness) == ["deployed"]
        assert (await harness.client.require(CONFIG, ONE))["data"] == {"size": "2"}

    run(tmp_path, scenario)


def test_an_api_server_that_stops_during_an_install_causes_another_pass(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        go = tmp_path / "go"
        await harness.client.create(owner(size="1", wait=str(go)))
        task = asyncio.create_task(harness.reconciler.reconcile(ONE))
        await until((tmp_path / "go.begun").exists, seconds=300)
        harness.is_away = True
        go.touch()
        with pytest.raises(OlmkitError):
            await task
        harness.is_away = False
        assert await statuses(harness) == []
        harness.times[0] += FIRST
        await harness.reconciler.reconcile(ONE)
        assert await statuses(harness) == ["deployed"]
        assert ("Deployed", "True", "InstallSuccessful") in await harness.conditions()

    run(tmp_path, scenario)


def test_a_release_that_another_operator_created_in_the_meantime_is_kept(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.client.create(owner(size="taken"))
        assert (await harness.reconciler.reconcile(ONE)).requeue_after == FIRST
        assert "uninstall one" not in harness.calls()
        assert ("ReleaseFailed", "True", "InstallError") in await harness.conditions()
        (secret,) = await harness.client.list(SECRET, namespace="ns")
        assert secret["metadata"]["labels"]["status"] == "deployed"

    run(tmp_path, scenario)


def test_values_that_cannot_be_written_are_a_failure(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        harness.reconciler.helm = replace(harness.reconciler.helm, home=tmp_path / "gone")
        await harness.client.create(owner(size="1"))
        assert (await harness.reconciler.reconcile(ONE)).requeue_after == FIRST
        found = await harness.client.require(CACHE, ONE)
        assert "cannot write the file of values: no such file" in str(found["status"])

    run(tmp_path, scenario)


def test_a_new_release_is_compared_in_the_pass_that_its_owner_causes(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        watched: list[frozenset[GVK]] = []

        async def watch(kinds: frozenset[GVK]) -> None:
            watched.append(kinds)
            # A change between helm and this pass.
            config = await harness.client.require(CONFIG, ONE)
            if len(watched) == 1:
                await harness.client.patch(config, {**config, "data": {"size": "9"}})

        harness.reconciler.watch_kinds = watch
        await harness.client.create(owner(size="1"))
        await harness.reconciler.reconcile(ONE)
        config = await harness.client.require(CONFIG, ONE)
        uid = (await harness.client.require(CACHE, ONE))["metadata"]["uid"]
        assert [one["uid"] for one in config["metadata"]["ownerReferences"]] == [uid]
        assert config["data"] == {"size": "9"}
        await harness.reconciler.reconcile(ONE)
        assert (await harness.client.require(CONFIG, ONE))["data"] == {"size": "1"}
        assert watched == [frozenset({CONFIG})] * 2

    run(tmp_path, scenario)
