"""Run: the project's operator as a process of this machine, against a cluster.

Whether it can work at all is checked first, since its own answer would come late
and be long: is there a project, a package, a cluster, and does that know the kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, OlmkitError
from olmkit.edges import disk, paths
from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.programs import processes
from olmkit.kube.api import NoSuchKind
from olmkit.kube.objects import GVK, Manifest
from olmkit.project import config, image_plan, run_plan
from olmkit.project.config import Project
from olmkit.project.run_plan import RunPlan

_MANAGER_FOLDER = "config/manager"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """`namespace`: the only one that is watched; `arguments` go to the operator."""

    project: Path
    kubeconfig: Path | None = None
    context: str = ""
    namespace: str = ""
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """All that is needed to start: the plan, the variables, and the cluster it is for."""

    plan: RunPlan
    folder: Path
    environment: Mapping[str, str]
    cluster: ClusterConfig
    kinds: tuple[GVK, ...]


def prepare(options: RunOptions, environment: Mapping[str, str]) -> Ready:
    """Return what would be run.

    Raises `ConfigurationError` when there is no project here, no package in it that can be
    run, or no cluster to talk to.
    """
    folder = options.project
    pyproject = disk.read_if_there(folder / config.PYPROJECT_FILE)
    project = config.parse(disk.read_if_there(folder / config.PROJECT_FILE), pyproject)
    project = config.seen_from_watches(project, lambda name: disk.read_if_there(folder / name))
    run_plan.check_language(project)
    has_watches = project.language in run_plan.WATCHES_LANGUAGES
    plan = run_plan.plan(
        run_plan.watches_entrypoint(project.language)
        if has_watches
        else _entrypoint(folder, pyproject, project),
        # What runs charts and roles is a part of olmkit, not of the project.
        python=processes.own_python() if has_watches else processes.python_of(folder),
        manifests=_manifests(folder),
        namespace=options.namespace,
        arguments=options.arguments,
    )
    files = [options.kubeconfig] if options.kubeconfig else []
    cluster = kubeconfig.load(paths=files, context=options.context, environment=environment)
    # What the caller has in the environment wins over what the manifests say.
    found = {**plan.environment, **environment, "PYTHONUNBUFFERED": "1"}
    if options.namespace:
        found[run_plan.WATCH_NAMESPACE] = options.namespace
    found["PYTHONPATH"] = processes.path_with(paths.resolved(folder), environment)
    if options.kubeconfig:
        found["KUBECONFIG"] = str(paths.resolved(options.kubeconfig))
    return Ready(
        plan=plan,
        folder=folder,
        environment=found,
        cluster=cluster,
        kinds=run_plan.kinds(project),
    )


async def check(ready: Ready) -> None:
    """Raise `ConfigurationError` when the cluster lacks kinds, `ClusterError` when it is away."""
    missing = []
    async with HttpCluster(ready.cluster) as cluster:
        for kind in ready.kinds:
            try:
                await cluster.resource(f"{kind.group}/{kind.version}", kind.kind)
            except NoSuchKind:
                missing.append(kind)
    if missing:
        raise run_plan.missing_kinds(missing)


def run(ready: Ready, *, context: str = "") -> int:
    """Run the operator to its end; its exit code."""
    with paths.temporary_folder() as folder:
        environment = dict(ready.environment)
        if context:
            environment["KUBECONFIG"] = kubeconfig.with_context(context, folder, environment)
        return processes.run(ready.plan.command, folder=ready.folder, environment=environment)


def _entrypoint(folder: Path, pyproject: bytes | None, project: Project) -> tuple[str, ...]:
    """Return how the operator's image would start it; the package must be there."""
    settings = project.settings
    if settings.image_entrypoint:
        return settings.image_entrypoint
    application = image_plan.application(pyproject, settings, disk.python_packages(folder))
    package = application.packages[0]
    if not paths.is_file(folder / package / "__main__.py"):
        raise ConfigurationError(
            f"`{package}` cannot be run: `{package}/__main__.py` does not exist",
            hint="create it, or set how the operator starts: "
            "`image-entrypoint` below `[tool.olmkit]`",
        )
    return image_plan.entrypoint(application, settings)


def _manifests(folder: Path) -> list[Manifest]:
    """Return what is in the manager's folder; what cannot be read there is not ours to judge."""
    found: list[Manifest] = []
    for path in paths.matching(folder / _MANAGER_FOLDER, "*.yaml"):
        try:
            listed = [one.value for one in documents.load_all(disk.read_file(path), str(path))]
        except OlmkitError:
            continue
        found += [value for value in listed if isinstance(value, dict)]
    return found
