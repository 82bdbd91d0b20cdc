"""An Ansible operator with a real API server and the real ansible-runner."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.kube.api import AlreadyExists, NoSuchKind, NotFound, PatchType
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.client import Client
from olmkit.runtime.work.reconcile import Request
from olmkit.testing.control_plane import ControlPlane
from tests.processes import of_environment

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        importlib.util.find_spec("ansible_runner") is None, reason="needs the extra `ansible`"
    ),
]

CACHE = GVK(group="play.example.com", version="v1alpha1", kind="Cache")
CONFIG = GVK(group="", version="v1", kind="ConfigMap")
SECRET = GVK(group="", version="v1", kind="Secret")
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "caches.play.example.com"},
    "spec": {
        "group": "play.example.com",
        "names": {
            "kind": "Cache",
            "plural": "caches",
            "singular": "cache",
            "listKind": "CacheList",
        },
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": OPEN, "status": OPEN},
                    }
                },
            }
        ],
    },
}
WATCHES = """\
- group: play.example.com
  version: v1alpha1
  kind: Cache
  role: cache
  timeout: 5m
  vars: {origin: "{{ 'en' + 'try' }}"}
  finalizer: {name: play.example.com/end, vars: {state: absent}}
"""
# Without a collection: the server of the kubeconfig, over HTTP.
TASKS = """\
- ansible.builtin.set_fact:
    config: "{{ lookup('file', lookup('env', 'K8S_AUTH_KUBECONFIG')) | from_json }}"
    name: "{{ ansible_operator_meta.name }}-config"
    dry: "{{ '&dryRun=All' if ansible_check_mode else '' }}"
- ansible.builtin.set_fact:
    place: "{{ config.clusters[0].cluster.server }}/api/v1/namespaces/\
{{ ansible_operator_meta.namespace }}"
- ansible.builtin.fail: {msg: "the size is broken"}
  when: size_gi == "broken"
- ansible.builtin.command: sleep 600
  when: size_gi == "hang"
- ansible.builtin.uri: {url: "{{ place }}/secrets/hidden"}
  register: found
  when: size_gi == "secret"
- ansible.builtin.fail: {msg: "it is {{ found.json.data.password | b64decode }}"}
  when: size_gi == "secret"
- name: apply the ConfigMap
  ansible.builtin.uri:
    url: "{{ place }}/configmaps/{{ name }}?fieldManager=play&force=true{{ dry }}"
    method: PATCH
    headers: {Content-Type: application/apply-patch+yaml}
    body_format: json
    status_code: [200, 201]
    body:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ name }}"}
      data:
        size: "{{ size_gi }}"
        origin: "{{ origin }}"
        state: "{{ state | default('present') }}"
- operator_sdk.util.k8s_status:
    api_version: play.example.com/v1alpha1
    kind: Cache
    name: "{{ ansible_operator_meta.name }}"
    namespace: "{{ ansible_operator_meta.namespace }}"
    status: {size: "{{ size_gi }}"}
    conditions:
    - {type: Applied, status: "True", reason: Sent, message: it is there}
