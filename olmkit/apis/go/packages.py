"""Go packages by import path: the project's own, and those that its types come from.

An implementation of `Modules` finds the files of an external package; packages that it does not
find may be in the shipped table.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from olmkit.apis.findings import Findings
from olmkit.apis.go import build, expressions, parser, table
from olmkit.apis.go import file as go_file
from olmkit.apis.go.file import GoFile
from olmkit.apis.go.model import GoDeclaration, GoPackage
from olmkit.apis.markers.language import Comment, MarkerLevel
from olmkit.apis.markers.table import REGISTRY
from olmkit.base.diagnostics import Location, Related

# An external file without these is not relevant for types.
_RELEVANT = re.compile(rb"^\s*type\s|\) Marshal(?:JSON|Text)\(", re.MULTILINE)


class Modules(Protocol):
    """The port to the files of external packages."""

    def files(self, package: str) -> Mapping[str, bytes] | None:
        """Return the Go files of an import path by their shown paths; None if there are none."""
        ...

    def version(self, module: str) -> str:
        """Return the version of a module that the project depends on, or an empty string."""
        ...


class _Declarations(Mapping[str, GoDeclaration]):
    """The types of some files; each is read once, on request."""

    def __init__(self, files: list[GoFile]) -> None:
        self._files = {name: file for file in files for name in file.types}
        self._read: dict[str, GoDeclaration] = {}

    def __getitem__(self, name: str) -> GoDeclaration:
        found = self._read.get(name)
        if found is None:
            found = self._read[name] = expressions.declaration(self._files[name], name)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


@dataclass(slots=True)
class Library:
    """All packages of a project and those it imports; each is read once.

    `approximated`: a module's version and the release of the table that was used.
    """

    own: Mapping[str, GoPackage]
    modules: Modules
    approximated: dict[str, tuple[str, str]] = field(default_factory=dict)
    _known: dict[str, GoPackage | None] = field(default_factory=dict)

    def package(self, path: str) -> GoPackage | None:
        """Return the package of an import path; None if it is not available."""
        if path in self.own:
            return self.own[path]
        if path not in self._known:
            self._known[path] = self._external(path)
        return self._known[path]

    def is_own(self, path: str) -> bool:
        return path in self.own

    def _external(self, path: str) -> GoPackage | None:
        files = self.modules.files(path)
        if files:
            return read_package(path, files, Findings(), is_own=False)
        module = table.module_of(path)
        version = self.modules.version(module) if module else ""
        release = table.nearest(module, version) if module else ""
        if release and not table.is_near(version, release):
            self.approximated[module] = (version, release)
        return table.package(path, self.modules.version)


def read_package(
    path: str,
    files: Mapping[str, bytes],
    findings: Findings,
    *,
    is_own: bool,
    names: dict[str, str] | None = None,
) -> GoPackage | None:
    """Return one package from its files; None if none of them is part of the build.

    `names`: the names of all packages that are read, by import path. The package adds its own name;
    names of its imports are looked up when its types are read, after all packages.
    """
    names = {} if names is None else names
    parsed: list[GoFile] = []
    first = ""
    for shown, data in sorted(files.items()):
        if not build.is_built(posixpath.basename(shown), data):
            continue
        first = first or shown
        if is_own or _RELEVANT.search(data):
            parsed.append(parser.parse(data, shown, findings, _belongs_to_package))
    if not first:
        return None
    if is_own:
        _check_one_package(parsed, findings)
        _check_type_names(parsed, findings)
    at = next((file.package_at for file in parsed if file.package_at), None)
    name = next((file.package for file in parsed if file.package), posixpath.basename(path))
    names[path] = name
    for file in parsed:
        file.package_names = names
    methods: dict[str, set[str]] = defaultdict(set)
    constants: dict[str, list[str]] = defaultdict(list)
    for file in parsed:
        for receiver, method in file.methods:
            methods[receiver].add(method)
        for kind, value in file.constants:
            constants[kind].append(value)
    return GoPackage(
        path=path,
        name=name,
        at=at or Location(path=first),
        declarations=_Declarations(parsed),
        methods={receiver: frozenset(names) for receiver, names in methods.items()},
        constants={kind: tuple(values) for kind, values in constants.items()},
        comments=tuple(comment for file in parsed for comment in file.package_comments),
        imports=_imports(parsed) if is_own else {},
    )


def _imports(files: list[GoFile]) -> Mapping[str, Location]:
    found: dict[str, Location] = {}
    for file in files:
        for node in file.import_paths:
            found.setdefault(go_file.text_of(node)[1:-1], file.at(node))
    return found


def _check_one_package(files: list[GoFile], findings: Findings) -> None:
    """Check that all files of a folder belong to one package, as Go requires."""
    named = [file for file in files if file.package not in ("", "documentation")]
    for file in named:
        if file.package != named[0].package:
            place = file.package_at or Location(path="")
            findings.add(
                "API027",
                f"the package is `{file.package}` here, and `{named[0].package}` in another file "
                "of this folder",
                place,
                hint="give them one name, or move them to separate folders",
            )
            return


def _check_type_names(files: list[GoFile], findings: Findings) -> None:
    """Report types of a package that are declared twice, which is an error in Go."""
    first: dict[str, Location] = {}
    for file in files:
        for node in file.type_names:
            name, at = go_file.text_of(node), file.at(node)
            before = first.setdefault(name, at)
            if before is not at:
                findings.add(
                    "API008",
                    f"`{name}` is declared twice in this package",
                    at,
                    hint="rename one of them",
                    related=(Related(before, "first declared here"),),
                )


def _belongs_to_package(marker: Comment) -> bool:
    """Return whether a marker above a type is only valid for its package."""
    is_on_type = REGISTRY.find(marker.text, MarkerLevel.TYPE) is not None
    return not is_on_type and REGISTRY.find(marker.text, MarkerLevel.PACKAGE) is not None
