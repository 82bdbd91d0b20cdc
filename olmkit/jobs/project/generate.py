"""Generate the manifests in `config/` from the types and markers of a project.

Reads the sources as text, generates the manifests, compares them with the existing files and writes
the difference. If the sources have an error, nothing is written.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from olmkit.apis import csv_markers, roles, webhooks
from olmkit.apis.crds import manifests
from olmkit.apis.crds.schema_options import Options
from olmkit.apis.findings import Findings
from olmkit.apis.model import Sources
from olmkit.apis.python import source
from olmkit.base import documents, findings, names
from olmkit.base.diagnostics import (
    ConfigurationError,
    Diagnostic,
    InputError,
    Location,
    Severity,
    has_errors,
)
from olmkit.base.documents import Document
from olmkit.base.tree import Changes, File, Tree, diff
from olmkit.bundle.generation import base_csv
from olmkit.edges import disk, paths
from olmkit.edges.programs import go_modules
from olmkit.edges.workspace import Workspace
from olmkit.jobs.project import sources as project_sources
from olmkit.kube.objects import GVK
from olmkit.project import config, makefile, watched_files
from olmkit.project.config import Project
from olmkit.project.kustomize import build as kustomize

ROLE_FILE = "config/rbac/role.yaml"
WEBHOOK_FILE = "config/webhook/manifests.yaml"
CSV_FOLDER = "config/manifests/bases"
# The annotation with the version of controller-gen.
STAMP = "controller-gen.kubebuilder.io/version"
_STAMP = re.compile(rb"^ +controller-gen\.kubebuilder\.io/version: (\S+)$", re.MULTILINE)

# The parts of a bundle in addition to the base CSV.
_OVERLAYS = ("default", "samples", "scorecard")
_STRICT = frozenset({"API004", "API005", "API022"})
# Errors in the schema of types do not matter for roles, webhooks and descriptions.
_OF_SCHEMAS = frozenset({"API006", "API007"})


class Target(StrEnum):
    """The kinds of output."""

    CRD = "crd"
    RBAC = "rbac"
    WEBHOOK = "webhook"
    CSV = "csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateOptions:
    """The options: `targets` to generate; with `strict_markers`, unknown markers are errors.

    `settings`: `NAME=VALUE` strings that override `[tool.olmkit]`; `environment` says where
    Go's module cache is. `check_watches` gets the content and path of a `watches.yaml`, and returns
    the findings of its entries.
    """

    targets: frozenset[Target] = frozenset(Target)
    strict_markers: bool = False
    settings: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    check_watches: Callable[[bytes, str], tuple[Diagnostic, ...]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateResult:
    """The changes that were or would be written; `files` are all generated files."""

    changes: Changes
    files: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def generate(
    folder: Path, options: GenerateOptions | None = None, *, dry_run: bool = False
) -> GenerateResult:
    """Generate the manifests of a project; with `dry_run`, only return what would change.

    Raises `InputError` if the sources or markers have errors, and `ConfigurationError` if there is
    no project or it is misconfigured; then nothing is written.
    """
    result = plan(Workspace(folder), options)
    if not dry_run:
        disk.apply(folder, result.changes)
    return result


def plan(workspace: Workspace, options: GenerateOptions | None = None) -> GenerateResult:
    """Return what `generate` would write. Raises like `generate`."""
    chosen = options or GenerateOptions()
    folder = workspace.folder
    project = _project(workspace, chosen)
    findings = Findings()
    if project_sources.has_no_types(project) and Target.CSV in chosen.targets:
        chosen = replace(chosen, targets=frozenset({Target.CSV}))
        sources = Sources(packages=(), declarations={}, package_of={})
    else:
        sources = project_sources.read(
            workspace,
            project,
            findings if Target.CRD in chosen.targets else findings.setting_apart(_OF_SCHEMAS, []),
            prefix=_prefix(folder),
            environment=chosen.environment,
        )
    wanted, stale = _generate_files(workspace, project, sources, chosen, findings)
    found = _apply_strictness(
        findings, strict=chosen.strict_markers or project.settings.strict_markers
    )
    watched = _check_watched(workspace, project, chosen)
    if has_errors((*found, *watched)):
        raise _refusal((*found, *watched))
    changes = diff(wanted, workspace.present(wanted))
    return GenerateResult(
        changes=changes,
        files=tuple(wanted),
        diagnostics=(*project.findings, *found, *stale, *watched),
    )


def _check_watched(
    workspace: Workspace, project: Project, chosen: GenerateOptions
) -> tuple[Diagnostic, ...]:
    """Return the findings of `watches.yaml`: its entries, and missing files that they name."""
    data = _read_if_there(workspace, watched_files.FILE) if project.runners else None
    if data is None:
        return ()
    prefix = _prefix(workspace.folder)
    check = chosen.check_watches
    entries = check(data, prefix + watched_files.FILE) if check is not None else ()
    return (*entries, *watched_files.check(project, data, workspace.has, prefix=prefix))


def load_project(folder: Path, known: Tree | None = None) -> Project:
    """Load the project in a folder, some files of which are `known`."""
    workspace = Workspace(folder, known or Tree())
    return _load(workspace, _read_if_there(workspace, config.PROJECT_FILE))


def _load(workspace: Workspace, project_file: bytes | Document | None) -> Project:
    folder = workspace.folder
    if not paths.is_folder(folder):
        raise ConfigurationError(f"`{folder}` is not a folder")
    project = config.parse(
        project_file,
        _read_if_there(workspace, config.PYPROJECT_FILE),
        prefix=_prefix(folder),
    )
    return config.find_plugins_from_watches(project, lambda name: _read_if_there(workspace, name))


def _project(workspace: Workspace, chosen: GenerateOptions) -> Project:
    """Return the project with the settings of this run; CSVs of a Go module need a PROJECT file."""
    folder = workspace.folder
    data = _read_if_there(workspace, config.PROJECT_FILE)
    is_go_module = workspace.has(go_modules.MOD_FILE)
    file = config.document(data, prefix=_prefix(folder)) if is_go_module and data else data
    old = config.old_version(file) if isinstance(file, Document) else ""
    is_plain_go = is_go_module and (file is None or bool(old))
    if is_plain_go and Target.CSV in chosen.targets:
        fault = f"has version {old}" if old else "does not exist"
        needed = "needs version 3" if old else "needs it"
        raise ConfigurationError(
            f"`{_prefix(folder)}{config.PROJECT_FILE}` {fault}, and the CSV {needed}",
            hint="generate only the rest: `olmkit generate crd rbac webhook`",
        )
    if is_plain_go:
        project = config.without_file(
            _read_if_there(workspace, config.PYPROJECT_FILE), prefix=_prefix(folder)
        )
    else:
        project = _load(workspace, file)
    settings = project.settings
    for text in chosen.settings:
        settings = config.changed(settings, text)
    project = replace(project, settings=settings)
    return _as_created(workspace, project) if project_sources.is_go(workspace, project) else project


def _as_created(workspace: Workspace, project: Project) -> Project:
    """Fill in unset settings from the controller-gen options in the project's Makefile."""
    data = _read_if_there(workspace, makefile.MAKEFILE)
    found = makefile.read(data.decode("utf-8", "replace")) if data else None
    if found is None:
        return project
    settings, names = found.applied(project.settings)
    place = Location(path=_prefix(workspace.folder) + makefile.MAKEFILE, line=found.line)
    notes = [
        findings.create(
            "PRJ009",
            one.message,
            at=place,
            hint=one.hint,
        )
        for one in found.ignored
    ]
    if names:
        note = findings.create(
            "PRJ008",
            f"{', '.join(f'`{name}`' for name in names)}: as the Makefile runs controller-gen",
            at=place,
            hint="use [tool.olmkit] or `--set` to override it",
        )
        notes.insert(0, note)
    return replace(project, settings=settings, findings=(*project.findings, *notes))


