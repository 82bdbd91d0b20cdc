"""Read the sources of a project in any supported language.

Python and Go packages are read as text. The language comes from the PROJECT file, or else from the
files that exist.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from pathlib import Path

from olmkit.apis.findings import Findings
from olmkit.apis.go import source as go_source
from olmkit.apis.go.source import GoOptions
from olmkit.apis.model import Sources
from olmkit.apis.python import source
from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import File, Tree
from olmkit.edges import disk, paths
from olmkit.edges.programs import go_modules
from olmkit.edges.workspace import Workspace
from olmkit.project.config import Project

# Folders without sources of the operator, which a search of the whole project skips.
_NO_SOURCES = frozenset(
    {"tests", "test", "venv", "build", "dist", "node_modules", "config", "bundle", "catalog"}
)


def read(
    workspace: Workspace,
    project: Project,
    findings: Findings,
    *,
    prefix: str,
    environment: Mapping[str, str],
) -> Sources:
    """Read the types and markers of a project; `environment` locates Go's module cache.

    Raises `ConfigurationError` if there are no sources, or their parser is not installed.
    """
    if has_no_types(project):
        raise ConfigurationError(
            f"the project is written in {project.language.capitalize()}, and olmkit does "
            f"not read its types",
            hint="write its CRDs and roles yourself; `olmkit generate csv` creates the base "
            "of its bundles",
        )
    if is_go(workspace, project):
        return _read_go(workspace.folder, project, findings, prefix=prefix, environment=environment)
    return source.read(_python_tree(workspace, project), findings, prefix=prefix)


def is_go(workspace: Workspace, project: Project) -> bool:
    """Return whether the types are in Go: by the PROJECT file, or if there is only a `go.mod`."""
    if project.language:
        return project.language == "go"
    return workspace.has(go_modules.MOD_FILE)


def has_no_types(project: Project) -> bool:
    """Return whether APIs come from charts and roles, so that no source defines their types."""
    return project.language in ("helm", "ansible") and not project.settings.sources


def _named_folders(folder: Path, project: Project) -> tuple[str, ...]:
    for name in project.settings.sources:
        if not paths.exists(folder / name):
            raise ConfigurationError(
                f"`{folder / name}` does not exist, and [tool.olmkit] names it in `sources`"
            )
    return project.settings.sources


# Go


def _read_go(
    folder: Path,
    project: Project,
    findings: Findings,
    *,
    prefix: str,
    environment: Mapping[str, str],
) -> Sources:
    modules = go_modules.ModuleFolders(folder, environment)
    named = tuple(name.removeprefix("./") for name in _named_folders(folder, project))
    files: dict[str, File] = {}
    for path in go_modules.list_files(folder):
        relative = path.relative_to(folder).as_posix()
        if not named or any(_is_in(relative, name) for name in named):
            files[relative] = File(disk.read_file(path))
    if not files:
        raise ConfigurationError(
            "the project has no Go sources", hint=f"they are looked for below `{folder}`"
        )
    options = GoOptions(ignore_unexported=project.settings.ignore_unexported_fields)
    return go_source.read(
        Tree(files), modules.module, modules, findings, prefix=prefix, options=options
    )


def _is_in(relative: str, named: str) -> bool:
    """Return whether a file is below a folder; with a dot at the end, directly in it."""
    if named == "." or named.endswith("/."):
        return posixpath.dirname(relative) == named[:-1].rstrip("/")
    return relative.startswith(f"{named.rstrip('/')}/")


# Python


def _python_tree(workspace: Workspace, project: Project) -> Tree:
    """Return the Python files of a project: its named packages, else all but tests."""
    files: dict[str, File] = {}
    for name in _python_folders(workspace, project):
        for path in workspace.files(posixpath.normpath(name)):
            if path.endswith(".py") and (name or not _is_elsewhere(path)):
                files[path] = File(workspace.read(path))
    if not files:
        language = project.language
        if language and language != "python":
            raise ConfigurationError(
                f"the project is written in {language.capitalize()}, and olmkit does "
                f"not read its sources",
                hint="generate with the tools of that language; bundles and catalogs still work",
            )
        raise ConfigurationError(
            "the project has no Python sources",
            hint='name their folders in `pyproject.toml`: [tool.olmkit] sources = ["…"]',
        )
    return Tree(files)


def _python_folders(workspace: Workspace, project: Project) -> tuple[str, ...]:
    if project.settings.sources:
        return _named_folders(workspace.folder, project)
    packages = dict.fromkeys(api.path.partition(".")[0] for api in project.own_apis() if api.path)
    found = [
        place
        for package in packages
        for place in (package, f"src/{package}")
        if workspace.has(place)
    ]
    return tuple(found) if found else ("",)


def _is_elsewhere(relative: str) -> bool:
    *parents, name = relative.split("/")
    is_test = name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"
    return is_test or any(part in _NO_SOURCES or part.startswith(".") for part in parents)
