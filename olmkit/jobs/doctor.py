"""Check a machine for olmkit: extras, programs, credentials, a project, a cluster with OLM.

Only the cluster of the kubeconfig is contacted. Credentials are counted, not used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from olmkit.base.diagnostics import OlmkitError
from olmkit.edges import disk, machine, paths
from olmkit.edges.cluster.kubeconfig import NoClusterError
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.registries import credentials
from olmkit.jobs.image import build
from olmkit.jobs.project import generate
from olmkit.kube.objects import text
from olmkit.olm import kinds
from olmkit.olm.v1 import extension
from olmkit.project import config, image_plan

EXTRAS: Final[Mapping[str, str]] = {
    "ansible": "`olmkit run` of an Ansible project",
    "docker": "images of a Docker engine as sources and targets",
    "go": "`olmkit generate` for Go types",
    "hub": "`olmkit hub`",
    "kubernetes-types": "classes of Kubernetes' own kinds for operators in Python",
    "operator": "the runtime of operators in Python, and its tests",
    "otel": "traces of operators in Python",
    "sbom": "`olmkit image build --sbom`",
    "serve": "`olmkit catalog serve` over gRPC",
    "sign": "`olmkit image sign` and `olmkit image verify`",
}
"""The purpose of each extra of olmkit; `all` includes them all."""

# Programs that some commands call, and their purpose; two in one entry are alternatives.
_PROGRAMS: Final = {
    ("git",): "`olmkit submit check` of a pull request",
    ("helm",): "`olmkit run`, `olmkit image build` and `make test` of a Helm project",
    ("docker", "podman"): "`olmkit image build --engine`",
    ("kube-apiserver",): "tests against a real API server",
    ("etcd",): "tests against a real API server",
}
_INSTALL: Final = {
    "helm": "install helm, version 3 or 4: https://helm.sh/docs/intro/install",
}
_ASSETS: Final = "KUBEBUILDER_ASSETS"
_PATIENCE: Final = 10.0  # seconds for the API server to respond


class State(StrEnum):
    """The result of a check. Missing parts are needed by some commands only."""

    OK = "ok"
    MISSING = "missing"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineCheck:
    """One check: its subject, its result, and a hint if it failed."""

    subject: str
    state: State
    detail: str
    hint: str = ""


async def examine(
    folder: Path,
    access: Access,
    cluster: AbstractAsyncContextManager[tuple[ClusterObjects, str]],
) -> tuple[MachineCheck, ...]:
    """Return all checks, in the order in which a new user needs them.

    `folder` may contain a project; `cluster` opens the cluster of the kubeconfig.
    """
    return (
        _olmkit(),
        *_extras(),
        *_programs(access.environment),
        _registries(access),
        _project(folder),
        *await _cluster(cluster),
    )


def _olmkit() -> MachineCheck:
    version = machine.version_of("olmkit") or "from a source folder"
    return MachineCheck(
        subject="olmkit", state=State.OK, detail=f"{version}, Python {machine.python_version()}"
    )


def _extras() -> Iterator[MachineCheck]:
    needs = machine.extras_of("olmkit")
    for extra, purpose in EXTRAS.items():
        versions = {name: machine.version_of(name) for name in needs.get(extra, ())}
        lacking = [name for name, version in versions.items() if not version]
        if versions and not lacking:
            detail = ", ".join(f"{name} {version}" for name, version in versions.items())
            yield MachineCheck(subject=f"extra {extra}", state=State.OK, detail=detail)
        else:
            yield MachineCheck(
                subject=f"extra {extra}",
                state=State.MISSING,
                detail=f"for {purpose}",
                hint=f'`pip install "olmkit[{extra}]"`',
            )


def _programs(environment: Mapping[str, str]) -> Iterator[MachineCheck]:
    assets = environment.get(_ASSETS)
    for names, purpose in _PROGRAMS.items():
        subject = " or ".join(names)
        found = next((path for path in map(machine.program, names) if path), "")
        if assets and names[0] in ("kube-apiserver", "etcd"):
            named = Path(assets, names[0])
            found = str(named) if paths.is_file(named) else ""
        if found:
            yield MachineCheck(subject=subject, state=State.OK, detail=found)
            continue
        hint = _INSTALL.get(subject, f"install {subject}")
        if names[0] in ("kube-apiserver", "etcd"):
            hint = f"set `{_ASSETS}` to their folder; `make envtest` of a project downloads them"
        yield MachineCheck(subject=subject, state=State.MISSING, detail=f"for {purpose}", hint=hint)


def _registries(access: Access) -> MachineCheck:
    try:
        files = list(
            credentials.list_registries(environment=access.environment, authfile=access.authfile)
        )
    except OlmkitError as error:
        return MachineCheck(
            subject="registries", state=State.BROKEN, detail=error.message, hint=error.hint
        )
    known = [(path, names) for path, names in files if names]
    if not known:
        return MachineCheck(
            subject="registries",
            state=State.MISSING,
            detail="no credentials; pushing images and pulling private images need them",
            hint="log in with `docker login`, `podman login` or `skopeo login`",
        )
    message = (
        f"{', '.join('all by a helper' if name == '*' else name for name in names)} (`{path}`)"
        for path, names in known
    )
    return MachineCheck(
        subject="registries", state=State.OK, detail=f"credentials for {'; '.join(message)}"
    )


def _project(folder: Path) -> MachineCheck:
    if not paths.is_file(folder / config.PROJECT_FILE):
        return MachineCheck(
            subject="project",
            state=State.MISSING,
            detail=f"`{folder}` has no `{config.PROJECT_FILE}` file",
            hint="`olmkit init` creates a project",
        )
    try:
        project = generate.load_project(folder)
    except OlmkitError as error:
        return MachineCheck(
            subject="project", state=State.BROKEN, detail=error.message, hint=error.hint
        )
    pyproject = disk.read_if_there(folder / config.PYPROJECT_FILE)
    if fault := build.lock_fault(folder, image_plan.required_packages(pyproject)):
        return MachineCheck(
            subject="project", state=State.BROKEN, detail=fault.message, hint=fault.hint
        )
    kinds_of = ", ".join(dict.fromkeys(api.kind for api in project.apis)) or "no kinds yet"
    return MachineCheck(
        subject="project",
        state=State.OK,
        detail=f"{project.name} ({project.language or 'no language'}): {kinds_of}",
    )


async def _cluster(
    cluster: AbstractAsyncContextManager[tuple[ClusterObjects, str]],
) -> tuple[MachineCheck, ...]:
    try:
        async with asyncio.timeout(_PATIENCE), cluster as (reader, _):
            version = text((await reader.cluster.version()).get("gitVersion"))
            known = [
                name
                for name, kind in (
                    ("v0", kinds.SUBSCRIPTION),
                    ("v1", extension.CLUSTER_EXTENSION),
                )
                if await reader.knows(kind)
            ]
    except TimeoutError:
        detail = f"the API server does not answer within {_PATIENCE:.0f} s"
        return (
            MachineCheck(
                subject="cluster",
                state=State.BROKEN,
                detail=detail,
                hint="check the server in the kubeconfig, and the network",
            ),
        )
    except OlmkitError as error:
        state = State.MISSING if isinstance(error, NoClusterError) else State.BROKEN
        return (
            MachineCheck(subject="cluster", state=state, detail=error.message, hint=error.hint),
        )
    found = MachineCheck(subject="cluster", state=State.OK, detail=f"Kubernetes {version}")
    if known:
        olm = MachineCheck(subject="OLM", state=State.OK, detail=" and ".join(known))
    else:
        olm = MachineCheck(
            subject="OLM",
            state=State.MISSING,
            detail="the cluster has neither OLM v0 nor OLM v1",
            hint="`olmkit olm install`",
        )
    return found, olm
