"""Helm and Ansible operators compared with operator-sdk's, in one run on this machine.

Each operator gets an empty API server, then `--objects` objects with a trivial chart or role.
Memory is the proportional set size of all its processes: without objects, the maximum until all are
done and five are changed, and after the same delay for all, in which nothing is due. CPU time is
that of all its processes, including those that have ended: until all are done, divided by the
objects, and per pass. In an Ansible operator, each pass has a run. A Helm operator is restarted
with a short period, and the time is divided by the passes of an interval: there are no differences
in these.

HELM_OPERATOR and ANSIBLE_OPERATOR name the programs of operator-sdk; ANSIBLE_PATH is the directory
with the `ansible-runner` of the latter, which needs the package ansible-runner-http. A program
that is not named is skipped. Without etcd, kube-apiserver, Helm or Ansible nothing is measured.

    python benchmarks/hybrid.py [--objects 100] [--only helm]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.util
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent))

import _installed

from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.kube.api import NoSuchKind, PatchType
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.client import Client
from olmkit.runtime.work.reconcile import Request
from olmkit.testing.control_plane import ControlPlane, ControlPlaneError, programs
from olmkit.testing.registry import free_port

ITEM = GVK("bench.example.com", "v1", "Item")
TICKS = os.sysconf("SC_CLK_TCK")
PERIOD = 10  # seconds
WINDOW = 30.0
NEVER = 3600  # seconds: nothing is due while memory is measured
PAUSE = 20.0
CHANGES = 5
WAIT = 600.0
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
CRD: Manifest = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "items.bench.example.com"},
    "spec": {
        "group": ITEM.group,
        "names": {"kind": "Item", "plural": "items", "singular": "item", "listKind": "ItemList"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
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
FILES = {
    "helm": {
        "watches.yaml": "- {group: bench.example.com, version: v1, kind: Item, chart: chart}\n",
        "chart/Chart.yaml": "{apiVersion: v2, name: item, version: 0.1.0}\n",
        "chart/values.yaml": "size: 1\n",
        "chart/templates/map.yaml": (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n"
            'data: {size: "{{ .Values.size }}"}\n'
        ),
    },
    "ansible": {
        "watches.yaml": "- {group: bench.example.com, version: v1, kind: Item, role: item}\n",
        "roles/item/tasks/main.yml": '- debug: {msg: "{{ size }}"}\n',
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """An operator: its name, its program, its command, and the directories of its programs."""

    name: str
    kind: str
    words: tuple[str, ...]
    path: str = ""


def peers() -> Iterator[Peer]:
    own = (sys.executable, "-m", "olmkit.hybrid")
    if shutil.which("helm"):
        yield Peer(name="olmkit", kind="helm", words=(*own, "helm", "run"))
    if program := os.environ.get("HELM_OPERATOR"):
        yield Peer(name="helm-operator", kind="helm", words=(program, "run"))
    if importlib.util.find_spec("ansible_runner"):
        for runner in ("fork", "ansible-runner"):
            words = (*own, "ansible", "run", f"--runner={runner}")
            yield Peer(name=f"olmkit, {runner}", kind="ansible", words=words)
    if program := os.environ.get("ANSIBLE_OPERATOR"):
        path = os.environ.get("ANSIBLE_PATH", "")
        yield Peer(name="ansible-operator", kind="ansible", words=(program, "run"), path=path)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=100)
    parser.add_argument("--only", default="", help="a part of a name or kind")
    given = parser.parse_args()
    _installed.prepare()
    try:
        found = programs()
    except ControlPlaneError as error:
        print(f"left out: {error}")
        return
    titles = (
        *("empty, MiB", "peak, MiB", "after, MiB"),
        *("all done, s", "each, CPU ms", "change, s", "pass, CPU ms"),
    )
    print(f"{given.objects} objects")
    print(f"{'':32}" + "".join(f"{one:>14}" for one in titles))
    for peer in peers():
        label = f"{peer.kind}: {peer.name}"
        if given.only not in label:
            continue
        with (
            tempfile.TemporaryDirectory() as folder,
            ControlPlane(folder=Path(folder) / "server", programs=found) as server,
        ):
            figures = asyncio.run(measure(peer, server, Path(folder), given.objects))
        print(f"{label:32}" + "".join(f"{one:14.1f}" for one in figures), flush=True)


async def measure(peer: Peer, server: ControlPlane, folder: Path, objects: int) -> list[float]:
    for name, text in FILES[peer.kind].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    config = kubeconfig.load(paths=[server.kubeconfig], environment={})
    async with HttpCluster(config) as cluster:
        client = Client(cluster, None, field_manager="bench")
        await client.create(CRD)
        async with asyncio.timeout(WAIT):
            while True:
                with contextlib.suppress(NoSuchKind):
                    await cluster.resource(ITEM.api_version, ITEM.kind)
                    break
                await asyncio.sleep(0.2)
        port = free_port()
        with running(peer, server, folder, port, NEVER) as process, PeakMemory(process.pid) as peak:
            await until(lambda: passes(port) is not None)
            await asyncio.sleep(PAUSE)
            empty = memory(process.pid)
            initialized, spent = time.monotonic(), cpu(process.pid)
            for number in range(objects):
                await client.create(item(number))
            await until(lambda: all_done(client, peer.kind, objects))
            took = time.monotonic() - initialized
            first = each = (cpu(process.pid) - spent) / objects * 1000
            changes = [await change(client, cluster, peer.kind, n) for n in range(CHANGES)]
            await asyncio.sleep(PAUSE)
            after, most = memory(process.pid), peak.most
        if peer.kind == "helm":
            with running(peer, server, folder, port, PERIOD) as process:
                await until(lambda: (passes(port) or 0) >= objects)
                before, spent = passes(port) or 0, cpu(process.pid)
                await asyncio.sleep(WINDOW)
                count = (passes(port) or 0) - before
                each = (cpu(process.pid) - spent) / max(1, count) * 1000
    return [empty, most, after, took, first, statistics.median(changes), each]


class PeakMemory(threading.Thread):
    """Record the maximum memory of a process and its children during a block."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid, self._ended = pid, threading.Event()
        self.most = 0.0

    def run(self) -> None:
        while not self._ended.wait(0.2):
            self.most = max(self.most, memory(self._pid))

    def __enter__(self) -> PeakMemory:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()


