"""Run scorecard tests as pods, with the bundle in a ConfigMap and results in logs and storage."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from olmkit.base import tree as trees
from olmkit.base.diagnostics import ConfigurationError, OlmkitError, RemoteError
from olmkit.base.tree import Tree
from olmkit.bundle.model import Bundle
from olmkit.bundle.scorecard import pods, results, storage
from olmkit.bundle.scorecard.configuration import ScorecardTest
from olmkit.bundle.scorecard.pods import PodSettings
from olmkit.bundle.scorecard.results import ScorecardResult
from olmkit.edges import disk
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.kube import objects
from olmkit.kube.api import AlreadyExists, ClusterError
from olmkit.kube.objects import Manifest

_POD = ("v1", "Pod")
_CONFIG_MAP = ("v1", "ConfigMap")
_MAX_LOG = 8 * 1024 * 1024
_MAX_OUTPUT = 256 * 1024 * 1024
_CLEANING = 30.0  # seconds for the clean-up, also after the time limit
_TRIES = 5
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # like generated names of Kubernetes
# Reasons that do not disappear while a pod waits.
_FINAL = ("InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError")


class PodRun(NamedTuple):
    """The settings of tests in pods. `output` is the folder for stored files."""

    settings: PodSettings
    output: Path
    keep: bool = False
    interval: float = 1.0


class PodTests:
    """Runs tests in one namespace; see `olmkit.jobs.bundle.scorecard.Pods`."""

    def __init__(self, reader: ClusterObjects, how: PodRun) -> None:
        self._reader = reader
        self._how = how
        self._namespace = how.settings.namespace
        self._map: Manifest | None = None
        self._map_name = ""
        self._pods: list[str] = []
        self._waiting: dict[int, str] = {}

    async def start(self, bundle: Bundle) -> None:
        for left in range(_TRIES, 0, -1):
            name = _name()
            wanted = pods.config_map(bundle.tree, name, self._namespace)
            self._map_name = name
            try:
                self._map = await self._reader.create(wanted)
            except AlreadyExists:
                self._map_name = ""
                if left == 1:
                    raise
                continue
            return

    async def run(self, test: ScorecardTest) -> tuple[ScorecardResult, ...]:
        if self._map is None:
            raise ClusterError("the bundle is not in the cluster")
        target = _target(self._how.output, test) if test.storage else None
        name = _name()
        self._pods.append(name)
        await self._reader.create(pods.pod(test, name, self._map, self._how.settings))
        await self._wait(test, name)
        if target is not None:
            await self._collect_output(test, name, target)
        log = await self._reader.whole_log(self._namespace, name, pods.NAME, limit=_MAX_LOG)
        return results.parse(log.decode("utf-8", "replace"))

    def waiting(self, test: ScorecardTest) -> str:
        return self._waiting.get(id(test), "")

    async def clean(self) -> None:
        if self._how.keep:
            return
        try:
            async with asyncio.timeout(_CLEANING):
                await asyncio.gather(*(self._delete(_POD, name) for name in self._pods))
                if self._map_name:
                    await self._delete(_CONFIG_MAP, self._map_name)
        except TimeoutError:
            raise self._remaining_objects_error("the API server did not answer in time") from None
        except ClusterError as error:
            raise self._remaining_objects_error(error.message) from error

    async def _delete(self, kind: tuple[str, str], name: str) -> None:
        head = {"apiVersion": kind[0], "kind": kind[1]}
        metadata = {"name": name, "namespace": self._namespace}
        await self._reader.delete({**head, "metadata": metadata})

    def _remaining_objects_error(self, why: str) -> OlmkitError:
        return RemoteError(
            f"cannot remove the objects of the tests from namespace `{self._namespace}`: {why}",
            hint=f"delete the ConfigMap `{self._map_name}`: it owns the pods",
        )

    async def _wait(self, test: ScorecardTest, name: str) -> None:
        """Wait until the test's container has terminated; raise `ClusterError` if it never will."""
        while True:
            found = await self._reader.find(_POD, name, self._namespace)
            if found is None:
                raise ClusterError(f"pod `{name}` was deleted while its test ran")
            if _has_ended(found):
                return
            problem = _problem(found)
            if problem:
                log = await self._reader.log(self._namespace, name, pods.UNTAR_NAME)
                raise ClusterError(f"pod `{name}` cannot run the test: {problem}", hint=log)
            self._waiting[id(test)] = _waits_for(found)
            await asyncio.sleep(self._how.interval)

    async def _collect_output(self, test: ScorecardTest, name: str, target: Path) -> None:
        command = ("tar", "cf", "-", test.storage)
        out, stderr = await self._reader.execute(
            self._namespace, name, pods.GATHER_NAME, command, limit=_MAX_OUTPUT
        )
        files = storage.read(out, test.storage)
        if stderr:
            files = files.merge({"tar_stderr": stderr})
        disk.apply(target, trees.diff(files, Tree()), checked=True)  # replaces earlier results


