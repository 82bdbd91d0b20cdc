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
class Rig:
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
def rig_folder(tmp_path: Path) -> Path:
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
    apiserver: ControlPlane, rig_folder: Path, program: str
) -> Iterator[Callable[[Callable[[Rig], Any]], None]]:
    rigs: list[Rig] = []

    async def whole(test: Callable[[Rig], Any]) -> None:
        config = kubeconfig.load(paths=[apiserver.kubeconfig], environment={})
        async with HttpCluster(config) as cluster:
            client = Client(cluster, None, field_manager="test")
            namespace = f"n{uuid.uuid4().hex[:8]}"
            rig = Rig(apiserver, rig_folder, program, namespace, client)
            rigs.append(rig)
            with contextlib.suppress(AlreadyExists):
                await client.create(CRD)
            await rig.until(lambda: cluster.resource(CACHE.api_version, CACHE.kind))
            await client.create(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            )
            await test(rig)

    yield lambda test: asyncio.run(whole(test))
    for rig in rigs:
        rig.stop(signal.SIGKILL)


def test_a_release_follows_its_object(run: Callable[[Callable[[Rig], Any]], None]) -> None:
    async def story(rig: Rig) -> None:
        await rig.create("one", size="1")
        code, shown = await rig.check()
        assert code == 1
        assert "install the release" in shown
        assert "ConfigMap one-config" in shown
        assert await rig.get(CONFIG, "one-config") is None
        rig.start()
        owner = await rig.condition("one", "Deployed", "InstallSuccessful")
        config = await rig.get(CONFIG, "one-config")
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
        await rig.change(CONFIG, "one-config", {"data": {"size": "9", "extra": "kept"}})
        data = {"size": "1", "origin": "override", "extra": "kept"}

        async def corrected() -> bool:
            found = await rig.get(CONFIG, "one-config")
            return found is not None and found["data"] == data

        await rig.until(corrected)
        await rig.client.delete(SECRET, Request("one-secret", rig.namespace))
        await rig.until(lambda: rig.get(SECRET, "one-secret"))

        # There is no difference now, so nothing is written.
        assert await rig.check() == (0, "")
        before = await rig.get(CACHE, "one")
        await asyncio.sleep(3)
        assert await rig.get(CACHE, "one") == before
        assert len(await stored(rig, "one")) == 1

        await rig.change(CACHE, "one", {"spec": {"size": "2"}})
        await rig.condition("one", "Deployed", "UpgradeSuccessful")
        config = await rig.get(CONFIG, "one-config")
        assert config is not None
        assert config["data"]["size"] == "2"
        assert [one.revision for one in await stored(rig, "one")] == [1, 2]

        await rig.client.delete(CACHE, Request("one", rig.namespace))

        async def gone() -> bool:
            return await rig.get(CACHE, "one") is None

        await rig.until(gone)
        assert await rig.get(CONFIG, "one-config") is None
        assert await stored(rig, "one") == []

    run(story)


async def stored(rig: Rig, name: str) -> list[releases.Release]:
    secrets = await rig.client.list(
        SECRET, namespace=rig.namespace, labels=f"owner=helm,name={name}"
    )
    return sorted((releases.decode(one) for one in secrets), key=lambda one: one.revision)


def test_a_failed_upgrade_keeps_the_release_and_is_not_repeated_at_once(
    run: Callable[[Callable[[Rig], Any]], None],
) -> None:
    async def story(rig: Rig) -> None:
        rig.start()
        await rig.create("two", size="1")
        await rig.condition("two", "Deployed", "InstallSuccessful")
        await rig.change(CACHE, "two", {"spec": {"size": "broken"}})
        owner = await rig.condition("two", "ReleaseFailed", "UpgradeError")
        assert "the size is broken" in str(owner["status"]["conditions"])
        await asyncio.sleep(3)
        assert (rig.folder / "log").read_text().count("helm failed") == 1
        await rig.change(CACHE, "two", {"spec": {"size": "3"}})
        owner = await rig.condition("two", "Deployed", "UpgradeSuccessful")
        assert [one["type"] for one in owner["status"]["conditions"]] == ["Initialized", "Deployed"]

    run(story)