"""


@dataclass(eq=False)
class Harness:
    """A project in a directory, a separate namespace, and the operator as a process."""

    plane: ControlPlane
    folder: Path
    namespace: str
    client: Client
    runner: str
    process: subprocess.Popen[bytes] | None = None

    def words(self, *more: str) -> list[str]:
        return [
            *(sys.executable, "-m", "olmkit.hybrid", "ansible", "run"),
            f"--kubeconfig={self.plane.kubeconfig}",
            "--health-probe-bind-address=0",
            "--max-concurrent-reconciles=4",
            f"--runner={self.runner}",
            *more,
        ]

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"WATCH_NAMESPACE": self.namespace, "ANSIBLE_GATHERING": "explicit"}

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.words(), cwd=self.folder, env=self.environment, stdout=log, stderr=log
            )

    def stop(self, number: int = signal.SIGTERM) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(30)
            self.process = None

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    async def get(self, gvk: GVK, name: str) -> Manifest | None:
        return await self.client.get(gvk, Request(name, self.namespace))

    async def until(self, what: Callable[[], Any], seconds: float = 240) -> Any:
        """Return the result of the coroutine function as soon as it is true."""
        async with asyncio.timeout(seconds):
            while True:
                with contextlib.suppress(NoSuchKind, NotFound):
                    if found := await what():
                        return found
                await asyncio.sleep(0.2)

    async def condition(self, name: str, type_: str, reason: str) -> dict[str, Any]:
        async def there() -> Any:
            owner = await self.get(CACHE, name)
            listed = ((owner or {}).get("status") or {}).get("conditions") or []
            return next(
                (one for one in listed if one["type"] == type_ and one["reason"] == reason), None
            )

        found: dict[str, Any] = await self.until(there)
        return found

    async def change(self, gvk: GVK, name: str, patch: Any) -> None:
        resource = await self.client.cluster.resource(gvk.api_version, gvk.kind)
        await self.client.cluster.patch(
            resource, name, patch, type=PatchType.MERGE, namespace=self.namespace
        )

    async def create(self, name: str, **spec: Any) -> None:
        await self.client.create(
            {
                "apiVersion": CACHE.api_version,
                "kind": CACHE.kind,
                "metadata": {"name": name, "namespace": self.namespace},
                "spec": spec,
            }
        )

    async def data(self, name: str, wanted: dict[str, str]) -> None:
        async def there() -> bool:
            found = await self.get(CONFIG, name)
            return found is not None and found["data"] == wanted

        await self.until(there)


@pytest.fixture(params=["fork", "ansible-runner"])
def run(
    request: pytest.FixtureRequest, apiserver: ControlPlane, tmp_path: Path
) -> Iterator[Callable[[Callable[[Harness], Any]], None]]:
    tasks = tmp_path / "roles" / "cache" / "tasks"
    tasks.mkdir(parents=True)
    (tasks / "main.yml").write_text(TASKS)
    (tmp_path / "watches.yaml").write_text(WATCHES)
    rigs: list[Harness] = []

    async def whole(test: Callable[[Harness], Any]) -> None:
        config = kubeconfig.load(paths=[apiserver.kubeconfig], environment={})
        async with HttpCluster(config) as cluster:
            client = Client(cluster, None, field_manager="test")
            namespace = f"n{uuid.uuid4().hex[:8]}"
            harness = Harness(apiserver, tmp_path, namespace, client, request.param)
            rigs.append(harness)
            with contextlib.suppress(AlreadyExists):
                await client.create(CRD)
            await harness.until(lambda: cluster.resource(CACHE.api_version, CACHE.kind))
            await client.create(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": harness.namespace}}
            )
            await test(harness)

    yield lambda test: asyncio.run(whole(test))
    for harness in rigs:
        harness.stop(signal.SIGKILL)


def test_a_role_reconciles_its_object(run: Callable[[Callable[[Harness], Any]], None]) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.create("one", sizeGi="{{ 7 * 7 }}", note={"__ansible_vault": "x"})
        harness.start()
        condition = await harness.condition("one", "Successful", "Successful")
        assert condition["ansibleResult"]["failures"] == 0
        # A template of the object is plain text, one of the entry is evaluated.
        data = {"size": "{{ 7 * 7 }}", "origin": "entry", "state": "present"}
        await harness.data("one-config", data)
        owner, config = await harness.get(CACHE, "one"), await harness.get(CONFIG, "one-config")
        assert owner is not None
        assert config is not None
        assert owner["metadata"]["finalizers"] == ["play.example.com/end"]
        # Values that the play wrote into the status are kept next to the conditions of the run.
        assert owner["status"]["size"] == "{{ 7 * 7 }}"
        types = {one["type"] for one in owner["status"]["conditions"]}
        assert types == {"Applied", "Failure", "Running", "Successful"}
        assert [one["uid"] for one in config["metadata"]["ownerReferences"]] == [
            owner["metadata"]["uid"]
        ]

        # Objects of the run are restored when they are changed or deleted.
        await harness.change(CONFIG, "one-config", {"data": {"size": "9"}})
        await harness.data("one-config", data)
        await harness.client.delete(CONFIG, Request("one-config", harness.namespace))
        await harness.data("one-config", data)

        await harness.change(CACHE, "one", {"spec": {"sizeGi": "2"}})
        await harness.data("one-config", {**data, "size": "2"})
        await harness.client.delete(CACHE, Request("one", harness.namespace))

        async def gone() -> bool:
            return await harness.get(CACHE, "one") is None

        await harness.until(gone)
        # The garbage collector is not part of this control plane.
        await harness.data("one-config", {**data, "size": "2", "state": "absent"})

    run(scenario)


def test_errors_of_a_run_are_in_the_status_and_secrets_are_not(
    run: Callable[[Callable[[Harness], Any]], None],
) -> None:
    async def scenario(harness: Harness) -> None:
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "hidden", "namespace": harness.namespace},
            "stringData": {"password": "hidden-word-1"},
        }
        await harness.client.create(secret)
        file = harness.folder / "watches.yaml"
        file.write_text(WATCHES.replace("5m", "60s"))
        await harness.create("broken", sizeGi="broken")
        await harness.create("secret", sizeGi="secret")
        await harness.create("hang", sizeGi="hang")
        harness.start()
        found = await harness.condition("broken", "Failure", "Failed")
        assert found["message"] == "the size is broken"
        found = await harness.condition("secret", "Failure", "Failed")
        assert found["message"] == "it is ***"
        found = await harness.condition("hang", "Failure", "Failed")
        assert "ended after 60 s" in found["message"]
        assert "***" in harness.log
        assert "hidden-word-1" not in harness.log
        await harness.change(CACHE, "broken", {"spec": {"sizeGi": "1"}})
        await harness.condition("broken", "Successful", "Successful")

    run(scenario)


def _processes(word: str) -> list[str]:
    """Return the processes with this in their command line."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it ended in the meantime
            if word.encode() in file.read_bytes():
                found.append(file.parent.name)
    return found


