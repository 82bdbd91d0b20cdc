"""Read a folder of package manifests like the tools that build catalogs.

Source: `initializer` of operator-registry. Each folder with a ClusterServiceVersion is a version;
the package manifest names the newest version of each channel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from olmkit.base.diagnostics import Diagnostic, InputError
from olmkit.base.tree import Tree
from olmkit.bundle import model, package_bundles, package_manifest
from olmkit.catalog.bundles import first_document, source_bundle
from olmkit.catalog.bundles.source_bundle import SourceBundle


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestPackage:
    """A package: its versions, and the newest bundle of each channel."""

    package: str
    default_channel: str
    heads: Mapping[str, str]
    sources: tuple[SourceBundle, ...]


def read(tree: Tree, root: str) -> ManifestPackage:
    """Return the package in a folder; `root` is its name in messages.

    Raises `InputError` if it is not a folder of package manifests, and for a version that no
    catalog can have.
    """
    bundles = package_bundles.bundles(tree, root)
    manifest = package_manifest.find(tree, root)
    assert manifest is not None  # noqa: S101 - `package_bundles` refuses a folder without one
    names = {bundle.csv for bundle in bundles}
    heads: dict[str, str] = {}
    for channel in manifest.channels:
        at = manifest.document.at("channels", channel.place)
        if not channel.name:
            raise InputError(f"{at}: a channel has no name", hint="set its `name`")
        if channel.name in heads:
            raise InputError(
                f"{at}: the channel `{channel.name}` is listed twice", hint="remove one of the two"
            )
        if channel.current_csv not in names:
            raise InputError(
                f"{manifest.document.at('channels', channel.place, 'currentCSV')}: no version has "
                f"the ClusterServiceVersion `{channel.current_csv}`",
                hint="correct `currentCSV`, or add the folder of the version",
            )
        heads[channel.name] = channel.current_csv
    default_channel = package_bundles.default_channel(manifest)
    if default_channel not in heads:
        raise InputError(
            f"{manifest.document.at('defaultChannel')}: the package has no channel "
            f"`{default_channel}`",
            hint="name one of its channels as `defaultChannel`",
        )
    return ManifestPackage(
        package=manifest.name,
        default_channel=default_channel,
        heads=heads,
        sources=tuple(_source(bundle.files, root, bundle.version_folder) for bundle in bundles),
    )


def _source(files: Tree, root: str, folder: str) -> SourceBundle:
    where = model.join(root, folder)
    with _places(where):
        source = source_bundle.read(files.under(package_bundles.FOLDER), where)
    path = source.csv.path.removeprefix(f"{where}/")
    data = files.data(f"{package_bundles.FOLDER}/{path}")
    return replace(
        source,
        csv=first_document.read(data, _own_path(source.csv.path, where)),
        notes=tuple(_relocate(note, where) for note in source.notes),
    )


@contextmanager
def _places(where: str) -> Iterator[None]:
    """Convert findings about `manifests/` of the bundle to ones about the folder of the version."""
    try:
        yield
    except InputError as error:
        error.diagnostics = tuple(_relocate(one, where) for one in error.diagnostics)
        raise


def _relocate(found: Diagnostic, where: str) -> Diagnostic:
    if found.at is None:
        return found
    return found._replace(at=found.at._replace(path=_own_path(found.at.path, where)))


def _own_path(path: str, where: str) -> str:
    """Return the path of a file in the folder of a version, which has no `manifests/`."""
    prefix = f"{where}/{source_bundle.MANIFESTS}"
    return where + path.removeprefix(prefix) if path.startswith(prefix) else path