def test_a_release_that_was_interrupted_is_upgraded(
    run: Callable[[Callable[[Rig], Any]], None],
) -> None:
    async def story(rig: Rig) -> None:
        rig.start()
        await rig.create("three", size="1")
        await rig.condition("three", "Deployed", "InstallSuccessful")
        rig.stop(signal.SIGKILL)
        (release,) = await stored(rig, "three")
        secret = await rig.get(SECRET, release.secret)
        assert secret is not None
        pending = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": secret["type"],
            "metadata": {
                "name": "sh.helm.release.v1.three.v2",
                "namespace": rig.namespace,
                "labels": secret["metadata"]["labels"]
                | {"version": "2", "status": "pending-upgrade"},
            },
            "data": {"release": as_pending(secret["data"]["release"])},
        }
        await rig.client.create(pending)
        await rig.change(CACHE, "three", {"spec": {"size": "2"}})
        rig.start()
        await rig.condition("three", "Deployed", "UpgradeSuccessful")
        assert [one.status for one in await stored(rig, "three")] == ["superseded", "deployed"]

    run(story)


def as_pending(release: str) -> str:
    import gzip
    import json

    value = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(release))))
    value["version"] = 2
    value["info"]["status"] = "pending-upgrade"
    packed = base64.b64encode(gzip.compress(json.dumps(value).encode()))
    return base64.b64encode(packed).decode()


def test_overrides_can_be_templates(run: Callable[[Callable[[Rig], Any]], None]) -> None:
    async def story(rig: Rig) -> None:
        file = rig.folder / "watches.yaml"
        text = file.read_text()
        template = """'{{ ("$ORIGIN:v1" | split ":")._0 | upper }}'"""
        file.write_text(text.replace("$ORIGIN", template))
        await rig.create("four", size="1")
        rig.start()
        await rig.condition("four", "Deployed", "InstallSuccessful")
        config = await rig.get(CONFIG, "four-config")
        assert config is not None
        assert config["data"]["origin"] == "OVERRIDE"
        file.write_text(text.replace("$ORIGIN", "'{{ if }}'"))
        code, said = await rig.check()
        assert code == 2
        assert "a template in `overrideValues` cannot be filled in" in said

    run(story)


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
    run: Callable[[Callable[[Rig], Any]], None], rig_folder: Path
) -> None:
    async def story(rig: Rig) -> None:
        (rig_folder / "helm-charts/cache/templates/hook.yaml").write_text(HOOK)
        await rig.create("five", size="1")
        rig.start()
        await rig.condition("five", "Deployed", "InstallSuccessful")
        hook = await rig.get(CONFIG, "five-hook")
        assert hook is not None
        assert hook["data"] == {"size": "1"}
        # It is not an object of the release, so changes of it are ignored.
        assert "ownerReferences" not in hook["metadata"]
        await rig.client.delete(CONFIG, Request("five-hook", rig.namespace))
        await rig.change(CONFIG, "five-config", {"data": {"size": "9"}})

        async def corrected() -> bool:
            found = await rig.get(CONFIG, "five-config")
            return found is not None and found["data"]["size"] == "1"

        await rig.until(corrected)
        assert await rig.get(CONFIG, "five-hook") is None
        assert await rig.check() == (0, "")

        await rig.change(CACHE, "five", {"spec": {"size": "2"}})
        await rig.condition("five", "Deployed", "UpgradeSuccessful")
        hook = await rig.get(CONFIG, "five-hook")
        assert hook is not None
        assert hook["data"] == {"size": "2"}

        # A hook that the API server refuses: the release is kept, and its objects too.
        (rig_folder / "helm-charts/cache/templates/hook.yaml").write_text(
            HOOK.replace(".Values.size | quote", ".Values.size")
        )
        rig.stop()
        rig.start()
        await rig.condition("five", "ReleaseFailed", "UpgradeError")
        config = await rig.get(CONFIG, "five-config")
        assert config is not None
        assert config["data"]["size"] == "2"

    run(story)