@contextlib.contextmanager
def running(
    peer: Peer, server: ControlPlane, folder: Path, port: int, period: int
) -> Iterator[subprocess.Popen[bytes]]:
    environment: Mapping[str, str] = os.environ | {
        "WATCH_NAMESPACE": "default",
        "KUBECONFIG": str(server.kubeconfig),
        "ANSIBLE_GATHERING": "explicit",
        "ANSIBLE_ROLES_PATH": str(folder / "roles"),
        "PATH": os.pathsep.join(filter(None, (peer.path, os.environ["PATH"]))),
    }
    words = [
        *peer.words,
        f"--metrics-bind-address=127.0.0.1:{port}",
        "--metrics-secure=false",
        "--health-probe-bind-address=0",
        "--max-concurrent-reconciles=2",
        f"--reconcile-period={period}s",
        f"--watches-file={folder / 'watches.yaml'}",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(words, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        yield process
    except BaseException:
        print((folder / "log").read_text()[-2000:], file=sys.stderr)
        raise
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def item(number: int) -> Manifest:
    metadata = {"name": f"one-{number}", "namespace": "default"}
    return {
        "apiVersion": ITEM.api_version,
        "kind": ITEM.kind,
        "metadata": metadata,
        "spec": {"size": "1"},
    }


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(WAIT):
        while True:
            found = condition()
            if await found if asyncio.iscoroutine(found) else found:
                return
            await asyncio.sleep(0.05)


async def all_done(client: Client, kind: str, count: int) -> bool:
    listed = await client.list(ITEM, namespace="default")
    await asyncio.sleep(0.5)
    return sum(bool(done(one, kind)) for one in listed) == count


def done(one: Manifest, kind: str) -> str:
    """Return an identifier that changes when a pass is done; empty before the first pass."""
    conditions = (one.get("status") or {}).get("conditions") or []
    by_type = {found["type"]: found for found in conditions}
    if kind == "helm":
        deployed = by_type.get("Deployed", {})
        return "yes" if deployed.get("status") == "True" else ""
    running = by_type.get("Running", {})
    ended = running.get("reason") == "Successful"
    return str(running.get("ansibleResult", {}).get("completion")) if ended else ""


async def change(client: Client, cluster: HttpCluster, kind: str, number: int) -> float:
    """Change one object; return the seconds until it is reconciled."""
    name = Request(f"one-{number}", "default")
    before = done(await client.require(ITEM, name), kind)
    resource = await cluster.resource(ITEM.api_version, ITEM.kind)
    initialized = time.monotonic()
    patch = {"spec": {"size": "2"}}
    await cluster.patch(resource, name.name, patch, type=PatchType.MERGE, namespace="default")

    async def there() -> bool:
        if kind == "helm":
            found = await client.get(GVK("", "v1", "ConfigMap"), name)
            return found is not None and found["data"] == {"size": "2"}
        return done(await client.require(ITEM, name), kind) not in ("", before)

    await until(there)
    return time.monotonic() - initialized


def passes(port: int) -> int | None:
    """Return the number of passes, or None before there are metrics."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            text = answer.read().decode()
    except OSError:
        return None
    found = re.findall(r"^controller_runtime_reconcile_total\{.*\} (\S+)$", text, re.MULTILINE)
    return int(sum(float(one) for one in found))


def processes(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        with contextlib.suppress(OSError):
            for file in Path(f"/proc/{one}/task").glob("*/children"):
                found += [int(child) for child in file.read_text().split()]
    return found


def memory(pid: int) -> float:
    """Return the proportional set size of the process and its children, in MiB."""
    total = 0
    for one in processes(pid):
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{one}/smaps_rollup").read_text()
            total += int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)[1])  # type: ignore[index]
    return total / 1024


def cpu(pid: int) -> float:
    """Return the CPU seconds of the process and its children, including those that have ended."""
    total = 0
    for one in processes(pid):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            total += sum(int(word) for word in words[11:15])
    return total / TICKS


if __name__ == "__main__":
    main()
