"""Building and pushing the images of bundles and catalogs.

A build always leaves the image in an OCI layout, and pushes it on request. A
push takes an image from any source. Both return the pinned reference: the
name by which exactly this image is found again.
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
    """Where a build goes. `created` is the time of everything in the image, in Unix seconds.

    Without `platforms`, an image with data only is for all that OLM runs on, and one that
    runs is for this machine's. `labels` are added to those of the image.
    """

    target: str = ""
    push: bool = False
    platforms: Sequence[Platform] = ()
    created: int = 0
    project: Path = Path()
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """An image that is where it was wanted. `layout` is the name of its local copy."""

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
    """Build the image of the catalog in `folder`, which must be one; `opm_cache` adds that."""
    image, tag = _catalog_image(options.project / folder, options, opm_cache=opm_cache)
    return await publish(image, tag, options, access, report)


async def push_bundle(
    source: str, target: str, access: Access, report: Report = silent, *, project: Path = Path()
) -> Published:
    """Push the image of a bundle; without `source`, the one that was built last in the project."""
    return await _push(source, target, access, report, project, _BUNDLE)


async def push_catalog(
    source: str, target: str, access: Access, report: Report = silent, *, project: Path = Path()
) -> Published:
    """Push the image of a catalog; without `source`, the one that was built in the project."""
    return await _push(source, target, access, report, project, _CATALOG)


async def push_image(
    source: str, target: str, access: Access, report: Report = silent, *, project: Path = Path()
) -> Published:
    """Push any image; without `source`, the operator's that was built last in the project."""
    return await _push(source, target, access, report, project, _OPERATOR)


@dataclass(frozen=True, slots=True)
class _Noun:
    """A kind of image: the label that all of them have, and how a folder becomes one.

    Without a label it is any image that runs, which is what is neither of the others.
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
    """Where a build is to go; `ConfigurationError`, before any work, when it cannot go there."""
    wanted = references.parse_image(options.target) if options.target else None
    if options.push and not isinstance(wanted, Reference):
        raise ConfigurationError(
            "there is no registry to push to",
            hint="pass the name of the image with `-t registry/repository:tag`",
        )
    if isinstance(wanted, Reference | LayoutReference) and wanted.digest is not None:
        raise _pinned_target(str(wanted))
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
    """Leave what was built in its layout, and push it on request.

    `tag` is its name in the layout when `options` has none; `base` holds the layers that
    are not in memory; several builds may share the connections of one `web`.
    """
    if options.labels:
        image = images.label_all(image, options.labels)
    memory = MemoryStore.of(image, base)
    root = image.descriptor
    wanted = check(options)
    layout = _layout_for(wanted, tag, options)
    steps: list[TransferStep] = []
    await _send(memory, root, layout, access, silent, steps)
    reference = transports.pinned(layout, root)
    if wanted is not None and (options.push or not isinstance(wanted, Reference | LayoutReference)):
        steps.clear()
        try:
            root = await _send(memory, root, wanted, access, report, steps, web=web)
        except RemoteError as error:
            built = f"the image is built, and is in `{layout}`"
            error.hint = f"{error.hint}; {built}" if error.hint else built
            raise
        reference = transports.pinned(wanted, root)
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
    origin = transports.parse(source) if source else await _built(project, access, noun, target)
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
        return _pushed(wanted, root, steps)
    async with transports.open_store(origin, access) as store:
        root = await store.resolve(transports.selector(origin))
        found = await transports.look_at(store, root, access)
        if noun.label and not noun.fits(found.config.labels):
            raise InputError(
                f"`{origin}` is not a {noun.word} image: it has no label `{noun.label}`",
                hint=f"pass another image, or build one with `{noun.command}`",
            )
        root = await _send(store, root, wanted, access, report, steps)
    return _pushed(wanted, root, steps)


def _pushed(wanted: ImageReference, root: Descriptor, steps: list[TransferStep]) -> Published:
    return Published(
        reference=transports.pinned(wanted, root),
        digest=str(root.digest),
        tag=str(wanted),
        steps=tuple(steps),
    )


async def _send(
    source: ImageStore,
    root: Descriptor,
    wanted: ImageReference,
    access: Access,
    report: Report,
    steps: list[TransferStep],
    *,
    web: Web | None = None,
) -> Descriptor:
    def noted(step: TransferStep) -> None:
        steps.append(step)
        report(step)

    return await targets.send(source, root, wanted, access, noted, web=web)


def _layout_for(
    wanted: ImageReference | None, tag: str, options: PublishOptions
) -> LayoutReference:
    folder = str(options.project / DEFAULT_LAYOUT)
    match wanted:
        case LayoutReference():
            return LayoutReference(wanted.folder, wanted.tag or tag)
        case Reference():
            return LayoutReference(folder, str(wanted))
        case _:
            return LayoutReference(folder, tag)


def bundle_image(folder: str, options: PublishOptions) -> tuple[Image | MultiPlatformImage, str]:
    """The bundle in `folder` as an image, and how it is called by default: `PACKAGE:VERSION`."""
    # Here and below: what only carries images starts without the readers of YAML.
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
    """Return the cache of opm for the catalog in `tree`, which is valid."""
    from olmkit.jobs.catalog.serving import opm_cache

    return opm_cache.build(str(path), tree)


def catalog_files(path: Path) -> tuple[Tree, str]:
    """Return the files of a catalog, which must be one, and how its image is called by default."""
    from olmkit.catalog import image as catalog_image

    tree = _tree(path, "olmkit catalog add")
    return tree, catalog_image.default_tag(_packages(tree, str(path)))


def _tree(path: Path, maker: str) -> Tree:
    """The files of a folder; without files, the error names the command that creates them."""
    if not paths.exists(path):
        raise ConfigurationError(
            f"`{path}` does not exist", hint=f"name another folder; `{maker}` creates one"
        )
    return disk.read_tree(path)


def _packages(tree: Tree, shown: str) -> list[str]:
    """The packages of a catalog; `InputError` with findings for one that OLM would refuse."""
    from olmkit.jobs.catalog import catalogs as catalog_job

    packages = list(catalog_job.read(shown, tree=tree).packages)
    if not packages:
        raise InputError(
            f"`{shown}` is not a catalog: no file in it has an `olm.package` blob",
            hint="name the folder that `olmkit catalog render` wrote",
        )
    return packages


def containerfile(folder: str, options: PublishOptions) -> tuple[Path, str]:
    """The Containerfile of the bundle in `folder`, for an engine, and the image's usual name.

    Raises `ConfigurationError` when there is none next to the folder.
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
    """Next to the bundle's folder, or in it, as where each version has its own folder."""
    folder = paths.resolved(bundle)
    places = (folder.parent / _CONTAINERFILE, folder / _CONTAINERFILE)
    return next((path for path in places if paths.is_file(path)), None)


async def _built(project: Path, access: Access, noun: _Noun, target: str) -> LayoutReference:
    """The only image of this kind in the project's layout; of several, the one named `target`."""
    folder = project / DEFAULT_LAYOUT
    hint = f"build one first: `{noun.command}`"
    if not paths.is_file(folder / "index.json"):
        raise ConfigurationError(f"there is no image in `{folder}`", hint=hint)
    found: dict[str, LayoutReference] = {}
    origin = LayoutReference(str(folder))
    async with transports.open_store(origin, access) as store:
        for name in await store.tags():
            root = await store.resolve(name)
            image = await transports.look_at(store, root, access)
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
    """Return where to push; without words, the name under which the image was built."""
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
        raise _pinned_target(target)
    return wanted


def _pinned_target(target: str) -> ConfigurationError:
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
