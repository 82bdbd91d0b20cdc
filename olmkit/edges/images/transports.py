"""Open user input: a reference becomes a store, an image becomes files.

For a string, jobs get an `ImageStore`, or the `Tree` of a bundle or a catalog with the labels and
the pinned reference of its image. A string is a folder if that folder exists, else a reference.
"""

from __future__ import annotations

import contextlib
import platform as machine
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from olmkit.base.diagnostics import InputError
from olmkit.base.streams import closing
from olmkit.base.tree import Tree
from olmkit.edges import disk, index_database
from olmkit.edges.images import docker_archive
from olmkit.edges.images.access_settings import Access as Access
from olmkit.edges.images.layout import Layout, open_archive
from olmkit.oci import reference as references
from olmkit.oci import store as stores
from olmkit.oci.content import Descriptor, Digest, MediaType, Platform
from olmkit.oci.files import LayeredFiles
from olmkit.oci.image import Image
from olmkit.oci.limits import MAX_PATH, Limits, ReadBudget
from olmkit.oci.reference import (
    AnyReference,
    ArchiveReference,
    DockerArchiveReference,
    EngineReference,
    FolderReference,
    ImageReference,
    LayoutReference,
    Reference,
)
from olmkit.oci.store import ImageStore

if TYPE_CHECKING:
    from olmkit.edges.network.web import Web, WebOptions
    from olmkit.oci.mirrors import MirrorPlace

PACKAGE_LABEL = "operators.operatorframework.io.bundle.package.v1"
MANIFESTS_LABEL = "operators.operatorframework.io.bundle.manifests.v1"
METADATA_LABEL = "operators.operatorframework.io.bundle.metadata.v1"
TESTS_LABEL = "operators.operatorframework.io.test.config.v1"
CONFIGS_LABEL = "operators.operatorframework.io.index.configs.v1"
DATABASE_LABEL = "operators.operatorframework.io.index.database.v1"

# Go's names of machines for which Python uses the names of the kernel.
_ARCHITECTURES = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "armv7l": "arm",
    "i686": "386",
    "i386": "386",
}
_DATABASE_LIMITS = Limits(file_size=index_database.MAX_DATABASE)
_MAX_RELOCATIONS = 8
# Images up to this compressed size stay in memory while they are unpacked.
_SPOOL = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFiles:
    """The files of an image or a folder.

    `pinned` is the reference of an image with its digest, empty for a folder; `labels` are the
    image's.
    """

    source: AnyReference
    tree: Tree = field(repr=False)
    pinned: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_bundle(self) -> bool:
        if isinstance(self.source, FolderReference):
            return any(path.startswith("manifests/") for path in self.tree) and any(
                path.startswith("metadata/") for path in self.tree
            )
        return PACKAGE_LABEL in self.labels

    @property
    def database(self) -> str:
        """Return the path of the index database in `tree`; empty if there is none."""
        if self.is_bundle or CONFIGS_LABEL in self.labels:
            return ""
        return _clean(self.labels.get(DATABASE_LABEL, ""))


