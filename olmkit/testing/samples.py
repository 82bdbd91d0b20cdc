"""Run a program against an API server double with the CRDs and samples of a project.

`python -m olmkit.testing.samples config COMMAND…` serves the CRDs of the folder `config` on
loopback, creates the samples, and runs the command with a kubeconfig of that server. The server
rejects requests that the bound roles in `config/rbac` do not grant. It runs no pods, and reports
workloads as ready at once. At the end, it prints the objects that the program created. The exit
code is that of the command; 2 if the CRDs or samples are not valid.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from aiohttp import web

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, OlmkitError
from olmkit.edges import paths
from olmkit.kube.api import AlreadyExists
from olmkit.kube.objects import Manifest
from olmkit.testing import installing, rbac
from olmkit.testing.apiserver.kinds.built_in_kinds import BUILT_IN
from olmkit.testing.apiserver.kinds.collection import Collection
from olmkit.testing.apiserver.server import ApiServer
from olmkit.testing.clients import client_for

_NAMESPACE = "default"
_USER = "operator"
_OPENAPI = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_ROLLING = {"type": "RollingUpdate"}
_WORKLOADS: Mapping[str, Mapping[str, Any]] = {
    "daemonsets.apps": {"updateStrategy": _ROLLING},
    "deployments.apps": {"replicas": 1, "strategy": _ROLLING},
    "jobs.batch": {"completions": 1, "parallelism": 1},
    "statefulsets.apps": {"replicas": 1, "updateStrategy": _ROLLING},
}
_OWN = frozenset({"events", "leases"})
_COUNTS = ("availableReplicas", "readyReplicas", "replicas", "updatedReplicas")
_NODES = (
    "currentNumberScheduled",
    "desiredNumberScheduled",
    "numberAvailable",
    "numberReady",
    "updatedNumberScheduled",
)


def main(arguments: Sequence[str]) -> int:
    """Run the command with the project's samples; return the exit code."""
    folder, *command = arguments
    try:
        return asyncio.run(_run(Path(folder), command))
    except OlmkitError as error:
        hint = [f"hint: {error.hint}"] if error.hint else []
        print(f"error: {error.message}", *hint, sep="\n", file=sys.stderr)  # noqa: T201
        return 2


async def _run(config: Path, command: Sequence[str]) -> int:
    server = _Server.of(BUILT_IN, crds=installing.crds(config))
    server.collects_garbage = True
    # Go's clients send no token without TLS.
    for token in (_USER, ""):
        server.users[token] = {"username": _USER, "groups": ["system:authenticated"]}
    # Helm asks for the schemas of kinds; an empty document is one without any.
    server.handlers["/openapi/v2"] = _no_schemas
    samples = [*_samples(config / "samples")]
    if not samples:
        raise ConfigurationError(
            f"`{config / 'samples'}` has no samples", hint="`olmkit create api` writes them"
        )
    server.put("namespaces", {"metadata": {"name": _NAMESPACE}})
    async with server.serving(), client_for(server) as client:
        for path, sample in samples:
            try:
                kind = await client.cluster.resource(sample["apiVersion"], str(sample.get("kind")))
                if kind.namespaced:
                    sample["metadata"].setdefault("namespace", _NAMESPACE)
                await client.create(sample)
            except AlreadyExists:
                continue  # the same object in another version, which needs a conversion
            except OlmkitError as error:
                raise ConfigurationError(f"`{path}`: {error.message}", error.hint) from error
        before = {(plural, name) for plural, _, name in _listed(server)}
        server.accesses.clear()
        granted = _granted(config / "rbac")
        if granted:
            server.denies = rbac.forbids(granted)
        with paths.temporary_folder() as folder:
            kubeconfig = str(_kubeconfig(folder, server.url))
            code = await _end_of(command, os.environ | {"KUBECONFIG": kubeconfig})
    # A mixed operator has the permissions of its charts and roles in a separate file.
    roles = [config / "rbac" / name for name in ("watches_role.yaml", "role.yaml")]
    role = next((one for one in roles if one.is_file()), config / "rbac")
    for use in rbac.compare(server.accesses, granted).missing if granted else ():
        print(f"`{role}` does not grant: {use}", file=sys.stderr)  # noqa: T201
    created = [
        f"created {of_kind} {name}"
        for plural, of_kind, name in _listed(server)
        if (plural, name) not in before and plural not in _OWN
    ]
    print(*(created or ["created no objects"]), sep="\n")  # noqa: T201 - the result
    return code


