"""A Helm operator with a real API server and the real helm 3 and 4."""

from __future__ import annotations

import asyncio
import base64
import contextlib
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
from olmkit.hybrid.helm import releases
from olmkit.kube.api import AlreadyExists, NoSuchKind, NotFound, PatchType
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.client import Client
from olmkit.runtime.work.reconcile import Request
from olmkit.testing.control_plane import ControlPlane
from tests.processes import of_environment

pytestmark = pytest.mark.e2e

CACHE = GVK(group="demo.example.com", version="v1alpha1", kind="Cache")
CONFIG = GVK(group="", version="v1", kind="ConfigMap")
SECRET = GVK(group="", version="v1", kind="Secret")
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "caches.demo.example.com"},
    "spec": {
        "group": "demo.example.com",
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
                        "properties": {
                            name: {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                            for name in ("spec", "status")
                        },
                    }
                },
            }
        ],
    },
}
CONFIG_TEMPLATE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-config}
data:
  size: {{ .Values.size | quote }}
  origin: {{ .Values.origin | quote }}
"""
SECRET_TEMPLATE = """\
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}-secret}
stringData: {password: "{{ .Values.password }}"}
"""
FAILING = '{{ if eq .Values.size "broken" }}{{ fail "the size is broken" }}{{ end }}\n'


@pytest.fixture(scope="module", params=["helm", "helm4"])
def program(request: pytest.FixtureRequest, built_program: Callable[[str], str]) -> str:
    found = built_program(str(request.param))
    return str(Path(found).parent / "helm")


@dataclass(eq=False)
class Harness:
    """A project in a directory, a separate namespace, and the operator as a process."""

    plane: ControlPlane
    folder: Path
    program: str
    namespace: str
    client: Client
    process: subprocess.Popen[bytes] | None = None

    def words(self, *more: str) -> list[str]:
        return [
            sys.executable,
            "-m",
            "olmkit.hybrid",
            "helm",
            f"--kubeconfig={self.plane.kubeconfig}",
            f"--helm={self.program}",
            "--health-probe-bind-address=0",
            "--reconcile-period=1h",
            *more,
        ]

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"WATCH_NAMESPACE": self.namespace, "ORIGIN": "override"}

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.words(), cwd=self.folder, env=self.environment, stdout=log, stderr=log
            )

    def stop(self, number: int = signal.SIGTERM) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(20)
            self.process = None

    async def check(self) -> tuple[int, str]:
        process = await asyncio.create_subprocess_exec(
            *self.words("--once", "--check"),
            cwd=self.folder,
            env=self.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, output.decode()

    async def get(self, gvk: GVK, name: str) -> Manifest | None:
        return await self.client.get(gvk, Request(name, self.namespace))

    async def until(self, what: Callable[[], Any]) -> Any:
        """Return the result of the coroutine function as soon as it is true."""
        async with asyncio.timeout(240):
            while True:
                try:
                    if found := await what():
                        return found
                except (NoSuchKind, NotFound):
                    pass
                await asyncio.sleep(0.1)

    async def condition(self, name: str, type_: str, reason: str) -> Manifest:
        async def there() -> Manifest | None:
            owner = await self.get(CACHE, name)
            listed = ((owner or {}).get("status") or {}).get("conditions") or []
            fits = any(one["type"] == type_ and one.get("reason") == reason for one in listed)
            return owner if fits else None

        found: Manifest = await self.until(there)
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


@pytest.fixture
def harness_folder(tmp_path: Path) -> Path:
    chart = tmp_path / "helm-charts" / "cache"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: cache\nversion: 0.1.0\n")
    (chart / "values.yaml").write_text("size: small\norigin: chart\npassword: hidden-word-1\n")
    (chart / "templates" / "config.yaml").write_text(CONFIG_TEMPLATE)
    (chart / "templates" / "secret.yaml").write_text(SECRET_TEMPLATE)
    (chart / "templates" / "failing.yaml").write_text(FAILING)
    (chart / "templates" / "NOTES.txt").write_text("The password is {{ .Values.password }}.\n")
    (tmp_path / "watches.yaml").write_text(
        "- group: demo.example.com\n"
        "  version: v1alpha1\n"
        "  kind: Cache\n"
        "  chart: helm-charts/cache\n"
        "  overrideValues: {origin: $ORIGIN}\n"
    )
    return tmp_path


@pytest.fixture
def run(
    apiserver: ControlPlane, harness_folder: Path, program: str
) -> Iterator[Callable[[Callable[[Harness], Any]], None]]:
    rigs: list[Harness] = []

    async def whole(test: Callable[[Harness], Any]) -> None:
        config = kubeconfig.load(paths=[apiserver.kubeconfig], environment={})
        async with HttpCluster(config) as cluster:
            client = Client(cluster, None, field_manager="test")
            namespace = f"n{uuid.uuid4().hex[:8]}"
            harness = Harness(apiserver, harness_folder, program, namespace, client)
            rigs.append(harness)
            with contextlib.suppress(AlreadyExists):
                await client.create(CRD)
            await harness.until(lambda: cluster.resource(CACHE.api_version, CACHE.kind))
            await client.create(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            )
            await test(harness)

    yield lambda test: asyncio.run(whole(test))
    for harness in rigs:
        harness.stop(signal.SIGKILL)


def test_a_release_follows_its_object(run: Callable[[Callable[[Harness], Any]], None]) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.create("one", size="1")
        code, shown = await harness.check()
        assert code == 1
        assert "install the release" in shown
        assert "ConfigMap one-config" in shown
        assert await harness.get(CONFIG, "one-config") is None
        harness.start()
        owner = await harness.condition("one", "Deployed", "InstallSuccessful")
        config = await harness.get(CONFIG, "one-config")
        assert config is not None
        assert config["data"] == {"size": "1", "origin": "override"}
        assert [one["uid"] for one in config["metadata"]["ownerReferences"]] == [
            owner["metadata"]["uid"]
        ]
        assert owner["metadata"]["finalizers"] == [
            "helm.sdk.operatorframework.io/uninstall-release"
        ]
        assert owner["status"]["deployedRelease"]["name"] == "one"
        assert "hidden-word-1" not in str(owner["status"])
        assert "one-config" in owner["status"]["deployedRelease"]["manifest"]

        # A changed or deleted child is restored; other additions are kept.
        await harness.change(CONFIG, "one-config", {"data": {"size": "9", "extra": "kept"}})
        data = {"size": "1", "origin": "override", "extra": "kept"}

        async def corrected() -> bool:
            found = await harness.get(CONFIG, "one-config")
            return found is not None and found["data"] == data

        await harness.until(corrected)
        await harness.client.delete(SECRET, Request("one-secret", harness.namespace))
        await harness.until(lambda: harness.get(SECRET, "one-secret"))

        # There is no difference now, so nothing is written.
        assert await harness.check() == (0, "")
        before = await harness.get(CACHE, "one")
        await asyncio.sleep(3)
        assert await harness.get(CACHE, "one") == before
        assert len(await stored(harness, "one")) == 1

        await harness.change(CACHE, "one", {"spec": {"size": "2"}})
        await harness.condition("one", "Deployed", "UpgradeSuccessful")
        config = await harness.get(CONFIG, "one-config")
        assert config is not None
        assert config["data"]["size"] == "2"
        assert [one.revision for one in await stored(harness, "one")] == [1, 2]

        await harness.client.delete(CACHE, Request("one", harness.namespace))

        async def gone() -> bool:
            return await harness.get(CACHE, "one") is None

        await harness.until(gone)
        assert await harness.get(CONFIG, "one-config") is None
        assert await stored(harness, "one") == []

    run(scenario)


async def stored(harness: Harness, name: str) -> list[releases.Release]:
    secrets = await harness.client.list(
        SECRET, namespace=harness.namespace, labels=f"owner=helm,name={name}"
    )
    return sorted((releases.decode(one) for one in secrets), key=lambda one: one.revision)


def test_a_failed_upgrade_keeps_the_release_and_is_not_repeated_at_once(
    run: Callable[[Callable[[Harness], Any]], None],
) -> None:
    async def scenario(harness: Harness) -> None:
        harness.start()
        await harness.create("two", size="1")
        await harness.condition("two", "Deployed", "InstallSuccessful")
        await harness.change(CACHE, "two", {"spec": {"size": "broken"}})
        owner = await harness.condition("two", "ReleaseFailed", "UpgradeError")
        assert "the size is broken" in str(owner["status"]["conditions"])
        await asyncio.sleep(3)
        assert (harness.folder / "log").read_text().count("helm failed") == 1
        await harness.change(CACHE, "two", {"spec": {"size": "3"}})
        owner = await harness.condition("two", "Deployed", "UpgradeSuccessful")
        assert [one["type"] for one in owner["status"]["conditions"]] == ["Initialized", "Deployed"]

    run(scenario)


def test_a_release_that_was_interrupted_is_upgraded(
    run: Callable[[Callable[[Harness], Any]], None],
) -> None:
    async def scenario(harness: Harness) -> None:
        harness.start()
        await harness.create("three", size="1")
        await harness.condition("three", "Deployed", "InstallSuccessful")
        harness.stop(signal.SIGKILL)
        (release,) = await stored(harness, "three")
        secret = await harness.get(SECRET, release.secret)
        assert secret is not None
        pending = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": secret["type"],
            "metadata": {
                "name": "sh.helm.release.v1.three.v2",
                "namespace": harness.namespace,
                "labels": secret["metadata"]["labels"]
                | {"version": "2", "status": "pending-upgrade"},
            },
            "data": {"release": as_pending(secret["data"]["release"])},
        }
        await harness.client.create(pending)
        await harness.change(CACHE, "three", {"spec": {"size": "2"}})
        harness.start()
        await harness.condition("three", "Deployed", "UpgradeSuccessful")
        assert [one.status for one in await stored(harness, "three")] == ["superseded", "deployed"]

    run(scenario)


def as_pending(release: str) -> str:
    import gzip
    import json

    value = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(release))))
    value["version"] = 2
    value["info"]["status"] = "pending-upgrade"
    packed = base64.b64encode(gzip.compress(json.dumps(value).encode()))
    return base64.b64encode(packed).decode()


def test_overrides_can_be_templates(run: Callable[[Callable[[Harness], Any]], None]) -> None:
    async def scenario(harness: Harness) -> None:
        file = harness.folder / "watches.yaml"
        text = file.read_text()
        template = """'{{ ("$ORIGIN:v1" | split ":")._0 | upper }}'"""
        file.write_text(text.replace("$ORIGIN", template))
        await harness.create("four", size="1")
        harness.start()
        await harness.condition("four", "Deployed", "InstallSuccessful")
        config = await harness.get(CONFIG, "four-config")
        assert config is not None
        assert config["data"]["origin"] == "OVERRIDE"
        file.write_text(text.replace("$ORIGIN", "'{{ if }}'"))
        code, said = await harness.check()
        assert code == 2
        assert "a template in `overrideValues` cannot be filled in" in said

    run(scenario)


HOOK = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-hook
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
    helm.sh/hook-delete-policy: before-hook-creation
data: {size: {{ .Values.size | quote }}}
"""