# The API server refuses a change of its data, so the upgrade fails after helm has begun it.
LOCKED = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-locked}
immutable: true
data: {owner: {{ .Values.owner | default "first" }}}
"""


def test_an_upgrade_that_the_server_refuses_is_rolled_back(
    run: Callable[[Callable[[Rig], Any]], None], rig_folder: Path
) -> None:
    async def story(rig: Rig) -> None:
        (rig_folder / "helm-charts/cache/templates/locked.yaml").write_text(LOCKED)
        await rig.create("six", size="1")
        rig.start()
        await rig.condition("six", "Deployed", "InstallSuccessful")
        await rig.change(CACHE, "six", {"spec": {"size": "2", "owner": "second"}})
        owner = await rig.condition("six", "ReleaseFailed", "UpgradeError")
        message = owner["status"]["conditions"][-1]["message"]
        assert "six-locked" in message
        assert "immutable" in message
        assert "rollback:" not in message
        first, failed, last = await stored(rig, "six")
        assert [one.status for one in (first, failed, last)] == ["superseded", "failed", "deployed"]
        assert releases.same(first.manifest, last.manifest)
        config = await rig.get(CONFIG, "six-config")
        assert config is not None
        assert config["data"]["size"] == "1"

        # The annotation requests replacement, which server-side apply does not support.
        force = {"helm.sdk.operatorframework.io/upgrade-force": "true"}
        spec = {"size": "3", "owner": None}
        await rig.change(CACHE, "six", {"metadata": {"annotations": force}, "spec": spec})
        await rig.condition("six", "Deployed", "UpgradeSuccessful")
        config = await rig.get(CONFIG, "six-config")
        assert config is not None
        assert config["data"]["size"] == "3"

    run(story)


def test_a_release_of_helm_3_is_upgraded_by_helm_4(
    run: Callable[[Callable[[Rig], Any]], None], built_program: Callable[[str], str]
) -> None:
    async def story(rig: Rig) -> None:
        newer = rig.program
        rig.program = str(Path(built_program("helm")).parent / "helm")
        await rig.create("seven", size="1")
        rig.start()
        await rig.condition("seven", "Deployed", "InstallSuccessful")
        rig.stop()
        rig.program = newer
        rig.start()
        await rig.change(CACHE, "seven", {"spec": {"size": "2"}})
        await rig.condition("seven", "Deployed", "UpgradeSuccessful")
        config = await rig.get(CONFIG, "seven-config")
        assert config is not None
        assert config["data"]["size"] == "2"
        assert not (await stored(rig, "seven"))[-1].is_server_side

    run(story)


ENDLESS = """\
apiVersion: batch/v1
kind: Job
metadata: {name: {{ .Release.Name }}-hook, annotations: {helm.sh/hook: pre-install}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: wait, image: wait}]}}}
"""


def test_helm_does_not_survive_its_operator(
    run: Callable[[Callable[[Rig], Any]], None], rig_folder: Path
) -> None:
    async def story(rig: Rig) -> None:
        hook = rig_folder / "helm-charts/cache/templates/hook.yaml"
        hook.write_text(ENDLESS)
        await rig.create("six", size="1")
        rig.start()

        async def waits() -> bool:
            return bool(await stored(rig, "six"))

        await rig.until(waits)
        assert any("install six" in one for one in of_environment(rig.namespace))
        rig.stop(signal.SIGKILL)

        async def none() -> bool:
            return not of_environment(rig.namespace)

        await rig.until(none)
        # The interrupted release is installed by the next operator.
        hook.unlink()
        rig.start()
        await rig.condition("six", "Deployed", "InstallSuccessful")

    run(story)
