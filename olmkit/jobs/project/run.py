"""Run the project's operator as a process on this machine, against a cluster.

Checks first that there are a project, a package and a cluster, and that the cluster serves the
kinds, since the operator's own errors would be late and long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, Diagnostic, OlmkitError
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
    """The options of a run: the watched `namespace`, and `arguments` for the operator.

    `on_samples`: run on an API server of this machine that has only the project's CRDs and samples.
    """

    project: Path
    kubeconfig: Path | None = None
    context: str = ""
    namespace: str = ""
    arguments: tuple[str, ...] = ()
    on_samples: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The plan of a run, the environment variables, and the cluster; None: the samples' server."""

    plan: RunPlan
    folder: Path
    environment: Mapping[str, str]
    cluster: ClusterConfig | None
    kinds: tuple[GVK, ...]
    findings: tuple[Diagnostic, ...] = ()


def prepare(options: RunOptions, environment: Mapping[str, str]) -> Ready:
    """Plan the run.

    Raises `ConfigurationError` if there is no project, no package that can be run, or no cluster.
    """
    folder = options.project
    pyproject = disk.read_if_there(folder / config.PYPROJECT_FILE)
    project = config.parse(disk.read_if_there(folder / config.PROJECT_FILE), pyproject)
    project = config.find_plugins_from_watches(
        project, lambda name: disk.read_if_there(folder / name)
    )
    run_plan.check_language(project)
    has_watches = project.language in run_plan.WATCHES_LANGUAGES
    plan = run_plan.plan(
        run_plan.watches_entrypoint(project.language)
        if has_watches
        else _entrypoint(folder, pyproject, project),
        # The program that runs charts and roles is part of olmkit, not of the project.
        python=processes.current_python() if has_watches else processes.python_of(folder),
        manifests=_manifests(folder),
        namespace=options.namespace,
        arguments=options.arguments,
    )
    cluster = None if options.on_samples else _cluster(options, environment)
    # The caller's environment takes precedence over the manifests.
    found = {**plan.environment, **environment, "PYTHONUNBUFFERED": "1"}
    if options.namespace:
        found[run_plan.WATCH_NAMESPACE] = options.namespace
    found["PYTHONPATH"] = processes.path_with(paths.resolve(folder), environment)
    if options.on_samples:
        # A separate program: shipped code does not import test doubles.
        server = (processes.current_python(), "-m", "olmkit.testing.samples", "config")
        plan = replace(plan, command=(*server, *plan.command))
    elif options.kubeconfig:
        found["KUBECONFIG"] = str(paths.resolve(options.kubeconfig))
    return Ready(
        plan=plan,
        folder=folder,
        environment=found,
        cluster=cluster,
        kinds=run_plan.kinds(project),
        findings=project.findings,
    )


async def check(ready: Ready) -> None:
    """Raise `ConfigurationError` if the cluster lacks kinds, `ClusterError` if unreachable."""
    missing: list[GVK] = []
    if ready.cluster is None:
        return
    async with HttpCluster(ready.cluster) as cluster:
        for kind in ready.kinds:
            try:
                await cluster.resource(f"{kind.group}/{kind.version}", kind.kind)
            except NoSuchKind:
                missing.append(kind)
    if missing:
        raise run_plan.missing_kinds(missing)


def run(ready: Ready, *, context: str = "") -> int:
    """Run the operator until it ends, and return its exit code."""
    with paths.temporary_folder() as folder:
        environment = dict(ready.environment)
        if context:
            environment["KUBECONFIG"] = kubeconfig.with_context(context, folder, environment)
        return processes.run(ready.plan.command, folder=ready.folder, environment=environment)


def _cluster(options: RunOptions, environment: Mapping[str, str]) -> ClusterConfig:
    files = [options.kubeconfig] if options.kubeconfig else []
    return kubeconfig.load(paths=files, context=options.context, environment=environment)


def _entrypoint(folder: Path, pyproject: bytes | None, project: Project) -> tuple[str, ...]:
    """Return the entry point of the operator's image; raise an error without the package."""
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
    """Return the manifests in the manager's folder; unreadable files are skipped."""
    found: list[Manifest] = []
    for path in paths.match_entries(folder / _MANAGER_FOLDER, "*.yaml"):
        try:
            listed = [one.value for one in documents.load_all(disk.read_file(path), str(path))]
        except OlmkitError:
            continue
        found += [value for value in listed if isinstance(value, dict)]
    return found