def _prefix(folder: Path) -> str:
    shown = folder.as_posix()
    return "" if shown == "." else shown.rstrip("/") + "/"


def _read_if_there(workspace: Workspace, path: str) -> bytes | None:
    return workspace.read_if_there(path, limit=source.MAX_SOURCE_SIZE)


# What is wanted


def _generate_files(
    workspace: Workspace,
    project: Project,
    sources: Sources,
    chosen: GenerateOptions,
    findings: Findings,
) -> tuple[Tree, tuple[Diagnostic, ...]]:
    files: dict[str, File | bytes] = {}
    notes: list[Diagnostic] = []
    header = _header(workspace, project)
    if Target.CRD in chosen.targets:
        options = Options(
            allow_dangerous_types=project.settings.allow_dangerous_types,
            embedded_object_meta=project.settings.embedded_object_meta,
            infer_defaults=project.settings.infer_defaults,
            max_description=project.settings.max_description,
            preserve_unknown_fields=project.settings.preserve_unknown_fields,
            is_strict=not project_sources.is_go(workspace, project),
        )
        folder = _crd_folder(project)
        for name, crd in manifests.crds(sources, findings, options).items():
            path = f"{folder}/{name}"
            _stamp(crd, _read_if_there(workspace, path), project.settings.controller_gen_version)
            files[path] = header + _stream([crd])
        notes += _find_unclaimed_crds(workspace, project, folder, sources, files)
    if Target.RBAC in chosen.targets:
        roles.check(sources, findings)
        found = roles.roles(sources, role_name=project.settings.role_name)
        if found:
            files[ROLE_FILE] = header + _stream(found)
    if Target.WEBHOOK in chosen.targets:
        found = webhooks.configurations(sources, findings)
        if found:
            files[WEBHOOK_FILE] = header + _stream(found)
    if Target.CSV in chosen.targets and not has_errors(findings):
        files |= _base_csv(workspace, project, sources, findings)
        files |= _bundle_overlay(workspace, project)
    return Tree(files), tuple(notes)


