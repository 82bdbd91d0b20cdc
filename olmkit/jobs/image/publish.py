"""Build and push the images of bundles and catalogs.

A build always writes the image to an OCI layout, and pushes it on request. A push takes an image
from any source. Both return the pinned reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from olmkit.base.diagnostics import ConfigurationError, InputError, RemoteError
from olmkit.base.tree import Tree
from olmkit.edges import disk, paths
from olmkit.edges.images import targets, transports
from olmkit.edges.images.transfer import Report, TransferStep, silent
from olmkit.edges.images.transports import Access
from olmkit.oci import image as images
from olmkit.oci import reference as references
from olmkit.oci.content import Descriptor, Platform
from olmkit.oci.image import OLM_PLATFORMS, Image, MultiPlatformImage
from olmkit.oci.reference import (
    AnyReference,
    FolderReference,
    ImageReference,
    LayoutReference,
    Reference,
)
from olmkit.oci.store import ImageStore, MemoryStore

if TYPE_CHECKING:
    from olmkit.edges.network.web import Web

DEFAULT_LAYOUT = "dist/oci"
_CONTAINERFILE = "bundle.Dockerfile"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishOptions:
    """The target of a build. `created` is the time of all files in the image, in Unix seconds.

    Without `platforms`, an image with data only is built for all platforms of OLM, and one that
    runs is built for the platform of this machine. `labels` are added to those of the image.
    """

    target: str = ""
    push: bool = False
    platforms: Sequence[Platform] = ()
    created: int = 0
    project: Path = Path()
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A published image. `layout` is the reference of its local copy."""

    reference: str
    digest: str
    tag: str = ""
    layout: str = ""
    platforms: tuple[str, ...] = ()
    steps: tuple[TransferStep, ...] = field(default=(), repr=False)


async def build_bundle(
    folder: str, options: PublishOptions, access: Access, report: Report = silent
) -> Published:
    """Build the image of the bundle in `folder`."""
    image, tag = bundle_image(folder, options)
    return await publish(image, tag, options, access, report)


async def build_catalog(
    folder: str,
    options: PublishOptions,
    access: Access,
    report: Report = silent,
    *,
    opm_cache: bool = False,
) -> Published:
    """Build the image of the catalog in `folder`; `opm_cache` adds the cache of opm."""
    image, tag = _catalog_image(options.project / folder, options, opm_cache=opm_cache)
    return await publish(image, tag, options, access, report)


async def push_bundle(
    source: str, target: str, access: Access, report: Report = silent, *, project: Path = Path()
) -> Published:
    """Push the image of a bundle; without `source`, the one that the project built last."""
    return await _push(source, target, access, report, project, _BUNDLE)


async def push_catalog(
    source: str, target: str, access: Access, report: Report = silent, *, project: Path = Path()
) -> Published:
    """Push the image of a catalog; without `source`, the one that the project built."""
    return await _push(source, target, access, report, project, _CATALOG)


async def push_image(
    source: str, target: str, access: Access, report: Report = silent, *, project: Path = Path()
) -> Published:
    """Push any image; without `source`, the operator image that the project built last."""
    return await _push(source, target, access, report, project, _OPERATOR)


@dataclass(frozen=True, slots=True)
class _Noun:
    """A kind of image: its label, and how to build it from a folder.

    Without a label it is any other image, which runs.
    """

    word: str
    label: str = ""
    build: Callable[[str], Image | MultiPlatformImage] | None = None
    command: str = ""

    def fits(self, labels: Mapping[str, str]) -> bool:
        if self.label:
            return self.label in labels
        return not {transports.PACKAGE_LABEL, transports.CONFIGS_LABEL} & set(labels)


def check(options: PublishOptions) -> ImageReference | None:
    """Return the target of a build, or raise `ConfigurationError` before any work."""
    wanted = references.parse_image(options.target) if options.target else None
    if options.push and not isinstance(wanted, Reference):
        raise ConfigurationError(
            "there is no registry to push to",
            hint="pass the name of the image with `-t registry/repository:tag`",
        )
    if isinstance(wanted, Reference | LayoutReference) and wanted.digest is not None:
        raise _pinned_target_error(str(wanted))
    return wanted