async def _no_schemas(_: web.Request) -> web.Response:
    return web.Response(content_type=_OPENAPI)


async def _end_of(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command, pass signals to it, and return its exit code."""
    process = await asyncio.create_subprocess_exec(*command, env=environment, process_group=0)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, process.send_signal, number)
    code = await process.wait()
    return code if code >= 0 else 128 - code


def _samples(folder: Path) -> Iterator[tuple[Path, Manifest]]:
    """Yield the objects in the files of a folder, except its kustomization."""
    for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]):
        for document in documents.load_all(path.read_bytes(), str(path)):
            value = document.value
            if isinstance(value, dict) and "apiVersion" in value and "metadata" in value:
                yield path, value


def _granted(folder: Path) -> list[rbac.Rule]:
    """Return the rules of the roles that a folder binds; empty without bindings."""
    found = [
        document.value
        for path in sorted(folder.glob("*.yaml"))
        for document in documents.load_all(path.read_bytes(), str(path))
        if isinstance(document.value, dict)
    ]
    bound = {(one.get("roleRef") or {}).get("name") for one in found}
    return [
        # The namespace of a Role is a placeholder that the overlays replace.
        rbac.Rule(
            groups=rule.groups,
            resources=rule.resources,
            verbs=rule.verbs,
            names=rule.names,
            role=rule.role,
        )
        for rule in rbac.rules(found)
        if rule.role in bound
    ]


def _listed(server: ApiServer) -> Iterator[tuple[str, str, str]]:
    """Yield plural, kind and name of each object."""
    for _, collection in sorted(server.collections.items()):
        resource = collection.resource
        for namespace, name in sorted(collection.objects):
            yield str(resource), resource.gvk.kind, "/".join(filter(None, (namespace, name)))


class _Server(ApiServer):
    """Sets defaults that waiting programs read, and the status of workloads, as if pods ran."""

    def store(
        self,
        collection: Collection,
        manifest: Manifest,
        old: Manifest | None,
        *,
        dry_run: bool = False,
    ) -> Manifest:
        plural = str(collection.resource)
        if plural not in _WORKLOADS:
            return super().store(collection, manifest, old, dry_run=dry_run)
        spec = {**_WORKLOADS[plural], **(manifest.get("spec") or {})}
        new = super().store(collection, {**manifest, "spec": spec}, old, dry_run=dry_run)
        status = _ready(plural, new, self.now())
        if dry_run or new.get("status") == status:
            return new
        return super().store(collection, {**new, "status": status}, new)


def _ready(plural: str, workload: Manifest, now: str) -> Mapping[str, Any]:
    if plural == "jobs.batch":
        done = {"type": "Complete", "status": "True", "lastTransitionTime": now}
        return {"succeeded": 1, "startTime": now, "completionTime": now, "conditions": [done]}
    count = workload["spec"].get("replicas", 1)
    available = {"type": "Available", "status": "True", "lastTransitionTime": now}
    return {
        **dict.fromkeys(_NODES if plural == "daemonsets.apps" else _COUNTS, count),
        "observedGeneration": workload["metadata"].get("generation", 1),
        "conditions": [available],
    }


def _kubeconfig(folder: Path, url: str) -> Path:
    named = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "samples",
        "clusters": [{"name": "samples", "cluster": {"server": url}}],
        "users": [{"name": _USER, "user": {"token": _USER}}],
        "contexts": [
            {
                "name": "samples",
                "context": {"cluster": "samples", "user": _USER, "namespace": _NAMESPACE},
            }
        ],
    }
    file = folder / "kubeconfig"
    file.write_text(json.dumps(named))
    return file


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
