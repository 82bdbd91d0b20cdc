"""The exact output of `install --bundle` and `upgrade --bundle` in clusters with errors.

The states are those of `why`, recorded in a real cluster: an API server double shows
them as soon as the command's own Subscription exists. `expected/` of
`broken/NAME` is rewritten together with the other golden cases.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.cli import main
from olmkit.jobs.cluster import wait as cluster_wait
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK
from olmkit.testing.apiserver.server import ApiServer
from tests import golden_inputs

Manifest = dict[str, Any]
HERE = Path(__file__).parent
OLM = "operators.coreos.com"
KINDS = {
    (OLM, "v1alpha1"): ("Subscription", "InstallPlan", "ClusterServiceVersion", "CatalogSource"),
    (OLM, "v1"): ("OperatorGroup",),
    ("", "v1"): ("Pod", "Service", "ConfigMap", "Event", "Namespace"),
    ("batch", "v1"): ("Job",),
    ("apps", "v1"): ("Deployment",),
}
SITUATIONS = {
    "no-group": "fine",
    "two-groups": "fine",
    "mode": "own-only",
    "image": "bad-image",
    "bundle-image": "no-bundle",
    "time-out": "late-bundle",
    "dependency": "needy",
    "crd": "strict",
    "crash": "crashing",
    "account": "fine",
    "heads": "split",
    "catalog": "fine",
}
CANNOT_BE = {
    ("install", "no-group"),  # it creates the OperatorGroup that is missing
    ("install", "heads"),  # a catalog with one bundle has one head
    ("upgrade", "heads"),
}
CASES = [
    (command, name)
    for command in ("install", "upgrade")
    for name in SITUATIONS
    if (command, name) not in CANNOT_BE
]
MODES = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")


def plural(kind: str) -> str:
    return f"{kind.lower()}s"


def csv_of(package: str, version: str) -> Manifest:
    supported = ("OwnNamespace",) if package == "own-only" else MODES
    return {
        "apiVersion": f"{OLM}/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": f"{package}.v{version}"},
        "spec": {
            "displayName": package,
            "version": version,
            "installModes": [{"type": mode, "supported": mode in supported} for mode in MODES],
            "install": {"strategy": "deployment", "spec": {"deployments": []}},
        },
    }


class World:
    """The cluster of one case: existing objects, and OLM's reaction to a Subscription."""

    def __init__(self, server: ApiServer, name: str, *, installed: bool) -> None:
        self.server = server
        self.namespace = f"t-{name}"
        self.package = SITUATIONS[name]
        self.serves = name != "catalog"
        self._shown = False
        file = golden_inputs.files(HERE / "why" / name)["objects.yaml"]
        found = [document.value for document in documents.load_all(file.read_bytes(), str(file))]
        self.recorded: list[Manifest] = [one for one in found if isinstance(one, dict)]
        self._put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        for one in self.recorded:
            if one["kind"] == "OperatorGroup":
                self._put(one)
        if installed:
            self._install()

    def _install(self) -> None:
        """Install an earlier version from another catalog."""
        old = csv_of(self.package, "0.9.0")
        old["metadata"]["namespace"] = self.namespace
        self._put(old | {"status": {"phase": "Succeeded"}})
        place = {"name": self.package, "namespace": self.namespace}
        spec = {"name": self.package, "channel": "stable", "source": "old",
                "sourceNamespace": self.namespace}  # fmt: skip
        name = old["metadata"]["name"]
        status = {"currentCSV": name, "installedCSV": name, "state": "AtLatestKnown"}
        self._put({"apiVersion": f"{OLM}/v1alpha1", "kind": "Subscription", "metadata": place,
                   "spec": spec, "status": status})  # fmt: skip

    def look(self) -> None:
        """Do what OLM and the kubelet would do now."""
        for pod in self.server.all("pods"):
            if "olmkit.dev/catalog" in pod["metadata"].get("labels", {}) and not pod.get("status"):
                self._put(pod | {"status": self._serving()})
        for catalog in self.server.all("catalogsources"):
            if not catalog.get("status"):
                ready = {"connectionState": {"lastObservedState": "READY"}}
                self._put(catalog | {"status": ready})
        for one in self.server.all("subscriptions"):
            if one["spec"]["source"] != "old" and not self._shown:
                self._shown = True
                self._show(one)

    def _show(self, subscription: Manifest) -> None:
        for one in self.recorded:
            if one["metadata"].get("namespace") != self.namespace:
                continue
            if one["kind"] == "Subscription":
                status = subscription.get("status", {}) | one.get("status", {})
                self._put(subscription | {"status": status})
            elif one["kind"] in ("InstallPlan", "ClusterServiceVersion", "Job", "Deployment",
                                 "Pod", "Event"):  # fmt: skip
                self._put(one)

    def _serving(self) -> Manifest:
        if self.serves:
            return {"conditions": [{"type": "Ready", "status": "True"}]}
        waiting = {"reason": "ErrImagePull", "message": "not found"}
        container = {"name": "catalog", "image": "opm:1", "state": {"waiting": waiting}}
        return {"phase": "Pending", "containerStatuses": [container]}

    def _put(self, one: Manifest) -> None:
        self.server.put(plural(one["kind"]), one)


