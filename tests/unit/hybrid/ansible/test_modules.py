"""The modules of `operator_sdk.util` as Ansible runs them, on the API server double."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.programs.ansible import runs
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK
from olmkit.runtime.client import Client
from olmkit.runtime.work.reconcile import Request
from olmkit.testing.apiserver.server import ApiServer

needs_ansible = pytest.mark.skipif(
    importlib.util.find_spec("ansible") is None, reason="needs the extra `ansible`"
)
CACHE = GVK("demo.example.com", "v1", "Cache")
EVENT = GVK("", "v1", "Event")
RESOURCES = [
    Resource(gvk=CACHE, plural="caches", subresources=frozenset({"status"})),
    Resource(gvk=EVENT, plural="events"),
]
UTIL = runs.OWN_COLLECTIONS / "ansible_collections" / "operator_sdk" / "util" / "plugins"
NOW, BEFORE = "2026-01-02T03:04:05Z", "2026-01-01T00:00:00Z"


def status_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("status", UTIL / "module_utils" / "status.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_condition_replaces_the_one_of_its_type() -> None:
    present = {
        "nodes": ["a"],
        "conditions": [
            {"type": "Running", "status": "True"},
            {"type": "Ready", "status": "True", "lastTransitionTime": BEFORE},
        ],
    }
    ready = {"type": "Ready", "status": True, "reason": "AllThere", "message": "yes"}
    new = {"type": "New", "status": "False"}
    found = status_module().wanted(present, {"nodes": ["b"]}, [ready, new], now=NOW)
    assert found == {
        "nodes": ["b"],
        "conditions": [
            {"type": "Running", "status": "True"},
            {**ready, "status": "True", "lastTransitionTime": BEFORE},
            {**new, "lastTransitionTime": NOW},
        ],
    }
    ready["status"] = "False"
    found = status_module().wanted(present, {}, [ready], now=NOW, replace_lists=True)
    assert found == {"nodes": ["a"], "conditions": [{**ready, "lastTransitionTime": NOW}]}
    assert status_module().wanted(present, {"a": 1}, [], now=NOW, replace=True) == {"a": 1}


def test_fields_are_merged_and_null_removes_a_field() -> None:
    present = {"a": {"b": 1, "c": 2}, "d": 3}
    found = status_module().wanted(present, {"a": {"b": None, "e": 4}, "d": None}, [], now=NOW)
    assert found == {"a": {"c": 2, "e": 4}}
    assert present == {"a": {"b": 1, "c": 2}, "d": 3}


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ({"status": "True"}, "no `type`"),
        ({"type": "Ready", "status": "maybe"}, "must be True, False or Unknown"),
        ({"type": "Ready", "status": "True", "reason": "all there"}, "camel case"),
        ({"type": "Ready", "status": "True", "message": 3}, "must be a string"),
        ({"type": "Ready", "status": "True", "lastTransitionTime": "now"}, "must be a time"),
    ],
)
def test_an_invalid_condition_is_reported(condition: dict[str, Any], said: str) -> None:
    assert said in status_module().fault([condition])


@dataclass(eq=False)
class Harness:
    folder: Path
    client: Client

    async def module(self, module: str, /, *words: str, **options: Any) -> dict[str, Any]:
        """Return the result of the module with this name."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ansible.cli.adhoc", "localhost", "-c", "local"),
            *("-m", f"operator_sdk.util.{module}", "-a", json.dumps(options), *words),
            env=os.environ
            | {
                "ANSIBLE_COLLECTIONS_PATH": str(runs.OWN_COLLECTIONS),
                "ANSIBLE_HOME": str(self.folder / "home"),
                "ANSIBLE_NOCOLOR": "1",
                "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
                "K8S_AUTH_KUBECONFIG": str(self.folder / "kubeconfig"),
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        text = output.decode()
        found = re.search(r"localhost \| \S+ (?:=>|!:) (\{.*\n\})", text, re.DOTALL)
        assert found is not None, text
        answer: dict[str, Any] = json.loads(found[1])
        return answer

    async def status(self) -> Any:
        return (await self.client.require(CACHE, Request("one", "ns"))).get("status")


def run(folder: Path, test: Callable[[Harness], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with ApiServer.of(RESOURCES).serving() as server:
            config = {
                "clusters": [{"name": "run", "cluster": {"server": server.url}}],
                "contexts": [{"name": "run", "context": {"cluster": "run"}}],
                "current-context": "run",
            }
            (folder / "kubeconfig").write_text(json.dumps(config))
            async with HttpCluster(ClusterConfig(server=server.url)) as cluster:
                client = Client(cluster, None, field_manager="test")
                await client.create(
                    {
                        "apiVersion": CACHE.api_version,
                        "kind": "Cache",
                        "metadata": {"name": "one", "namespace": "ns"},
                    }
                )
                await test(Harness(folder, client))

    asyncio.run(whole())


CACHE_ONE = {"api_version": CACHE.api_version, "kind": "Cache", "name": "one", "namespace": "ns"}


@needs_ansible
def test_a_play_writes_the_status_once(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        wanted = CACHE_ONE | {
            "status": {"nodes": ["a"]},
            "conditions": [{"type": "Ready", "status": "True", "reason": "There"}],
        }
        shown = await harness.module("k8s_status", "--check", **wanted)
        assert (shown["changed"], await harness.status()) == (True, None)
        assert (await harness.module("k8s_status", **wanted))["changed"] is True
        status = await harness.status()
        assert (status["nodes"], status["conditions"][0]["type"]) == (["a"], "Ready")
        assert (await harness.module("k8s_status", **wanted))["changed"] is False
        assert await harness.status() == status

    run(tmp_path, scenario)


@needs_ansible
def test_errors_of_a_status_are_those_of_the_task(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        gone = await harness.module("k8s_status", **{**CACHE_ONE, "name": "gone"}, status={"a": 1})
        assert gone["status"] == 404
        other = await harness.module(
            "k8s_status", **{**CACHE_ONE, "kind": "Other"}, status={"a": 1}
        )
        assert "no kind `Other`" in other["msg"]
        wrong = [{"type": "Ready", "status": "x"}]
        found = await harness.module("k8s_status", **CACHE_ONE, conditions=wrong)
        assert "must be True, False or Unknown" in found["msg"]

    run(tmp_path, scenario)


@needs_ansible
def test_an_event_is_counted_and_its_time_is_returned(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        event = {
            "name": "started",
            "namespace": "ns",
            "message": "it has started",
            "reason": "Started",
            "involvedObject": {"kind": "Cache", "name": "one"},
        }
        await harness.module("k8s_event", **event)
        await harness.module("k8s_event", **event)
        (found,) = await harness.client.list(EVENT, namespace="ns")
        assert (found["count"], found["type"], found["reason"]) == (2, "Normal", "Started")
        assert (await harness.module("requeue_after", time="1h30m"))["period"] == "1h30m"
        assert "must be a time" in (await harness.module("requeue_after", time="soon"))["msg"]

    run(tmp_path, scenario)