class Connections:
    """The shared HTTP client for several images, created on first use.

    An asynchronous context manager. Several images then share a connection to a registry; with TLS,
    each connection costs as much as a small pull.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self._web: Web | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        if self._web is not None:
            await self._web.__aexit__(None, None, None)

    def web(self) -> Web:
        """Return the client."""
        if self._web is None:
            from olmkit.edges.network.web import Web

            self._web = Web(web_options(self._access))
        return self._web


def parse(text: str) -> AnyReference:
    """Parse `text` as an existing folder, or as a reference."""
    with contextlib.suppress(OSError, ValueError):
        if text and Path(text).is_dir():
            return FolderReference(text)
    return references.parse_source(text)


def own_platform() -> Platform:
    """Return Linux on this machine's processor, like OLM's nodes."""
    name = machine.machine().lower()
    return Platform(os="linux", architecture=_ARCHITECTURES.get(name, name))


@contextlib.asynccontextmanager
async def open_store(
    reference: ImageReference, access: Access, *, web: Web | None = None, write: bool = False
) -> AsyncIterator[ImageStore]:
    """Open the store of `reference`, with `write` for writing; several calls may share one `web`.

    Reads from a registry may use its mirrors.
    """
    match reference:
        case LayoutReference():
            yield Layout(local_path(reference.folder))
        case ArchiveReference():
            yield open_archive(local_path(reference.file))
        case DockerArchiveReference():
            yield docker_archive.open_archive(local_path(reference.file))
        case EngineReference():
            from olmkit.edges.images import docker_engine

            async with docker_engine.open_image(reference.name) as store:
                yield store
        case Reference():
            async with _open_registry(reference, access, web, write=write) as store:
                yield store


@contextlib.asynccontextmanager
async def _open_registry(
    reference: Reference, access: Access, web: Web | None, *, write: bool
) -> AsyncIterator[ImageStore]:
    """Open the registry of `reference`, or its mirrors in `registries.conf`."""
    from olmkit.edges.images.registries import mirrors
    from olmkit.edges.network.web import Web

    rules = mirrors.read(access.environment)
    places: Sequence[MirrorPlace] = ()
    if rules is not None:
        access.report(rules.findings)
        places = (rules.target(reference),) if write else rules.sources(reference)
    async with contextlib.AsyncExitStack() as stack:
        if web is None:
            web = await stack.enter_async_context(Web(web_options(access)))
        if not places or (len(places) == 1 and places[0].reference == reference):
            insecure = any(place.insecure for place in places)
            yield await _registry(reference, access, web, stack, insecure=insecure)
            return
        stores = [
            await _registry(place.reference, access, web, stack, insecure=place.insecure)
            for place in places
        ]
        yield mirrors.MirroredStore(stores, str(reference)) if len(stores) > 1 else stores[0]


async def _registry(
    reference: Reference,
    access: Access,
    web: Web,
    stack: contextlib.AsyncExitStack,
    *,
    insecure: bool,
) -> ImageStore:
    from olmkit.edges.images.registries import credentials
    from olmkit.edges.images.registries.client import RegistryStore

    found = await credentials.find(
        reference.name, environment=access.environment, authfile=access.authfile
    )
    if insecure:
        options = replace(web_options(access), skip_tls_verify=True)
        web = await stack.enter_async_context(type(web)(options))
    return RegistryStore(web, reference, credentials=found, insecure=insecure)


def web_options(access: Access) -> WebOptions:
    """Return the part of `access` that any HTTP client needs."""
    from olmkit.edges.network.web import WebOptions

    return WebOptions(
        plain_http=access.plain_http,
        ca_file=access.ca_file,
        skip_tls_verify=access.skip_tls_verify,
        environment=access.environment,
        option_prefix=access.option_prefix,
    )


def selector(reference: ImageReference) -> str:
    """Return the tag or digest to look up in the store; empty for its only image."""
    match reference:
        case Reference():
            return reference.selector
        case LayoutReference() | ArchiveReference():
            return str(reference.digest) if reference.digest else reference.tag or ""
        case DockerArchiveReference():
            return str(reference.name or "")
        case EngineReference():
            return ""  # its store has the single requested image


def pin(reference: ImageReference, descriptor: Descriptor) -> str:
    """Return `reference` with the digest, in a form that users can type."""
    match reference:
        case Reference() | LayoutReference() | ArchiveReference():
            return str(reference.pinned(descriptor.digest))
        case DockerArchiveReference() | EngineReference():
            return str(reference)


async def read_bundle_tree(text: str, access: Access) -> ImageFiles:
    """Return the files of a bundle: from its folder, or from an image with a bundle's labels."""
    source = parse(text)
    if isinstance(source, FolderReference):
        return ImageFiles(source=source, tree=disk.read_tree(local_path(source.folder)))
    return await _read_image(source, access, _bundle_folders)