async def publish(
    image: Image | MultiPlatformImage,
    tag: str,
    options: PublishOptions,
    access: Access,
    report: Report = silent,
    *,
    base: ImageStore | None = None,
    web: Web | None = None,
) -> Published:
    """Write an image to its layout, and push it on request.

    `tag` is its name in the layout if `options` has none; `base` is the store of layers that are
    not in memory; several builds may share the connections of one `web`.
    """
    if options.labels:
        image = images.label_all(image, options.labels)
    memory = MemoryStore.of(image, base)
    root = image.descriptor
    wanted = check(options)
    layout = _layout_for(wanted, tag, options)
    steps: list[TransferStep] = []
    await _send(memory, root, layout, access, silent, steps)
    reference = transports.pin(layout, root)
    if wanted is not None and (options.push or not isinstance(wanted, Reference | LayoutReference)):
        steps.clear()
        try:
            root = await _send(memory, root, wanted, access, report, steps, web=web)
        except RemoteError as error:
            built = f"the image is built, and is in `{layout}`"
            error.hint = f"{error.hint}; {built}" if error.hint else built
            raise
        reference = transports.pin(wanted, root)
    return Published(
        reference=reference,
        digest=str(root.digest),
        tag=str(wanted or layout),
        layout=str(layout),
        platforms=_platforms(image),
        steps=tuple(steps),
    )


async def _push(
    source: str, target: str, access: Access, report: Report, project: Path, noun: _Noun
) -> Published:
    origin = (
        transports.parse(source)
        if source
        else await _find_built_image(project, access, noun, target)
    )
    wanted = _target(target, origin)
    steps: list[TransferStep] = []
    if isinstance(origin, FolderReference):
        if noun.build is None:
            raise ConfigurationError(
                f"`{origin}` is a folder, not an image",
                hint=f"build one with `{noun.command}`, or pass a layout: `oci:{origin}`",
            )
        image = noun.build(origin.folder)
        root = image.descriptor
        root = await _send(MemoryStore.of(image), root, wanted, access, report, steps)
        return _describe_push(wanted, root, steps)
    async with transports.open_store(origin, access) as store:
        root = await store.resolve(transports.selector(origin))
        found = await transports.select_image(store, root, access)
        if noun.label and not noun.fits(found.config.labels):
            raise InputError(
                f"`{origin}` is not a {noun.word} image: it has no label `{noun.label}`",
                hint=f"pass another image, or build one with `{noun.command}`",
            )
        root = await _send(store, root, wanted, access, report, steps)
    return _describe_push(wanted, root, steps)


def _describe_push(
    requested: ImageReference, root: Descriptor, steps: list[TransferStep]
) -> Published:
    return Published(
        reference=transports.pin(requested, root),
        digest=str(root.digest),
        tag=str(requested),
        steps=tuple(steps),
    )


async def _send(
    source: ImageStore,
    root: Descriptor,
    requested: ImageReference,
    access: Access,
    report: Report,
    steps: list[TransferStep],
    *,
    web: Web | None = None,
) -> Descriptor:
    def noted(step: TransferStep) -> None:
        steps.append(step)
        report(step)

    return await targets.send(source, root, requested, access, noted, web=web)


def _layout_for(
    requested: ImageReference | None, tag: str, options: PublishOptions
) -> LayoutReference:
    folder = str(options.project / DEFAULT_LAYOUT)
    match requested:
        case LayoutReference():
            return LayoutReference(requested.folder, requested.tag or tag)
        case Reference():
            return LayoutReference(folder, str(requested))
        case _:
            return LayoutReference(folder, tag)


def bundle_image(folder: str, options: PublishOptions) -> tuple[Image | MultiPlatformImage, str]:
    """Return the image of the bundle in `folder`, and its default name `PACKAGE:VERSION`."""
    # Imported here and below: commands that only copy images need no YAML.
    from olmkit.bundle import image as bundle_images
    from olmkit.bundle import layout as bundle_layout

    path = options.project / folder
    bundle = bundle_layout.read(_tree(path, "olmkit bundle generate"), folder)
    image = bundle_images.image(
        bundle,
        containerfile=_containerfile(path),
        platforms=options.platforms or OLM_PLATFORMS,
        created=options.created,
    )
    return image, bundle_images.default_tag(bundle)


def _catalog_image(
    path: Path, options: PublishOptions, *, opm_cache: bool = False
) -> tuple[Image | MultiPlatformImage, str]:
    from olmkit.catalog import image as catalog_image

    tree, tag = catalog_files(path)
    cache = catalog_cache(path, tree) if opm_cache else None
    platforms = options.platforms or OLM_PLATFORMS
    image = catalog_image.image(tree, cache=cache, platforms=platforms, created=options.created)
    return image, tag


def catalog_cache(path: Path, tree: Tree) -> Tree:
    """Return the cache of opm for the valid catalog in `tree`."""
    from olmkit.jobs.catalog.serving import opm_cache

    return opm_cache.build(str(path), tree)


