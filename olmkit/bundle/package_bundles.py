"""A folder of package manifests as bundles: one for each version.

The format before bundles has one file that names the channels, and a folder for each version with
its manifests. The annotations of a bundle are derived from that file: a version is in the channels
whose newest CSV it is, and in the default channel if it is not the newest in any channel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from olmkit.base.diagnostics import InputError
from olmkit.base.documents import Document
from olmkit.base.tree import File, Tree
from olmkit.bundle import metadata, model, package_manifest
from olmkit.bundle.document_limits import DocumentBudget, DocumentLimitError
from olmkit.bundle.generation import csv_builder
from olmkit.bundle.package_manifest import PackageManifest
from olmkit.kube.objects import mapping, scalar_text

CONTAINERFILE: Final = "bundle.Dockerfile"
FOLDER: Final = "bundle"
_SCORECARD_KIND: Final = "Configuration"
_SCORECARD_GROUP: Final = "scorecard.operatorframework.io/"
# Annotations of a CSV that become annotations of its bundle.
_KEPT: Final = (csv_builder.BUILDER, csv_builder.PROJECT_LAYOUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionBundle:
    """The bundle of one version: its files, and the target folder."""

    folder: str
    version_folder: str
    csv: str
    channels: tuple[str, ...]
    is_newest: bool
    files: Tree


def bundles(tree: Tree, root: str) -> tuple[VersionBundle, ...]:
    """Return the bundles of all versions, sorted by folder; `root` is the name of it in messages.

    Raises `InputError` if no file names the package and its default channel, and for a version
    without exactly one ClusterServiceVersion.
    """
    manifest = package_manifest.find(tree, root)
    if manifest is None or not manifest.name:
        raise InputError(
            f"`{root}` has no package manifest: no YAML file at its top has `packageName`",
            hint="name the folder with the `NAME.package.yaml` and the folders of the versions",
        )
    default = default_channel(manifest)
    folders = sorted({path.partition("/")[0] for path in tree if "/" in path})
    if not folders:
        raise InputError(
            f"`{root}` has no folder of a version",
            hint="each version has a folder with its manifests, next to the package manifest",
        )
    return tuple(_bundle(tree, root, name, manifest, default) for name in folders)


def default_channel(manifest: PackageManifest) -> str:
    """Return the default channel; the only one if none is named.

    Raises `InputError` if none is named and there is not exactly one channel.
    """
    name = manifest.default_channel
    if not name and len(manifest.channels) == 1:
        name = manifest.channels[0].name
    if not name:
        raise InputError(
            f"{manifest.document.at('packageName')}: the package `{manifest.name}` has no default "
            "channel",
            hint="set `defaultChannel` to one of its channels",
        )
    return name


def _bundle(
    tree: Tree, root: str, folder: str, manifest: PackageManifest, default_channel: str
) -> VersionBundle:
    given = tree.under(folder)
    where = model.join(root, folder)
    csv = _csv(given, where)
    name = scalar_text(mapping(csv.get("metadata")).get("name"))
    newest = tuple(one.name for one in manifest.channels if one.current_csv == name and one.name)
    channels = newest or (default_channel,)
    scorecard = _scorecard(given, where)
    values = _annotations(manifest.name, channels, default_channel, csv)
    if scorecard:
        values |= {
            model.TEST_MEDIA_TYPE: "scorecard+v1",
            model.TEST_CONFIG: metadata.TEST_DIRECTORY,
        }
    files: dict[str, File | bytes] = {
        f"{FOLDER}/manifests/{path}": file for path, file in given.items() if path != scorecard
    }
    files[f"{FOLDER}/metadata/annotations.yaml"] = metadata.annotations_file(values)
    if scorecard:
        files[f"{FOLDER}/{metadata.TEST_DIRECTORY}config.yaml"] = given.data(scorecard)
    files[CONTAINERFILE] = metadata.containerfile(values, FOLDER)
    return VersionBundle(
        folder=f"bundle-{folder}",
        version_folder=folder,
        csv=name,
        channels=channels,
        is_newest=bool(newest),
        files=Tree(files),
    )


def _annotations(
    package: str, channels: tuple[str, ...], default_channel: str, csv: Mapping[str, Any]
) -> dict[str, str]:
    given = mapping(mapping(csv.get("metadata")).get("annotations"))
    kept = {key: scalar_text(given[key]) for key in _KEPT if key in given}
    return {
        model.MEDIA_TYPE: metadata.MEDIA_TYPE_VALUE,
        model.MANIFESTS: "manifests/",
        model.METADATA: "metadata/",
        model.PACKAGE: package,
        model.CHANNELS: ",".join(channels),
        model.DEFAULT_CHANNEL: default_channel,
        **kept,
    }


def _csv(tree: Tree, where: str) -> Mapping[str, Any]:
    """Return the only ClusterServiceVersion of a version."""
    found = [
        (path, document.value)
        for path, document in _documents(tree, where)
        if document.value.get("kind") == model.CSV_KIND
    ]
    if not found:
        raise InputError(
            f"`{where}` has no ClusterServiceVersion",
            hint="a folder next to the package manifest is a version; move other folders away",
        )
    if len(found) > 1:
        names = ", ".join(f"`{path}`" for path, _ in found)
        raise InputError(
            f"`{where}` has more than one ClusterServiceVersion: {names}",
            hint="keep one in the folder of each version",
        )
    value: Mapping[str, Any] = found[0][1]
    return value


def _scorecard(tree: Tree, where: str) -> str:
    """Return the file with the configuration of the scorecard; empty without one."""
    found = [
        path
        for path, document in _documents(tree, where)
        if document.value.get("kind") == _SCORECARD_KIND
        and str(document.value.get("apiVersion", "")).startswith(_SCORECARD_GROUP)
    ]
    if len(found) > 1:
        raise InputError(
            f"`{where}` has more than one configuration of the scorecard: "
            f"{', '.join(f'`{path}`' for path in found)}",
            hint="keep one in the folder of each version",
        )
    return found[0] if found else ""


def _documents(tree: Tree, where: str) -> Iterator[tuple[str, Document]]:
    """Yield the first document of each file that is a mapping, as catalogs read it."""
    budget = DocumentBudget(where)
    for path in tree:
        data = tree.data(path)
        if b"kind" not in data:
            continue
        try:
            document = budget.load(data, model.join(where, path))
        except DocumentLimitError:
            raise
        except InputError:
            continue  # `bundle validate` reports its errors
        if isinstance(document.value, Mapping):
            yield path, document
