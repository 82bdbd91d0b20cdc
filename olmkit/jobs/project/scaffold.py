"""Projects: begin one, add an API or a webhook to one, change what it is.

Reads the parts of a project that a scaffold may touch, lets the middle say what
is wanted, and writes the difference. What markers say is generated with it, so that
a project is complete after each command; sources with errors stop it before
anything is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import olmkit.project
from olmkit.base.diagnostics import ConfigurationError, Diagnostic
from olmkit.base.tree import Changes, File, Tree, diff
from olmkit.edges import disk, paths, whole_folder
from olmkit.edges.workspace import Workspace
from olmkit.jobs.project import generate as generating
from olmkit.project import config
from olmkit.project.config import Project
from olmkit.project.scaffold import api as scaffold_api
from olmkit.project.scaffold import edit as scaffold_edit
from olmkit.project.scaffold import external as scaffold_external
from olmkit.project.scaffold import project as scaffold
from olmkit.project.scaffold import webhook as scaffold_webhook
from olmkit.project.scaffold.api import ApiRequest
from olmkit.project.scaffold.edit import EditRequest
from olmkit.project.scaffold.project import Draft, InitRequest
from olmkit.project.scaffold.webhook import WebhookRequest

# A scaffold edits text files of people; what is larger is none of these.
_MAX_FILE = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaffoldResult:
    """What was or would be written: scaffolded files, and files generated from them."""

    changes: Changes
    diagnostics: tuple[Diagnostic, ...] = ()


def init(folder: Path, request: InitRequest, *, dry_run: bool = False) -> ScaffoldResult:
    """Begin a project in a folder, which is made when it is not there.

    Raises `ConfigurationError` when a project or other files exist there.
    """
    if paths.exists(folder) and not paths.is_folder(folder):
        raise ConfigurationError(f"`{folder}` is not a folder")
    templates = _templates()
    existing = _visible(folder)
    present = _read(folder, [*existing, *_TOP_FILES])
    is_begun = not set(existing) <= _HARMLESS
    if is_begun and not _is_unfinished(present, request, templates):
        raise ConfigurationError(
            f"`{folder}` is not empty: it holds `{existing[0]}`",
            hint="start in a new folder: `olmkit init FOLDER --domain …`",
        )
    if not is_begun:
        return _finish(folder, scaffold.init(request, present, templates), dry_run=dry_run)
    harmless = Tree({path: present[path] for path in present if path in _HARMLESS})
    draft = scaffold.init(request, harmless, templates)
    draft.present = _read(folder, {path.partition("/")[0] for path in (*present, *draft.tree())})
    return _finish(folder, draft, dry_run=dry_run)


def create_api(folder: Path, request: ApiRequest, *, dry_run: bool = False) -> ScaffoldResult:
    """Add a kind to a project, and generate what its markers say.

    Raises `ConfigurationError` for names that cannot be or are taken, `InputError` where a
    file of the project cannot be edited or its sources have errors; then nothing is written.
    """
    project, present = _open(folder)
    make = scaffold_api.create_api
    is_plain = request.resource and not request.is_external
    if not is_plain and scaffold_external.is_external_kind(request, project):
        make = scaffold_external.create_controller
    draft = make(request, project, present, _templates())
    return _finish(folder, draft, project, dry_run=dry_run, generate=True)


def create_webhook(
    folder: Path, request: WebhookRequest, *, dry_run: bool = False
) -> ScaffoldResult:
    """Add webhooks to a kind of a project, and generate what their markers say.

    Raises as `create_api` does.
    """
    project, present = _open(folder)
    draft = scaffold_webhook.create_webhook(request, project, present, _templates())
    return _finish(folder, draft, project, dry_run=dry_run, generate=True)


def edit(folder: Path, request: EditRequest, *, dry_run: bool = False) -> ScaffoldResult:
    """Change what a project is: several groups, its scope, the operator's image.

    Another scope changes RBAC markers, from which roles are generated; raises as `create_api`
    does.
    """
    project, present = _open(folder)
    draft = scaffold_edit.edit(request, project, present, _templates())
    generates = request.namespaced is not None
    return _finish(folder, draft, project, dry_run=dry_run, generate=generates)


_HARMLESS = frozenset({"LICENSE", "LICENSE.txt", "README.md"})
_TOP_FILES = (config.PROJECT_FILE, config.PYPROJECT_FILE, "Makefile", ".gitignore")


def _open(folder: Path) -> tuple[Project, Tree]:
    top = _read(folder, _TOP_FILES)
    project = generating.load_project(folder, top)
    if project.language not in ("python", ""):
        raise ConfigurationError(
            f"the project is written in {project.language.capitalize()}, and olmkit "
            f"scaffolds only Python",
            hint="scaffold with the tools of that language; `generate`, bundles and catalogs "
            "still work",
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
    """Write what the draft wants, and what is generated of it; both are known before."""
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


def _is_unfinished(present: Tree, request: InitRequest, templates: Tree) -> bool:
    """Whether all that is there is what an `init` that was interrupted has written."""
    wanted = scaffold.init(request, Tree(), templates).tree()
    return bool(present) and all(
        path in wanted and wanted.data(path) == present.data(path)
        for path in present
        if path not in _HARMLESS
    )


def _visible(folder: Path) -> list[str]:
    """What is in a folder, without what starts with a dot."""
    return [name for name in paths.entries(folder) if not name.startswith(".")]


def _read(folder: Path, names: Iterable[str]) -> Tree:
    files: dict[str, File] = {}
    for name in names:
        place = folder / name
        files_there = [place] if paths.is_file(place) else []
        for path in disk.files_of(place) if paths.is_folder(place) else files_there:
            if path.suffix == ".pyc":
                continue
            data = disk.read_file(path, limit=_MAX_FILE)
            files[path.relative_to(folder).as_posix()] = File(data, paths.mode(path))
    return Tree(files)