def test_a_restart_during_a_run_starts_it_again(
    run: Callable[[Callable[[Harness], Any]], None],
) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.create("one", sizeGi="hang")
        harness.start()
        await harness.condition("one", "Running", "Running")
        await asyncio.sleep(3)
        harness.stop()
        left = _processes(str(harness.folder))
        assert left == []
        await harness.change(CACHE, "one", {"spec": {"sizeGi": "1"}})
        harness.start()
        await harness.condition("one", "Successful", "Successful")

    run(scenario)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_of_a_run_survives_its_operator(
    run: Callable[[Callable[[Harness], Any]], None], number: int
) -> None:
    async def scenario(harness: Harness) -> None:
        # One process ignores the signal to end, another has left its session and its parent.
        file = harness.folder / "roles" / "cache" / "tasks" / "main.yml"
        file.write_text(
            "- ansible.builtin.shell: setsid sleep 600 >/dev/null 2>&1 &\n"
            "- ansible.builtin.shell: trap '' TERM; sleep 600; sleep 600\n"
        )
        await harness.create("one", sizeGi="1")
        harness.start()

        async def both() -> bool:
            return sum("sleep 600" in one for one in of_environment(harness.namespace)) >= 2

        await harness.until(both)
        assert harness.process is not None
        harness.process.send_signal(number)
        if number == signal.SIGTERM:
            await asyncio.sleep(0.5)
            harness.process.send_signal(number)  # at once
        await asyncio.to_thread(harness.process.wait)
        harness.process = None

        async def none() -> bool:
            return not of_environment(harness.namespace)

        await harness.until(none, 60)

    run(scenario)


def test_once_and_check_show_what_a_run_would_change(
    run: Callable[[Callable[[Harness], Any]], None],
) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.create("one", sizeGi="1")
        process = await asyncio.create_subprocess_exec(
            *harness.words("--once"), cwd=harness.folder, env=harness.environment
        )
        assert await process.wait() == 0
        assert await harness.get(CONFIG, "one-config") is not None
        await harness.condition("one", "Successful", "Successful")

    run(scenario)