def test_hooks_run_with_their_release_and_are_not_corrected(
    run: Callable[[Callable[[Harness], Any]], None], harness_folder: Path
) -> None:
    async def scenario(harness: Harness) -> None:
        (harness_folder / "helm-charts/cache/templates/hook.yaml").write_text(HOOK)
        await harness.create("five", size="1")
        harness.start()
        await harness.condition("five", "Deployed", "InstallSuccessful")
        hook = await harness.get(CONFIG, "five-hook")
        assert hook is not None
        assert hook["data"] == {"size": "1"}
        # It is not an object of the release, so changes of it are ignored.
        assert "ownerReferences" not in hook["metadata"]
        await harness.client.delete(CONFIG, Request("five-hook", harness.namespace))
        await harness.change(CONFIG, "five-config", {"data": {"size": "9"}})

        async def corrected() -> bool:
            found = await harness.get(CONFIG, "five-config")
            return found is not None and found["data"]["size"] == "1"

        await harness.until(corrected)
        assert await harness.get(CONFIG, "five-hook") is None
        assert await harness.check() == (0, "")

        await harness.change(CACHE, "five", {"spec": {"size": "2"}})
        await harness.condition("five", "Deployed", "UpgradeSuccessful")
        hook = await harness.get(CONFIG, "five-hook")
        assert hook is not None
        assert hook["data"] == {"size": "2"}

        # A hook that the API server refuses: the release is kept, and its objects too.
        (harness_folder / "helm-charts/cache/templates/hook.yaml").write_text(
            HOOK.replace(".Values.size | quote", ".Values.size")
        )
        harness.stop()
        harness.start()
        await harness.condition("five", "ReleaseFailed", "UpgradeError")
        config = await harness.get(CONFIG, "five-config")
        assert config is not None
        assert config["data"]["size"] == "2"

    run(scenario)