def _crd_folder(project: Project) -> str:
    """Return the folder for CRDs, or raise `ConfigurationError` if it is outside the project."""
    folder = posixpath.normpath(project.settings.crd_folder or ".")
    if posixpath.isabs(folder) or folder.partition("/")[0] == "..":
        raise ConfigurationError(
            f"`crd-folder` must be a folder inside the project, not `{folder}`"
        )
    return folder


def _stream(objects: Iterable[Any]) -> bytes:
    return b"".join(b"---\n" + documents.dump(one) for one in objects)


def _header(workspace: Workspace, project: Project) -> bytes:
    """Return the header of generated files, with the year."""
    settings = project.settings
    if not settings.header_file:
        return b""
    year = f" {settings.year}" if settings.year else " "
    return workspace.read(settings.header_file).replace(b" YEAR", year.encode())


def _stamp(crd: dict[str, Any], present: bytes | None, version: str) -> None:
    """Keep controller-gen's version annotation of a CRD file, unless a setting changes it.

    A new file gets none, since a tool's version would cause changes without a reason.
    """
    if not version and present is not None:
        match = _STAMP.search(present)
        version = match.group(1).decode("utf-8", "replace") if match else ""
    if version:
        annotations = crd["metadata"].get("annotations", {})
        crd["metadata"]["annotations"] = {**annotations, STAMP: version}


