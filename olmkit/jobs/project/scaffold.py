"""Scaffold projects: create a project, add APIs and webhooks, change its settings.

Reads the files of a project that a scaffold may change, and writes the difference. Manifests are
generated from markers in the same step, so that a project is complete after each command; sources
with errors stop it before anything is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import olmkit.project
from olmkit.base import names
from olmkit.base.diagnostics import ConfigurationError, Diagnostic
from olmkit.base.tree import Changes, File, Tree, diff
from olmkit.edges import disk, paths, whole_folder
from olmkit.edges.images.access_settings import Access
from olmkit.edges.workspace import Workspace
from olmkit.jobs.project import charts
from olmkit.jobs.project import generate as generating
from olmkit.jobs.project.charts import ChartReference
from olmkit.kube.objects import GVK
from olmkit.project import config, image_plan, watched_image
from olmkit.project.config import Project
from olmkit.project.scaffold import api as scaffold_api
from olmkit.project.scaffold import edit as scaffold_edit
from olmkit.project.scaffold import external as scaffold_external
from olmkit.project.scaffold import project as scaffold
from olmkit.project.scaffold import webhook as scaffold_webhook
from olmkit.project.scaffold.api import ApiRequest
from olmkit.project.scaffold.edit import EditRequest
from olmkit.project.scaffold.project import Draft, InitRequest
from olmkit.project.scaffold.watched import api as watched_api
from olmkit.project.scaffold.watched import project as watched_project
from olmkit.project.scaffold.watched.api import WatchedRequest
from olmkit.project.scaffold.watched.charts import Chart
from olmkit.project.scaffold.webhook import WebhookRequest

# A scaffold edits text files that people write; larger files are not.
_MAX_FILE = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaffoldResult:
    """The changes that were or would be written: scaffolded and generated files."""

    changes: Changes
    diagnostics: tuple[Diagnostic, ...] = ()


def init(
    folder: Path, request: InitRequest, *, language: str = "python", dry_run: bool = False
) -> ScaffoldResult:
    """Create a project in a folder, which is created if needed.

    `language` is `python`, `helm` or `ansible`. Raises `ConfigurationError` if the folder has a
    project or other files.
    """
    if paths.exists(folder) and not paths.is_folder(folder):
        raise ConfigurationError(f"`{folder}` is not a folder")
    templates = _templates()
    existing = _visible(folder)
    present = _read(folder, [*existing, *_TOP_FILES])
    is_begun = not set(existing) <= _HARMLESS
    wanted = _begin(request, language, Tree(), templates).tree() if is_begun else Tree()
    if is_begun and not _is_unfinished(folder, existing, present, wanted):
        raise ConfigurationError(
            f"`{folder}` is not empty: it holds `{existing[0]}`",
            hint="start in a new folder: `olmkit init FOLDER --domain …`",
        )
    if not is_begun:
        return _finish(folder, _begin(request, language, present, templates), dry_run=dry_run)
    harmless = Tree({path: present[path] for path in present if path in _HARMLESS})
    draft = _begin(request, language, harmless, templates)
    draft.present = _read(folder, {path.partition("/")[0] for path in (*present, *draft.tree())})
    return _finish(folder, draft, dry_run=dry_run)


def create_api(
    folder: Path, request: ApiRequest, *, opened: Opened | None = None, dry_run: bool = False
) -> ScaffoldResult:
    """Add a kind to a project, and generate its manifests.

    `opened`: the result of `open_project`, if it was called.

    Raises `ConfigurationError` for invalid names or names in use, and `InputError` if a file of the
    project cannot be edited or its sources have errors; then nothing is written.
    """
    project, present = _open(folder, opened)
    make = scaffold_api.create_api
    is_plain = request.resource and not request.is_external
    if not is_plain and scaffold_external.is_external_kind(request, project):
        make = scaffold_external.create_controller
    draft = make(request, project, present, _templates())
    return _finish(folder, draft, project, dry_run=dry_run, generate=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedApi:
    """A kind for a chart, a role or a playbook; empty values come from the chart or defaults.

    `runner` is `helm` or `ansible`, and only needed in a Python project. `chart`: a folder, a
    packaged chart or `oci://…`. The default of `has_role` and `has_playbook` is a role.
    """

    runner: str = ""
    group: str = ""
    version: str = ""
    kind: str = ""
    plural: str = ""
    namespaced: bool = True
    force: bool = False
    chart: ChartReference | None = None
    has_role: bool = False
    has_playbook: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    """A project and its files: PROJECT, pyproject.toml, Makefile, workflows."""

    project: Project
    top: Tree


def open_project(folder: Path) -> Opened:
    """Open the project in a folder, or raise `ConfigurationError`."""
    top = _read(folder, _TOP_FILES)
    return Opened(generating.load_project(folder, top), top)


async def create_watched_api(
    folder: Path,
    wanted: WatchedApi,
    access: Access,
    environment: Mapping[str, str],
    *,
    opened: Opened | None = None,
    dry_run: bool = False,
) -> ScaffoldResult:
    """Add a kind for a chart, a role or a playbook: entry, content, CRD, sample, permissions.

    In a Python project, also add the code that starts it in the operator's process.

    `opened`: the result of `open_project`, if it was called.

    Raises like `create_api`, and `RemoteError` for a chart that a registry does not have.
    """
    opened = opened or open_project(folder)
    project, top = opened.project, opened.top
    runner = _runner(project, wanted.runner)
    parts = [watched_project.WATCHES_FILE, "config", "helm-charts", "roles", "playbooks"]
    if project.language not in watched_project.LAYOUTS:
        package = scaffold.package_of(project).partition(".")[0]
        parts += ["Containerfile", watched_image.REQUIREMENTS_FILE, package, f"src/{package}"]
    present = top.merge(_read(folder, parts))
    templates = _templates()
    chart: Chart | None = None
    kinds: tuple[GVK, ...] = ()
    if runner == "helm":
        if wanted.has_role or wanted.has_playbook:
            raise ConfigurationError(
                "roles and playbooks are for Ansible kinds, not for Helm kinds"
            )
        if wanted.chart is None and not wanted.kind:
            raise ConfigurationError(
                "neither a kind nor a chart was passed", hint="pass `--kind` or `--helm-chart`"
            )
        chart = (
            await charts.read(wanted.chart, access, environment)
            if wanted.chart is not None
            else charts.starter(wanted.kind.lower(), templates)
        )
        kinds = await charts.render_kinds(chart, environment)
    elif wanted.chart is not None or not wanted.kind:
        has_chart = wanted.chart is not None
        raise ConfigurationError(
            "charts belong to Helm, not to Ansible" if has_chart else "no kind was passed",
            hint="" if has_chart else "pass `--kind`",
        )
    request = WatchedRequest(
        group=wanted.group or _group(project) or "charts" * (chart is not None),
        version=wanted.version or "v1alpha1",
        kind=wanted.kind or (chart.kind if chart is not None else ""),
        plural="" if wanted.plural == names.plural_of_kind(wanted.kind) else wanted.plural,
        namespaced=wanted.namespaced,
        force=wanted.force,
        chart=chart,
        rendered=kinds,
        has_role=wanted.has_role or not wanted.has_playbook,
        has_playbook=wanted.has_playbook,
    )
    draft = watched_api.create_api(request, project, present, templates)
    return _finish(folder, draft, project, dry_run=dry_run, generate=True)


def _runner(project: Project, requested: str) -> str:
    """Return the runner of the new kind, or raise `ConfigurationError` if not supported."""
    if project.language in watched_project.LAYOUTS:
        if requested not in ("", project.language):
            raise ConfigurationError(
                f"the project has the {project.language.capitalize()} layout",
                hint="a Python project (`olmkit init`) can contain Helm, Ansible and Python kinds",
            )
        return project.language
    if project.language not in ("python", ""):
        raise ConfigurationError(
            f"the project is written in {project.language.capitalize()}: Helm and Ansible kinds "
            "can "
            "be added only to Python projects",
        )
    return requested


def _group(project: Project) -> str:
    """Return the default group of a kind: that of the Python kinds, if there is only one."""
    groups = {api.group for api in project.own_apis()}
    is_watched = project.language in watched_project.LAYOUTS
    return groups.pop() if len(groups) == 1 and not is_watched else ""


def create_webhook(
    folder: Path, request: WebhookRequest, *, dry_run: bool = False
) -> ScaffoldResult:
    """Add webhooks to a kind of a project, and generate their manifests.

    Raises like `create_api`.
    """
    project, present = _open(folder)
    draft = scaffold_webhook.create_webhook(request, project, present, _templates())
    return _finish(folder, draft, project, dry_run=dry_run, generate=True)


def edit(folder: Path, request: EditRequest, *, dry_run: bool = False) -> ScaffoldResult:
    """Change the settings of a project: several groups, its scope, the operator's image.

    Another scope changes RBAC markers, from which roles are generated. Raises like `create_api`.
    Image and overlays can be changed in a project of any language.
    """
    in_overlays = EditRequest(
        image=request.image,
        prometheus=request.prometheus,
        network_policy=request.network_policy,
        scorecard=request.scorecard,
        base=request.base,
    )
    project, present = _open(folder, watched=True, any_language=request == in_overlays)
    if request.namespaced is not None and project.language in watched_project.LAYOUTS:
        raise ConfigurationError(
            "the scope of a Helm or Ansible project is set by `olmkit init --namespaced`",
            hint="to change it later, edit the kinds in `config/rbac` and `WATCH_NAMESPACE` in "
            "`config/manager/manager.yaml`",
        )
    draft = scaffold_edit.edit(request, project, present, _templates())
    generates = request.namespaced is not None
    return _finish(folder, draft, project, dry_run=dry_run, generate=generates)


_HARMLESS = frozenset({"LICENSE", "LICENSE.txt", "README.md"})
_TOP_FILES = (
    config.PROJECT_FILE,
    config.PYPROJECT_FILE,
    "Makefile",
    *image_plan.CONTAINERFILES,
    ".gitignore",
    ".gitlab-ci.yml",
    ".github/workflows/operator.yaml",
)


def _open(
    folder: Path,
    opened: Opened | None = None,
    *,
    watched: bool = False,
    any_language: bool = False,
) -> tuple[Project, Tree]:
    opened = opened or open_project(folder)
    project, top = opened.project, opened.top
    allowed = ("python", "", *(watched_project.LAYOUTS if watched else ()))
    if project.language not in allowed and any_language:
        return project, top.merge(_read(folder, ("config",)))
    if project.language not in allowed:
        tools = "`kubebuilder`" if project.language == "go" else "the tools of that language"
        raise ConfigurationError(
            f"the project is written in {project.language.capitalize()}, and olmkit "
            f"scaffolds only Python",
            hint=f"scaffold with {tools}; `olmkit generate`, `olmkit edit --image`, bundles and "
            "catalogs still work",
        )
    package = scaffold.package_of(project).partition(".")[0]
    return project, top.merge(_read(folder, ("config", "tests", package, f"src/{package}")))


def _finish(
    folder: Path,
    draft: Draft,
    project: Project | None = None,
    *,
    dry_run: bool,
    generate: bool = False,
) -> ScaffoldResult:
    """Write the files of the draft and the files generated from it."""
    wanted = draft.tree()
    findings = (*(project.findings if project else ()), *draft.notes)
    if generate:
        result = generating.plan(Workspace(folder, wanted))
        made = {one.path: one.wanted for one in result.changes if one.wanted is not None}
        wanted = wanted.merge(made)
        findings = (*draft.notes, *result.diagnostics)
    changes = diff(wanted, draft.present)
    if not dry_run:
        write = disk.apply if paths.exists(folder) else whole_folder.apply
        write(folder, changes)
    return ScaffoldResult(changes=changes, diagnostics=findings)


def _templates() -> Tree:
    return disk.read_tree(Path(olmkit.project.__path__[0]) / "templates")


def _begin(request: InitRequest, language: str, present: Tree, templates: Tree) -> Draft:
    if language in watched_project.LAYOUTS:
        return watched_project.init(request, language, present, templates)
    return scaffold.init(request, present, templates)


def _is_unfinished(folder: Path, existing: Iterable[str], present: Tree, wanted: Tree) -> bool:
    """Return whether the folder has only folders and files of an interrupted `init`."""
    top_level = {path.partition("/")[0] for path in wanted}
    return all(
        name in _HARMLESS
        or (name in top_level and (name in present or paths.is_folder(folder / name)))
        for name in existing
    ) and all(
        path in wanted and wanted.data(path) == present.data(path)
        for path in present
        if path not in _HARMLESS
    )


def _visible(folder: Path) -> list[str]:
    """Return the names in a folder that do not start with a dot."""
    return [name for name in paths.entries(folder) if not name.startswith(".")]


def _read(folder: Path, listed: Iterable[str]) -> Tree:
    files: dict[str, File] = {}
    for name in listed:
        place = folder / name
        files_there = [place] if paths.is_file(place) else []
        for path in disk.files_of(place) if paths.is_folder(place) else files_there:
            if path.suffix == ".pyc":
                continue
            data = disk.read_file(path, limit=_MAX_FILE)
            files[path.relative_to(folder).as_posix()] = File(data, paths.mode(path))
    return Tree(files)