def catalog_files(path: Path) -> tuple[Tree, str]:
    """Return the files of a catalog, and the default name of its image."""
    from olmkit.catalog import image as catalog_image

    tree = _tree(path, "olmkit catalog add")
    return tree, catalog_image.default_tag(_packages(tree, str(path)))


def _tree(path: Path, maker: str) -> Tree:
    """Return the files of a folder, or raise an error with the command that creates them."""
    if not paths.exists(path):
        raise ConfigurationError(
            f"`{path}` does not exist", hint=f"name another folder; `{maker}` creates one"
        )
    return disk.read_tree(path)


def _packages(tree: Tree, shown: str) -> list[str]:
    """Return the packages of a catalog, or raise `InputError` with findings."""
    from olmkit.jobs.catalog import catalogs as catalog_job

    packages = list(catalog_job.read(shown, tree=tree).packages)
    if not packages:
        raise InputError(
            f"`{shown}` is not a catalog: no file in it has an `olm.package` blob",
            hint="name the folder that `olmkit catalog render` wrote",
        )
    return packages


def containerfile(folder: str, options: PublishOptions) -> tuple[Path, str]:
    """Return the Containerfile of the bundle in `folder`, and the default image name.

    Raises `ConfigurationError` if there is none next to the folder.
    """
    _, tag = bundle_image(folder, options)
    found = _find_containerfile(options.project / folder)
    if found is None:
        raise ConfigurationError(
            f"there is no `{_CONTAINERFILE}` next to `{folder}`",
            hint="run `olmkit bundle generate` to write it, or build without an engine",
        )
    return found, tag


def _containerfile(bundle: Path) -> bytes:
    found = _find_containerfile(bundle)
    return b"" if found is None else disk.read_file(found)


def _find_containerfile(bundle: Path) -> Path | None:
    """Find the Containerfile next to the bundle's folder, or in it."""
    folder = paths.resolve(bundle)
    places = (folder.parent / _CONTAINERFILE, folder / _CONTAINERFILE)
    return next((path for path in places if paths.is_file(path)), None)


async def _find_built_image(
    project: Path, access: Access, noun: _Noun, target: str
) -> LayoutReference:
    """Return the image of this kind in the project's layout, or the one named `target`."""
    folder = project / DEFAULT_LAYOUT
    hint = f"build one first: `{noun.command}`"
    if not paths.is_file(folder / "index.json"):
        raise ConfigurationError(f"there is no image in `{folder}`", hint=hint)
    found: dict[str, LayoutReference] = {}
    origin = LayoutReference(str(folder))
    async with transports.open_store(origin, access) as store:
        for name in await store.tags():
            root = await store.resolve(name)
            image = await transports.select_image(store, root, access)
            if noun.fits(image.config.labels):
                found[name] = LayoutReference(str(folder), name)
    if not found:
        raise ConfigurationError(f"there is no {noun.word} image in `{folder}`", hint=hint)
    if len(found) > 1 and target in found:
        return found[target]
    if len(found) > 1:
        names = ", ".join(f"`{reference}`" for reference in found.values())
        raise ConfigurationError(
            f"there are several {noun.word} images in `{folder}`", hint=f"name one of {names}"
        )
    return next(iter(found.values()))


def _target(target: str, origin: AnyReference) -> ImageReference:
    """Return the push target; the default is the name of the built image."""
    if not target:
        name = origin.tag if isinstance(origin, LayoutReference) else None
        try:
            found = references.parse_image(name or "")
        except ConfigurationError:
            raise ConfigurationError(
                "there is no registry to push to",
                hint="name it: `registry/repository:tag`",
            ) from None
        return found
    wanted = references.parse_image(target)
    if isinstance(wanted, Reference | LayoutReference) and wanted.digest is not None:
        raise _pinned_target_error(target)
    return wanted


def _pinned_target_error(target: str) -> ConfigurationError:
    return ConfigurationError(
        f"`{target}` names an image by its digest, which only the content determines",
        hint="push to a tag: `registry/repository:tag`",
    )


def _platforms(image: Image | MultiPlatformImage) -> tuple[str, ...]:
    parts = image.images if isinstance(image, MultiPlatformImage) else (image,)
    return tuple(str(part.config.platform) for part in parts)


_BUNDLE = _Noun(
    "bundle",
    transports.PACKAGE_LABEL,
    lambda folder: bundle_image(folder, PublishOptions())[0],
    "olmkit bundle build",
)
_CATALOG = _Noun(
    "catalog",
    transports.CONFIGS_LABEL,
    lambda folder: _catalog_image(Path(folder), PublishOptions())[0],
    "olmkit catalog build",
)
_OPERATOR = _Noun("operator", command="olmkit image build")