# The API server refuses a change of its data, so the upgrade fails after helm has begun it.
LOCKED = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-locked}
immutable: true
data: {owner: {{ .Values.owner | default "first" }}}
"""


def test_an_upgrade_that_the_server_refuses_is_rolled_back(
    run: Callable[[Callable[[Harness], Any]], None], harness_folder: Path
) -> None:
    async def scenario(harness: Harness) -> None:
        (harness_folder / "helm-charts/cache/templates/locked.yaml").write_text(LOCKED)
        await harness.create("six", size="1")
        harness.start()
        await harness.condition("six", "Deployed", "InstallSuccessful")
        await harness.change(CACHE, "six", {"spec": {"size": "2", "owner": "second"}})
        owner = await harness.condition("six", "ReleaseFailed", "UpgradeError")
        message = owner["status"]["conditions"][-1]["message"]
        assert "six-locked" in message
        assert "immutable" in message
        assert "rollback:" not in message
        first, failed, last = await stored(harness, "six")
        assert [one.status for one in (first, failed, last)] == ["superseded", "failed", "deployed"]
        assert releases.same(first.manifest, last.manifest)
        config = await harness.get(CONFIG, "six-config")
        assert config is not None
        assert config["data"]["size"] == "1"

        # The annotation requests replacement, which server-side apply does not support.
        force = {"helm.sdk.operatorframework.io/upgrade-force": "true"}
        spec = {"size": "3", "owner": None}
        await harness.change(CACHE, "six", {"metadata": {"annotations": force}, "spec": spec})
        await harness.condition("six", "Deployed", "UpgradeSuccessful")
        config = await harness.get(CONFIG, "six-config")
        assert config is not None
        assert config["data"]["size"] == "3"

    run(scenario)


def test_a_release_of_helm_3_is_upgraded_by_helm_4(
    run: Callable[[Callable[[Harness], Any]], None], built_program: Callable[[str], str]
) -> None:
    async def scenario(harness: Harness) -> None:
        newer = harness.program
        harness.program = str(Path(built_program("helm")).parent / "helm")
        await harness.create("seven", size="1")
        harness.start()
        await harness.condition("seven", "Deployed", "InstallSuccessful")
        harness.stop()
        harness.program = newer
        harness.start()
        await harness.change(CACHE, "seven", {"spec": {"size": "2"}})
        await harness.condition("seven", "Deployed", "UpgradeSuccessful")
        config = await harness.get(CONFIG, "seven-config")
        assert config is not None
        assert config["data"]["size"] == "2"
        assert not (await stored(harness, "seven"))[-1].is_server_side

    run(scenario)


ENDLESS = """\
apiVersion: batch/v1
kind: Job
metadata: {name: {{ .Release.Name }}-hook, annotations: {helm.sh/hook: pre-install}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: wait, image: wait}]}}}
"""


def test_helm_does_not_survive_its_operator(
    run: Callable[[Callable[[Harness], Any]], None], harness_folder: Path
) -> None:
    async def scenario(harness: Harness) -> None:
        hook = harness_folder / "helm-charts/cache/templates/hook.yaml"
        hook.write_text(ENDLESS)
        await harness.create("six", size="1")
        harness.start()

        async def waits() -> bool:
            return bool(await stored(harness, "six"))

        await harness.until(waits)
        assert any("install six" in one for one in of_environment(harness.namespace))
        harness.stop(signal.SIGKILL)

        async def none() -> bool:
            return not of_environment(harness.namespace)

        await harness.until(none)
        # The interrupted release is installed by the next operator.
        hook.unlink()
        harness.start()
        await harness.condition("six", "Deployed", "InstallSuccessful")

    run(scenario)
