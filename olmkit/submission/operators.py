"""One operator of a repository: its versions, its settings, its catalogs.

Versions are kept as the few facts that rules about the whole operator need, because an operator
may have hundreds. Files are read again when a finding needs a place in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from olmkit.base.diagnostics import InputError, Location
from olmkit.base.documents import Document, Key
from olmkit.base.tree import Tree
from olmkit.base.versions import Version
from olmkit.bundle import layout, model
from olmkit.bundle.model import Bundle
from olmkit.kube import objects
from olmkit.submission.settings import Settings

OPERATORS: Final = "operators"
CATALOGS: Final = "catalogs"
TEMPLATES: Final = "catalog-templates"
CI: Final = "ci.yaml"
RELEASE: Final = "release-config.yaml"
LATEST: Final = "latest"
"""The catalog of OperatorHub.io."""

OPENSHIFT_VERSIONS: Final = "com.redhat.openshift.versions"
SEMVER_MODE: Final = "semver-mode"
REPLACES_MODE: Final = "replaces-mode"


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionFolder:
    """The data of an operator's version that rules need.

    `folder`, `csv_path` and `annotations_path` are relative to the operator's folder; paths are
    empty if there is no such file. A version that could not be read has only its folder.
    """

    folder: str
    name: str = ""
    package: str = ""
    version: str = ""
    replaces: str = ""
    skips: tuple[str, ...] = ()
    skip_range: str = ""
    channels: tuple[str, ...] = ()
    default_channel: str = ""
    openshift: str = ""
    csv_path: str = ""
    annotations_path: str = ""
    has_release: bool = False

    @property
    def operator(self) -> str:
        """Return the operator in the name of the CSV: the part before the first dot."""
        return self.name.partition(".")[0]

    @property
    def number(self) -> str:
        """The version in the name of the CSV: what is after the first dot, without a `v`."""
        return self.name.partition(".")[2].removeprefix("v")

    @property
    def order(self) -> tuple[object, ...]:
        """Return the sort key: by version; those without a semantic one come first, by name."""
        found = Version.read(self.version or self.number)
        return (0, self.number) if found is None else (1, found.key, found.build, self.folder)


def version_of(bundle: Bundle, folder: str) -> VersionFolder:
    """Return the facts of a bundle that was read from `folder` below its operator's folder."""
    csv = bundle.csv
    annotations = bundle.annotations_document
    return VersionFolder(
        folder=folder,
        name=csv.name if csv else "",
        package=bundle.package,
        version=csv.version if csv else "",
        replaces=csv.replaces if csv else "",
        skips=csv.skips if csv else (),
        skip_range=csv.skip_range if csv else "",
        channels=bundle.channels,
        default_channel=bundle.default_channel,
        openshift=bundle.annotations.get(OPENSHIFT_VERSIONS, "").strip(),
        csv_path=f"{folder}/{bundle.relative(csv.document)}" if csv else "",
        annotations_path=f"{folder}/{bundle.relative(annotations)}" if annotations else "",
        has_release=RELEASE in bundle.tree,
    )


@dataclass(frozen=True, kw_only=True)
class Operator:
    """An operator. `files` are below its folder, `catalogs` those of each catalog that has it.

    `root` is the name of the repository in findings, without a slash at its end. `known_catalogs`
    are the catalogs of the repository.
    """

    name: str
    root: str
    files: Tree
    versions: tuple[VersionFolder, ...]
    catalogs: Mapping[str, Tree] = field(default_factory=dict)
    known_catalogs: frozenset[str] = frozenset()
    settings: Settings = field(default_factory=Settings)
    _documents: dict[str, Document | InputError | None] = field(default_factory=dict, repr=False)
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)

    def once(self, what: str, work: Callable[[Operator], Any]) -> Any:
        """Return the cached result of `work` for the operator."""
        if what not in self._kept:
            self._kept[what] = work(self)
        return self._kept[what]

    def shown(self, path: str = "") -> str:
        """Return the path of an operator's file in findings."""
        return model.join(self.root, f"{OPERATORS}/{self.name}{'/' if path else ''}{path}")

    def shown_catalog(self, catalog: str) -> str:
        """Return the path of an operator's catalog folder in findings."""
        return model.join(self.root, f"{CATALOGS}/{catalog}/{self.name}")

    def at(self, path: str, *keys: Key) -> Location:
        """Return the place of a value in a file of the operator; the file, if it cannot be read."""
        try:
            document = self.document(path)
        except InputError:
            document = None
        return document.at(*keys) if document else Location(path=self.shown(path))

    def document(self, path: str) -> Document | None:
        """Return the first document of a file; None without the file. Raises `InputError`."""
        if path not in self._documents:
            self._documents[path] = self._load(path)
        found = self._documents[path]
        if isinstance(found, InputError):
            raise found
        return found

    def _load(self, path: str) -> Document | InputError | None:
        if path not in self.files:
            return None
        try:
            return layout.load_first(self.files.data(path), self.shown(path))
        except InputError as error:
            return error

    @cached_property
    def ci(self) -> Mapping[str, Any]:
        """Return the values of `ci.yaml`; empty if it is missing or invalid."""
        try:
            document = self.document(CI)
        except InputError:
            document = None
        return objects.mapping(document.value) if document else {}

    @property
    def is_file_based(self) -> bool:
        """Return whether templates and catalogs, not CSVs, contain the upgrade graph."""
        return self._fbc.get("enabled") is True

    @property
    def _fbc(self) -> Mapping[str, Any]:
        return objects.mapping(self.ci.get("fbc"))

    @property
    def update_mode(self) -> str:
        """Return how the upgrade graph is built from CSVs."""
        mode = self.ci.get("updateGraph")
        return mode if isinstance(mode, str) and mode else REPLACES_MODE

    @property
    def mapping(self) -> Iterator[tuple[int, str, str, tuple[str, ...]]]:
        """Yield index, template, type and catalogs of each entry of `fbc.catalog_mapping`."""
        for index, item in enumerate(objects.sequence(self._fbc.get("catalog_mapping"))):
            entry = objects.mapping(item)
            catalogs = tuple(
                name for name in objects.sequence(entry.get("catalog_names")) if _is_text(name)
            )
            name, kind = entry.get("template_name"), entry.get("type")
            yield (
                index,
                name if isinstance(name, str) else "",
                kind if isinstance(kind, str) else "",
                catalogs,
            )

    @property
    def releases(self) -> Iterator[tuple[VersionFolder, str]]:
        """Return the versions with a release configuration, and its path."""
        for version in self.versions:
            if version.has_release:
                yield version, f"{version.folder}/{RELEASE}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
