"""Run a program against an API server double with the CRDs and samples of a project.

`python -m olmkit.testing.samples config COMMAND…` serves the CRDs of the folder `config` on
loopback, creates the samples, and runs the command with a kubeconfig of that server. Samples
without a namespace are in the first one of `WATCH_NAMESPACE`, or in `default`. The server
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
from olmkit.kube.api import AlreadyExists, NoSuchKind
from olmkit.kube.objects import Manifest
from olmkit.runtime.client import Client
from olmkit.testing import installing, project_roles, rbac
from olmkit.testing.apiserver.kinds.built_in_kinds import BUILT_IN
from olmkit.testing.apiserver.kinds.collection import Collection
from olmkit.testing.apiserver.server import ApiServer
from olmkit.testing.clients import client_for

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
    server = _Server.of(BUILT_IN, crds=_crds(config))
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
    namespace = (os.environ.get("WATCH_NAMESPACE") or "default").split(",")[0].strip()
    groups = {one.resource.gvk.group for one in server.collections.values() if one.is_custom}
    roles = project_roles.read(config / "rbac", groups)
    for name in {namespace, roles.namespace or namespace, *map(_namespace_of, samples)} - {""}:
        server.put("namespaces", {"metadata": {"name": name}})
    async with server.serving(), client_for(server) as client:
        for path, sample in samples:
            await _create(client, path, sample, namespace)
        before = {(plural, name) for plural, _, name in _listed(server)}
        server.accesses.clear()
        if roles.rules is not None:
            server.denies = rbac.forbids(roles.rules)
        with paths.temporary_folder() as folder:
            file = _kubeconfig(folder, server.url, roles.namespace or namespace)
            code = await _end_of(command, os.environ | {"KUBECONFIG": str(file)})
    for line in roles.missing(server.accesses):
        print(line, file=sys.stderr)  # noqa: T201
    created = [
        f"created {of_kind} {name}"
        for plural, of_kind, name in _listed(server)
        if (plural, name) not in before and plural not in _OWN
    ]
    print(*(created or ["created no objects"]), sep="\n")  # noqa: T201 - the result
    return code


def _crds(config: Path) -> list[Manifest]:
    """Return the CRDs; raise `ConfigurationError` for one without the fields of a kind."""
    found = installing.crds(config)
    for crd in found:
        name = (crd.get("metadata") or {}).get("name")
        spec = crd.get("spec") or {}
        names, versions = spec.get("names") or {}, spec.get("versions")
        for field, value in (
            ("spec.group", spec.get("group")),
            ("spec.names.kind", names.get("kind")),
            ("spec.names.plural", names.get("plural")),
            ("spec.versions", versions),
            ("spec.versions[].name", all(one.get("name") for one in versions or ())),
        ):
            if not value:
                raise ConfigurationError(
                    f"the CustomResourceDefinition `{name}` has no `{field}`",
                    hint="`olmkit generate` writes the CRDs of a project",
                )
    return found


async def _create(client: Client, path: Path, sample: Manifest, namespace: str) -> None:
    try:
        kind = await client.cluster.resource(sample["apiVersion"], sample["kind"])
        if kind.namespaced:
            sample["metadata"].setdefault("namespace", namespace)
        await client.create(sample)
    except AlreadyExists:
        return  # a namespace, or the same object in another version, which needs a conversion
    except NoSuchKind as error:
        raise ConfigurationError(
            f"`{path}`: no CustomResourceDefinition of the project has the kind "
            f"`{sample['kind']}` of `{sample['apiVersion']}`",
            hint="correct the sample, or write the CustomResourceDefinition with `olmkit generate`",
        ) from error
    except OlmkitError as error:
        raise ConfigurationError(f"`{path}`: {error.message}", error.hint) from error


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
    """Yield the objects in the files of a folder, except its kustomization.

    Raises `ConfigurationError` for an object without kind or name.
    """
    for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]):
        if path.stem == "kustomization" or not path.is_file():
            continue
        for document in documents.load_all(path.read_bytes(), str(path)):
            for sample in project_roles.objects(document.value):
                _check_identity(path, sample)
                yield path, sample


def _check_identity(path: Path, sample: Manifest) -> None:
    metadata = sample.get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    for field, value in (
        ("apiVersion", sample.get("apiVersion")),
        ("kind", sample.get("kind")),
        ("metadata.name", names.get("name", names.get("generateName"))),
        ("metadata.namespace", names.get("namespace", "default")),
    ):
        if not value:
            raise ConfigurationError(f"`{path}`: the sample has no `{field}`")
        if not isinstance(value, str):
            raise ConfigurationError(
                f"`{path}`: `{field}` is not a string", hint="write the value in quotes"
            )


def _namespace_of(sample: tuple[Path, Manifest]) -> str:
    return str(sample[1]["metadata"].get("namespace", ""))


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


def _kubeconfig(folder: Path, url: str, namespace: str) -> Path:
    named = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "samples",
        "clusters": [{"name": "samples", "cluster": {"server": url}}],
        "users": [{"name": _USER, "user": {"token": _USER}}],
        "contexts": [
            {
                "name": "samples",
                "context": {"cluster": "samples", "user": _USER, "namespace": namespace},
            }
        ],
    }
    file = folder / "kubeconfig"
    file.write_text(json.dumps(named))
    return file


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
