"""Find the packages that a Go project imports: in `vendor`, folders, the module cache.

Folders are those of a workspace (`go.work`) and those that replace a module in `go.mod`.

Only files are read: no Go toolchain is run and nothing is downloaded. The result is None for
modules that are not in the cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from olmkit.apis.go import modfile as go_modfile
from olmkit.apis.go.modfile import GoModule
from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges import disk

MOD_FILE = "go.mod"
WORK_FILE = "go.work"
_LIMIT = 16 * 1024 * 1024
_SUM = re.compile(r"^(\S+) (v[^\s/]+) h1:", re.MULTILINE)
_NUMBER = re.compile(r"[0-9]+")
# Folders that the go command ignores, and prefixes of such names.
_SKIPPED = frozenset({"vendor", "testdata", "node_modules"})


class ModuleFolders:
    """Implements the port `olmkit.apis.go.packages.Modules` on disk.

    `environment` locates the cache: GOMODCACHE, GOPATH or HOME. Raises `ConfigurationError` if the
    project has no `go.mod`.
    """

    def __init__(self, project: Path, environment: Mapping[str, str]) -> None:
        self._project = project
        path = project / MOD_FILE
        if not path.is_file():
            raise ConfigurationError(
                f"`{path}` does not exist, so the paths of the project's packages are not known",
                hint="change into the folder of the Go module, or name it with `-C`",
            )
        self._modfile = go_modfile.parse(_text(path))
        if not self._modfile.module:
            raise ConfigurationError(f"`{path}` names no module")
        self._cache = _cache_folder(environment)
        self._workspace = _workspace(project, environment)
        self._sums: dict[str, str] | None = None

    @property
    def module(self) -> str:
        """Return the module path of the project."""
        return self._modfile.module

    def version(self, module: str) -> str:
        """Return the version of a module that the project depends on, or an empty string."""
        found = self._modfile.resolve(module)
        return found.version if found else self._from_sums().get(module, "")

    def files(self, package: str) -> Mapping[str, bytes] | None:
        """Return the Go files of an import path by their paths; None if it is not found."""
        for folder in self._folders(package):
            found = _go_files(folder)
            if found:
                return found
        return None

    def _folders(self, package: str) -> Iterator[Path]:
        own = self._modfile.module
        if package == own or package.startswith(own + "/"):
            yield self._project / package[len(own) + 1 :]
        for used in sorted(self._workspace, key=len, reverse=True):
            if package == used or package.startswith(used + "/"):
                yield self._workspace[used] / package[len(used) + 1 :]
        yield self._project / "vendor" / package
        module = self._modfile.module_of(package) or self._find_in_sums(package)
        if not module:
            return
        inside = package[len(module) + 1 :]
        found = self._modfile.resolve(module) or GoModule(module, self._from_sums().get(module, ""))
        if found.version:
            if self._cache:
                name = f"{go_modfile.escape(found.path)}@{go_modfile.escape(found.version)}"
                yield self._cache / name / inside
        else:
            yield self._project / found.path / inside

    def _from_sums(self) -> dict[str, str]:
        """Return the newest version of each module in `go.sum`: an old `go.mod` has no list."""
        if self._sums is None:
            self._sums = {}
            path = self._project / "go.sum"
            for module, version in _SUM.findall(_text(path)) if path.is_file() else ():
                if _order(version) > _order(self._sums.get(module, "")):
                    self._sums[module] = version
        return self._sums

    def _find_in_sums(self, package: str) -> str:
        while package and package not in self._from_sums():
            package = package.rpartition("/")[0]
        return package


def _workspace(project: Path, environment: Mapping[str, str]) -> dict[str, Path]:
    """Return module path → folder, for the modules of a `go.work` above the project."""
    if environment.get("GOWORK") == "off":
        return {}
    folder = project.resolve()
    work = next((up for up in (folder, *folder.parents) if (up / WORK_FILE).is_file()), None)
    if work is None:
        return {}
    found: dict[str, Path] = {}
    for name in go_modfile.used_folders(_text(work / WORK_FILE)):
        modfile = work / name / MOD_FILE
        if modfile.is_file():
            found[go_modfile.parse(_text(modfile)).module] = modfile.parent
    is_used = any(path.resolve() == folder for path in found.values())
    return found if is_used else {}


def list_files(project: Path) -> Iterator[Path]:
    """Yield the Go files of a module, as `./...` names its packages; tests are left out.

    Raises `RemoteError` if the files cannot be read.
    """
    waiting = [project]
    while waiting:
        folder = waiting.pop()
        try:
            inside = sorted(folder.iterdir())
        except OSError as error:
            raise disk.disk_error(folder, error) from error
        for path in inside:
            if path.name[0] in "._":
                continue
            if path.is_dir() and not path.is_symlink():
                if path.name not in _SKIPPED and not (path / MOD_FILE).exists():
                    waiting.append(path)
            elif path.suffix == ".go" and not path.name.endswith("_test.go"):
                yield path


def _go_files(folder: Path) -> Mapping[str, bytes] | None:
    if not folder.is_dir():
        return None
    return {
        str(path): disk.read_file(path, limit=_LIMIT)
        for path in sorted(folder.glob("*.go"))
        if path.is_file() and not path.name.endswith("_test.go")
    }


def _cache_folder(environment: Mapping[str, str]) -> Path | None:
    if environment.get("GOMODCACHE"):
        return Path(environment["GOMODCACHE"])
    if environment.get("GOPATH"):
        return Path(environment["GOPATH"].split(":")[0]) / "pkg/mod"
    return Path(environment["HOME"]) / "go/pkg/mod" if environment.get("HOME") else None


def _text(path: Path) -> str:
    return disk.read_file(path, limit=_LIMIT).decode("utf-8", "replace")


def _order(version: str) -> tuple[tuple[int, ...], bool]:
    """Return a sort key for versions of one module: numbers, and a release after its previews."""
    head, _, preview = version.partition("-")
    return tuple(int(number) for number in _NUMBER.findall(head)), not preview