async def read_catalog_tree(text: str, access: Access) -> ImageFiles:
    """Return the files of a catalog, relative to its folder in the image.

    An index database becomes the file of its catalog.
    """
    source = parse(text)
    if isinstance(source, FolderReference):
        return ImageFiles(source=source, tree=disk.read_tree(local_path(source.folder)))
    found = _catalog_part(await _read_image(source, access, _catalog_folders))
    if not found.database:
        return found
    data = found.tree.data(found.database)
    return replace(found, tree=index_database.catalog_tree(data, text))


async def read_tree(
    text: str, access: Access, connections: Connections | None = None
) -> ImageFiles:
    """Return the files of a bundle or a catalog.

    `ImageFiles.is_bundle` distinguishes them; `ImageFiles.database` is a catalog in a database.
    """
    source = parse(text)
    if isinstance(source, FolderReference):
        return ImageFiles(source=source, tree=disk.read_tree(local_path(source.folder)))
    found = await _read_image(source, access, _any_folders, connections)
    return found if found.is_bundle else _catalog_part(found)


def _catalog_part(found: ImageFiles) -> ImageFiles:
    """Return the files in a catalog image's folder, or raise `InputError`."""
    if found.database:
        if found.database not in found.tree:
            raise InputError(
                f"`{found.source}` has no file `{found.database}`, "
                f"the index database that its label `{DATABASE_LABEL}` names"
            )
        return found
    folder = found.labels.get(CONFIGS_LABEL, "")
    tree = found.tree.under(_clean(folder))
    if not tree:
        raise InputError(
            f"`{found.source}` has no files in `{folder}`, "
            f"the folder that its label `{CONFIGS_LABEL}` names",
            hint="build the image again from a folder with the catalog, "
            "for example with `olmkit catalog build`",
        )
    return replace(found, tree=tree)


async def _read_image(
    reference: ImageReference,
    access: Access,
    folders: Callable[[Mapping[str, str], ImageReference], Sequence[str]],
    connections: Connections | None = None,
) -> ImageFiles:
    web = None
    if connections is not None and isinstance(reference, Reference):
        web = connections.web()
    async with open_store(reference, access, web=web) as store:
        root = await store.resolve(selector(reference))
        image = await select_image(store, root, access)
        labels = image.config.labels
        wanted = [_clean(folder) for folder in folders(labels, reference)]
        limits = _DATABASE_LIMITS if DATABASE_LABEL in labels else None
        tree = await unpack(store, image, wanted, limits)
    return ImageFiles(source=reference, tree=tree, pinned=pin(reference, root), labels=labels)


async def select_image(store: ImageStore, root: Descriptor, access: Access) -> Image:
    """Return the image to read: bundles and catalogs are equal on all platforms."""
    return await stores.pull(
        store,
        str(root.digest),
        access.platform or own_platform(),
        any_platform=access.platform is None,
    )


def _describe_layer(layer: Descriptor) -> str:
    """Return the name of a layer in messages, with its media type if it is unusual."""
    known = layer.media_type in set(MediaType) or layer.is_external
    return f"layer {layer.digest}" + ("" if known else f" of media type `{layer.media_type}`")