def _target(output: Path, test: ScorecardTest) -> Path:
    """Return the folder for the files of a test: SUITE/NAME."""
    parts = [test.labels[key] for key in ("suite", "test") if test.labels.get(key)]
    for part in parts:
        if "/" in part or "\0" in part or part in (".", ".."):
            raise ConfigurationError(f"the label value `{part}` cannot name a folder for results")
    return output.joinpath(*parts)


def _name() -> str:
    return f"{pods.NAME}-" + "".join(secrets.choice(_ALPHABET) for _ in range(6))


def _statuses(pod: Manifest, key: str) -> list[Mapping[str, Any]]:
    status = objects.mapping(pod.get("status"))
    return [objects.mapping(one) for one in objects.sequence(status.get(key))]


def _has_ended(pod: Manifest) -> bool:
    return any(
        one.get("name") == pods.NAME and objects.mapping(one.get("state")).get("terminated")
        for one in _statuses(pod, "containerStatuses")
    )


def _problem(pod: Manifest) -> str:
    """Return why the test cannot run; empty if it still may."""
    for one in _statuses(pod, "initContainerStatuses"):
        ended = objects.mapping(objects.mapping(one.get("state")).get("terminated"))
        if ended.get("exitCode"):
            return f"container `{objects.text(one.get('name'))}` ended with {ended['exitCode']}"
    for one in _all_statuses(pod):
        waiting = objects.mapping(objects.mapping(one.get("state")).get("waiting"))
        if objects.text(waiting.get("reason")) in _FINAL:
            return _waiting_text(one, waiting)
    status = objects.mapping(pod.get("status"))
    if status.get("phase") in ("Failed", "Succeeded"):
        found = (objects.text(status.get(key)) for key in ("reason", "message"))
        return ": ".join(filter(None, found)) or f"it is `{objects.text(status['phase'])}`"
    return ""


def _waits_for(pod: Manifest) -> str:
    """Return why the test does not run yet; empty if it runs."""
    for one in _statuses(pod, "conditions"):
        if one.get("type") == "PodScheduled" and one.get("status") == "False":
            return f"the pod is not scheduled: {objects.text(one.get('message'))}"
    waiting = [
        (one, state)
        for one in _all_statuses(pod)
        if (state := objects.mapping(objects.mapping(one.get("state")).get("waiting")))
    ]
    # These two only mean that another step is not finished.
    waiting.sort(key=lambda pair: pair[1].get("reason") in ("PodInitializing", "ContainerCreating"))
    if waiting:
        return _waiting_text(*waiting[0])
    phase = objects.text(objects.mapping(pod.get("status")).get("phase"))
    return "no node has started the pod yet" if phase == "Pending" else ""


def _all_statuses(pod: Manifest) -> list[Mapping[str, Any]]:
    return _statuses(pod, "initContainerStatuses") + _statuses(pod, "containerStatuses")


def _waiting_text(status: Mapping[str, Any], waiting: Mapping[str, Any]) -> str:
    words = f"container `{objects.text(status.get('name'))}` waits: "
    found = (objects.text(waiting.get(key)) for key in ("reason", "message"))
    return words + ": ".join(filter(None, found))
