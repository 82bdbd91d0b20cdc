"""Inspect and copy images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.images import targets, transports
from olmkit.edges.images.targets import Sent
from olmkit.edges.images.transfer import Report, TransferStep, silent
from olmkit.edges.images.transports import Access
from olmkit.oci import reference as references
from olmkit.oci import store as stores
from olmkit.oci.content import Descriptor, ImageManifest, Platform
from olmkit.oci.reference import LayoutReference, Reference
from olmkit.oci.referrers import Referrer


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerFacts:
    """A layer of an image: its digest, its media type and its size in bytes."""

    digest: str
    media_type: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFacts:
    """The metadata of an image; an index has more than one of `platforms`."""

    reference: str
    digest: str
    media_type: str
    platforms: tuple[str, ...]
    platform: str
    created: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    run: Mapping[str, object] = field(default_factory=dict)
    layers: tuple[LayerFacts, ...] = ()

    @property
    def size(self) -> int:
        return sum(layer.size for layer in self.layers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """A copied image, by its pinned reference."""

    reference: str
    digest: str
    steps: tuple[TransferStep, ...] = ()
    referrers: tuple[Referrer, ...] = ()


async def inspect(text: str, access: Access) -> ImageFacts:
    """Return the metadata of an image; for an index, that of the requested or host platform."""
    reference = references.parse_image(text)
    async with transports.open_store(reference, access) as store:
        root = await store.resolve(transports.selector(reference))
        image = await transports.select_image(store, root, access)
        platforms = await _platforms(store, root, image.config.platform)
    options = image.config.run_options
    created = image.config.value.get("created")
    return ImageFacts(
        reference=transports.pin(reference, root),
        digest=str(root.digest),
        media_type=root.media_type,
        platforms=platforms,
        platform=str(image.config.platform),
        created=created if isinstance(created, str) else "",
        labels=image.config.labels,
        annotations=image.manifest.annotations,
        run={key: value for key, value in options.items() if key != "Labels" and value},
        layers=tuple(
            LayerFacts(digest=str(layer.digest), media_type=layer.media_type, size=layer.size)
            for layer in image.manifest.layers
        ),
    )


async def copy(
    source: str,
    target: str,
    access: Access,
    report: Report = silent,
    *,
    target_access: Access | None = None,
    with_referrers: bool = True,
) -> Copied:
    """Copy an image with all its platforms, or only the one in `access`.

    `with_referrers`: also copy its signatures, attestations and SBOMs, if the target supports them:
    registries and layouts do. Raises `ConfigurationError` for a target with a digest, and
    `InputError` or `RemoteError` from source and target.
    """
    origin, wanted = references.parse_image(source), references.parse_image(target)
    if isinstance(wanted, Reference | LayoutReference) and wanted.digest is not None:
        raise ConfigurationError(
            f"`{target}` names an image by its digest, which only the content determines",
            hint="copy to a tag",
        )
    steps: list[TransferStep] = []

    def noted(step: TransferStep) -> None:
        steps.append(step)
        report(step)

    async with transports.open_store(origin, access) as store:
        root = await store.resolve(transports.selector(origin))
        if access.platform is not None:
            root = (await stores.pull(store, str(root.digest), access.platform)).descriptor
        reached = target_access or access
        if with_referrers:
            sent = await targets.send_with_referrers(store, root, wanted, reached, noted)
        else:
            sent = Sent(await targets.send(store, root, wanted, reached, noted))
    return Copied(
        reference=transports.pin(wanted, sent.root),
        digest=str(sent.root.digest),
        steps=tuple(steps),
        referrers=sent.referrers,
    )


async def _platforms(store: stores.ImageStore, root: Descriptor, only: Platform) -> tuple[str, ...]:
    manifest = await stores.read_manifest(store, root)
    if isinstance(manifest, ImageManifest):
        return (str(only),)
    return tuple(str(entry.platform) for entry in manifest.manifests if entry.platform)