async def unpack(
    store: ImageStore, image: Image, folders: Sequence[str] = ("",), limits: Limits | None = None
) -> Tree:
    """Return the files of `image` below `folders`, with the requested names.

    Raises `InputError` if it exceeds `limits`, which apply to the whole image, and if a layer is
    not the one that the image config names (`rootfs.diff_ids`, OCI image specification). A config
    without any, as some artifacts have, is accepted.
    """
    kept = tuple(folders)
    also: frozenset[str] = frozenset()
    diff_ids: Sequence[Digest | None] = image.config.diff_ids
    count = len(image.manifest.layers)
    if diff_ids and len(diff_ids) != count:
        raise InputError(
            f"the image has {count} layers, and its config names {len(diff_ids)} "
            "(`rootfs.diff_ids`)",
            hint="build the image again: container engines refuse it",
        )
    diff_ids = diff_ids or [None] * count
    budget = ReadBudget(limits)
    size = sum(layer.size for layer in image.manifest.layers)
    if size > budget.limits.stored_size:
        raise InputError(
            f"the layers of the image are {size / 1e9:.1f} GB; the limit is "
            f"{budget.limits.stored_size / 1e9:.1f} GB"
        )
    await stores.require_layers(store, image)
    # Zero means no limit for data in memory, hence one byte.
    spool_size = _SPOOL if size <= _SPOOL else 1
    async with contextlib.AsyncExitStack() as stack:
        layers = []
        for layer in image.manifest.layers:
            spool = stack.enter_context(
                tempfile.SpooledTemporaryFile(max_size=spool_size)  # noqa: SIM115
            )
            async with closing(stores.fetch_checked(store, layer)) as chunks:
                async for chunk in chunks:
                    spool.write(chunk)
            layers.append((layer, spool))
        for _ in range(_MAX_RELOCATIONS):
            files = LayeredFiles(kept, budget=budget, also=also)
            for (layer, spool), diff_id in zip(layers, diff_ids, strict=True):
                spool.seek(0)
                files.add(spool, _describe_layer(layer), diff_id)  # type: ignore[arg-type]
            diff_ids = [None] * count  # compared once
            elsewhere, linked = files.elsewhere(), files.linked()
            if not elsewhere and not linked:
                tree = Tree()
                for folder in folders:
                    tree = tree.merge(files.at(folder))
                return tree
            kept, also = (*kept, *elsewhere), also | linked
    raise InputError("the image's folders form an endless chain of links")


def _bundle_folders(labels: Mapping[str, str], reference: ImageReference) -> Sequence[str]:
    if PACKAGE_LABEL not in labels:
        raise _no_kind(reference, labels, "bundle", PACKAGE_LABEL)
    return _bundle_parts(labels)


def _catalog_folders(labels: Mapping[str, str], reference: ImageReference) -> Sequence[str]:
    if CONFIGS_LABEL in labels:
        return (labels[CONFIGS_LABEL],)
    if DATABASE_LABEL in labels:
        return (labels[DATABASE_LABEL],)
    raise _no_kind(reference, labels, "catalog", CONFIGS_LABEL)


def _any_folders(labels: Mapping[str, str], reference: ImageReference) -> Sequence[str]:
    if PACKAGE_LABEL in labels and CONFIGS_LABEL not in labels:
        return _bundle_parts(labels)
    return _catalog_folders(labels, reference)


def _bundle_parts(labels: Mapping[str, str]) -> Sequence[str]:
    named = (labels.get(key, "") for key in (MANIFESTS_LABEL, METADATA_LABEL, TESTS_LABEL))
    return tuple(dict.fromkeys(["manifests", "metadata", "tests", *filter(None, named)]))


def _no_kind(
    reference: ImageReference, labels: Mapping[str, str], noun: str, key: str
) -> InputError:
    return InputError(
        f"`{reference}` is not a {noun} image: it has no label `{key}`",
        hint=f"its labels are {', '.join(f'`{name}`' for name in sorted(labels))}"
        if labels
        else "it has no labels",
    )


def _clean(folder: str) -> str:
    if len(folder) > MAX_PATH:
        raise InputError(
            f"the label's folder has {len(folder)} characters; Linux allows {MAX_PATH}"
        )
    parts = [part for part in folder.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise InputError(f"the label's folder `{folder}` leaves the image")
    return "/".join(parts)


def local_path(text: str) -> Path:
    """Return a path as typed by the user, with `~` for the home folder."""
    return Path(text).expanduser()
