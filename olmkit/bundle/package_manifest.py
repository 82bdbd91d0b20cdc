"""The package manifest of the format before bundles: a package, its channels and their newest CSVs.

Source: `PackageManifest` of operator-framework/api. The file is next to the folders of the
versions, mostly as `NAME.package.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.base.documents import Document
from olmkit.base.tree import Tree
from olmkit.bundle import model
from olmkit.kube.objects import mapping, scalar_text, sequence

_SUFFIXES = (".yaml", ".yml", ".json")
# In a file of a catalog, `packageName` is a nested field.
_TOP_LEVEL = re.compile(rb"^[\"']?packageName[\"']?[ \t]*:", re.MULTILINE)
_LIMIT = 1024 * 1024


class ManifestChannel(NamedTuple):
    """A channel and its place: `place` in the list of channels."""

    place: int
    name: str
    current_csv: str


class PackageManifest(NamedTuple):
    """The file that describes a package."""

    document: Document

    @property
    def value(self) -> Mapping[str, Any]:
        return mapping(self.document.value)

    @property
    def name(self) -> str:
        return scalar_text(self.value.get("packageName"))

    @property
    def default_channel(self) -> str:
        return scalar_text(self.value.get("defaultChannel"))

    @property
    def channels(self) -> tuple[ManifestChannel, ...]:
        return tuple(
            ManifestChannel(
                place=place,
                name=scalar_text(mapping(one).get("name")),
                current_csv=scalar_text(mapping(one).get("currentCSV")),
            )
            for place, one in enumerate(sequence(self.value.get("channels")))
        )


def is_there(tree: Tree) -> bool:
    """Return whether the top of a folder has a package manifest, and no catalog files."""
    return any(
        "/" not in path
        and path.endswith(_SUFFIXES)
        and len(data := tree.data(path)) <= _LIMIT
        and _TOP_LEVEL.search(data) is not None
        for path in tree
    )


def find(tree: Tree, root: str) -> PackageManifest | None:
    """Return the package manifest at the top of a folder; `None` if none can be read."""
    for path in tree:
        if "/" in path or not path.endswith(_SUFFIXES) or b"packageName" not in tree.data(path):
            continue
        try:
            document = documents.load(tree.data(path), model.join(root, path))
        except InputError:
            continue
        if "packageName" in mapping(document.value):
            return PackageManifest(document)
    return None