def _find_unclaimed_crds(
    workspace: Workspace,
    project: Project,
    folder: str,
    sources: Sources,
    files: dict[str, File | bytes],
) -> tuple[Diagnostic, ...]:
    """Find CRD files of the project's groups without a kind; users may own them, so they stay."""
    found = Findings()
    groups = {package.group for package in sources.packages if package.kinds() and package.group}
    bases = workspace.folder / folder
    watched = {
        f"{api.qualified_group}_{api.plural or names.plural_of_kind(api.kind)}.yaml"
        for api in project.apis
        if api.runner
    }
    for path in paths.match_entries(bases, "*.yaml"):
        if path.name in watched:
            continue
        if f"{folder}/{path.name}" in files or path.name.partition("_")[0] not in groups:
            continue
        found.add(
            "API024",
            f"no kind in the sources defines `{path.name}`",
            Location(path=str(path)),
            hint="remove it, also from `config/crd/kustomization.yaml`, when the kind is gone",
        )
    return tuple(found)


def _base_csv(
    workspace: Workspace, project: Project, sources: Sources, findings: Findings
) -> dict[str, File | bytes]:
    """Return the base CSV with its owned APIs from the markers; unchanged if they are equal."""
    if not project.name:
        raise ConfigurationError(
            "the project has no name, so its ClusterServiceVersion has none",
            hint="write `projectName: …` into the PROJECT file",
        )
    path = f"{CSV_FOLDER}/{project.name}.clusterserviceversion.yaml"
    data = _read_if_there(workspace, path)
    is_watched = project_sources.has_no_types(project)
    own = [api for api in project.own_apis() if not (is_watched or api.runner)]
    wanted = {GVK(api.qualified_group, api.version, api.kind): api.at for api in own}
    generated = csv_markers.describe_apis(sources, wanted, findings)
    if data is None:
        csv: Any = base_csv.default(project.name)
        csv["spec"].setdefault("apiservicedefinitions", {})
    else:
        csv = _load_csv(data, str(workspace.folder / path))
    spec = csv.setdefault("spec", {})
    apis = spec.get("customresourcedefinitions") or {}
    present = apis.get("owned") or []
    merged = csv_markers.merge(present, generated)
    if data is not None and merged == present:
        return {path: data}
    spec["customresourcedefinitions"] = {**apis, "owned": merged} if merged else apis
    return {path: documents.dump(csv)}


def _bundle_overlay(workspace: Workspace, project: Project) -> dict[str, File | bytes]:
    """Add the overlay from which a bundle is generated, if it does not exist."""
    path = f"{posixpath.dirname(CSV_FOLDER)}/kustomization.yaml"
    if workspace.has(path):
        return {}
    present = [
        name
        for name in _OVERLAYS
        if kustomize.is_overlay(lambda file: _read_if_there(workspace, file), f"config/{name}")
    ]
    resources = [f"bases/{project.name}.clusterserviceversion.yaml"]
    resources += [f"../{name}" for name in present]
    return {path: documents.dump({"resources": resources})}


def _load_csv(data: bytes, path: str) -> Any:
    document = documents.load(data, path)
    kind = document.get("kind")
    shapes = (("spec",), ("spec", "customresourcedefinitions"))
    is_one = isinstance(document.value, dict) and kind == "ClusterServiceVersion"
    if not is_one or any(not isinstance(document.get(*keys) or {}, dict) for keys in shapes):
        message = f"`{path}` contains no ClusterServiceVersion"
        raise InputError(message, hint="remove it, and olmkit writes a default one")
    owned = document.get("spec", "customresourcedefinitions", "owned")
    if not isinstance(owned or [], list):
        raise InputError(
            f"{document.at('spec', 'customresourcedefinitions', 'owned')}: `owned` is not a list"
        )
    return document.value


# Findings


def _apply_strictness(findings: Findings, *, strict: bool) -> tuple[Diagnostic, ...]:
    found = findings.sorted()
    if not strict:
        return found
    return tuple(
        one._replace(severity=Severity.ERROR) if one.rule in _STRICT else one for one in found
    )


def _refusal(found: tuple[Diagnostic, ...]) -> InputError:
    errors = sum(one.severity is Severity.ERROR for one in found)
    what = "an error" if errors == 1 else f"{errors} errors"
    return InputError(f"the sources have {what}, so nothing is written", hint="", diagnostics=found)
