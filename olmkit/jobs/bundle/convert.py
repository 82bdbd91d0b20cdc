"""Convert a folder of package manifests into a folder of bundles."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from olmkit.base import tree as trees
from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import Changes, Tree
from olmkit.bundle import package_bundles
from olmkit.bundle.package_bundles import VersionBundle
from olmkit.edges import disk, paths, whole_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedPackage:
    """The bundles of a package, and the written files."""

    folder: Path
    bundles: tuple[VersionBundle, ...]
    changes: Changes


def convert(source: Path, output: Path, *, dry_run: bool = False) -> ConvertedPackage:
    """Write a bundle for each version in `source` to `output`, either all files or none.

    Raises `ConfigurationError` if `output` is not empty, and `InputError` if `source` is not a
    folder of package manifests.
    """
    if paths.is_file(output) or paths.is_link(output):
        raise ConfigurationError(f"`{output}` is not a folder")
    if paths.entries(output):
        raise ConfigurationError(
            f"the folder `{output}` is not empty", hint="pass a new folder with `--directory`"
        )
    found = package_bundles.bundles(disk.read_tree(source), str(source))
    wanted = Tree()
    for bundle in found:
        wanted = wanted.merge(bundle.files.at(bundle.folder))
    changes = trees.diff(wanted, Tree())
    if not dry_run:
        whole_folder.apply(output, changes)
    return ConvertedPackage(folder=output, bundles=found, changes=changes)