@pytest.fixture
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """The kubeconfig of a cluster with an error."""
    command, name = request.param
    resources = [
        Resource(
            gvk=GVK(group=group, version=version, kind=kind),
            plural=plural(kind),
            namespaced=kind != "Namespace",
            subresources=frozenset({"status"}),
        )
        for (group, version), names in KINDS.items()
        for kind in names
    ]
    address: list[str] = []
    ready, loop = threading.Event(), asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        server = ApiServer.of(resources)
        broken = World(server, name, installed=command == "upgrade")
        async with server.serving():
            address.append(server.url)
            ready.set()
            while not stop.is_set():
                broken.look()
                await asyncio.sleep(0.01)

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(10)
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps({
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": address[0]}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }))  # fmt: skip
    yield file
    loop.call_soon_threadsafe(stop.set)
    thread.join()
    loop.close()


def _limit(golden: Path) -> str:
    """Return the time limit of a command: longer if the case does not wait for it."""
    is_waited_for = golden.exists() and "after 5 s" in golden.read_text()
    return "5s" if is_waited_for else "20s"


@pytest.mark.parametrize(
    ("world", "command", "name"),
    [((command, name), command, name) for command, name in CASES],
    ids=[f"{command}-{name}" for command, name in CASES],
    indirect=["world"],
)
def test_the_cause_comes_first(
    world: Path,
    command: str,
    name: str,
    tmp_path: Path,
    write_bundle: Callable[[Path, Manifest], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    quick = functools.partial(cluster_wait.Timeouts, interval=0.02, believed=0.2)
    monkeypatch.setattr(cluster_wait, "Timeouts", quick)
    monkeypatch.chdir(tmp_path)
    write_bundle(tmp_path / "bundle", csv_of(SITUATIONS[name], "1.0.0"))

    golden = HERE / "broken" / name / f"{command}.txt"
    words = [command, "--bundle", "bundle", "-n", f"t-{name}", "--timeout", _limit(golden)]
    code = main.run([*words, "--kubeconfig", str(world)])

    said = capsys.readouterr()
    text = said.out or said.err[said.err.index("error: ") :]
    seen = f"{text}exit code {int(code)}\n"
    if command == "upgrade" and name not in (
        "mode",
        "account",
    ):  # refused before a write
        assert f"upgrading `{SITUATIONS[name]}` in namespace `t-{name}`" in said.err
    if os.environ.get("OLMKIT_GOLDEN") == "rewrite":
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(seen)
    assert seen == golden.read_text()
