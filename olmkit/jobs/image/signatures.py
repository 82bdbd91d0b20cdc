"""Sign images and verify their signatures with a key pair, without a network service."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from olmkit.base.diagnostics import ConfigurationError, InputError, OlmkitError
from olmkit.edges.images import transfer, transports
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.signing_keys import PrivateKey, PublicKey
from olmkit.oci import reference as references
from olmkit.oci import referrers, signatures
from olmkit.oci import store as stores
from olmkit.oci.content import Descriptor, Digest, ImageManifest
from olmkit.oci.reference import LayoutReference, Reference
from olmkit.oci.referrers import Referring, ReferringStore
from olmkit.oci.signatures import SignedText
from olmkit.oci.store import ImageStore, MemoryStore

_AT_ONCE: Final = 4  # concurrent images


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedImage:
    """A signed image; `signature` is the tag, and `is_new` is False if it was already signed."""

    reference: str
    digest: str
    signature: str
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedImage:
    """An image with its valid signatures; without any, `reason` says why."""

    reference: str
    digest: str = ""
    annotations: tuple[Mapping[str, str], ...] = ()
    reason: str = ""
    error: OlmkitError | None = None

    @property
    def is_valid(self) -> bool:
        return bool(self.annotations)


async def sign(
    text: str, key: PrivateKey, access: Access, *, annotations: Mapping[str, str] | None = None
) -> SignedImage:
    """Sign an image in a registry or a layout, and store the signature next to it.

    An image that this key already signed with the same annotations is not changed. Raises
    `ConfigurationError` for a target that cannot store signatures, and `RemoteError` from the
    registry.
    """
    reference = references.parse_image(text)
    if not isinstance(reference, Reference | LayoutReference):
        raise ConfigurationError(
            f"`{text}` cannot hold a signature", hint="sign an image in a registry or a layout"
        )
    async with transports.open_store(reference, access, write=True) as store:
        if not isinstance(store, Referring):
            raise ConfigurationError(f"`{text}` cannot hold a signature")
        root = await store.resolve(transports.selector(reference))
        name = reference.name if isinstance(reference, Reference) else _layout_name(reference)
        payload = signatures.payload(name, root.digest, annotations or {})
        tag = referrers.cosign_tag(root.digest, referrers.SIGNATURE)
        found = await _signature_manifest(store, tag)
        is_new = not _has(found, payload, key.public)
        if is_new:
            await _add(store, tag, found, payload, key.sign(payload))
    return SignedImage(
        reference=transports.pin(reference, root),
        digest=str(root.digest),
        signature=tag,
        is_new=is_new,
    )


async def verify(
    texts: Sequence[str],
    keys: Sequence[PublicKey],
    access: Access,
    *,
    annotations: Mapping[str, str] | None = None,
) -> tuple[VerifiedImage, ...]:
    """Check that each image has a signature by one of `keys`; results in the order of `texts`."""
    limit = asyncio.Semaphore(_AT_ONCE)
    found: dict[int, VerifiedImage] = {}

    async def one(index: int, text: str) -> None:
        async with limit:
            try:
                found[index] = await _verify(text, keys, access, annotations or {})
            except OlmkitError as error:
                found[index] = VerifiedImage(reference=text, reason=error.message, error=error)

    await transfer.run_all(one(index, text) for index, text in enumerate(texts))
    return tuple(found[index] for index in range(len(texts)))


async def _verify(
    text: str, keys: Sequence[PublicKey], access: Access, annotations: Mapping[str, str]
) -> VerifiedImage:
    reference = references.parse_image(text)
    async with transports.open_store(reference, access) as store:
        root = await store.resolve(transports.selector(reference))
        texts, malformed = await _read_signatures(store, root.digest)
    valid = [one for one in texts if any(key.verifies(one.signature, one.signed) for key in keys)]
    fitting = [one for one in valid if one.claims.fits(root.digest, annotations)]
    return VerifiedImage(
        reference=transports.pin(reference, root),
        digest=str(root.digest),
        annotations=tuple(one.claims.annotations for one in fitting),
        reason="" if fitting else _reason(root.digest, texts, valid, malformed),
    )


def _reason(
    digest: Digest, texts: Sequence[SignedText], valid: Sequence[SignedText], malformed: str
) -> str:
    if any(one.claims.digest == str(digest) for one in valid):
        return "no signature has the requested annotations"
    if valid:
        return "the signature is for another image"
    if texts:
        return "no signature was made with the key"
    return malformed or "the image has no signature"


async def _read_signatures(store: ImageStore, digest: Digest) -> tuple[list[SignedText], str]:
    """Yield all signatures of an image, or errors of unreadable ones."""
    texts: list[SignedText] = []
    malformed = ""
    if not isinstance(store, Referring):
        return texts, malformed
    found = await _signature_manifest(store, referrers.cosign_tag(digest, referrers.SIGNATURE))
    for part in _signature_layers(found):
        try:
            data = await stores.read(store, part, limit=signatures.MAX_PAYLOAD)
            texts.append(signatures.read_layer(part, data))
        except InputError as error:
            malformed = error.message
    for descriptor in await store.referrers(digest):
        if not descriptor.is_manifest:
            continue
        try:
            texts += await _read_referrer(store, descriptor)
        except InputError as error:
            malformed = error.message
    return texts, malformed


async def _read_referrer(store: ImageStore, descriptor: Descriptor) -> tuple[SignedText, ...]:
    """Yield the signatures in a referrer of an image; none for another kind of referrer."""
    manifest = await stores.read_manifest(store, descriptor)
    if not isinstance(manifest, ImageManifest) or manifest.artifact_type != signatures.BUNDLE:
        return ()
    if len(manifest.layers) != 1:
        raise InputError("the manifest of the signature does not have one layer")
    data = await stores.read(store, manifest.layers[0], limit=signatures.MAX_PAYLOAD)
    return signatures.read_bundle(data)


async def _signature_manifest(store: ReferringStore, tag: str) -> ImageManifest | None:
    descriptor = await store.tagged(tag)
    if descriptor is None:
        return None
    manifest = await stores.read_manifest(store, descriptor)
    if not isinstance(manifest, ImageManifest):
        raise InputError(f"`{tag}` is not a signature manifest")
    return manifest


def _signature_layers(manifest: ImageManifest | None) -> list[Descriptor]:
    layers = manifest.layers if manifest is not None else ()
    found = [part for part in layers if part.media_type == signatures.SIMPLE_SIGNING]
    return found[: signatures.MAX_SIGNATURES]


def _has(found: ImageManifest | None, payload: bytes, key: PublicKey) -> bool:
    """Return whether the key already signed this payload."""
    digest = Digest.of(payload)
    for part in _signature_layers(found):
        if part.digest == digest:
            try:
                signature = signatures.read_layer(part, payload).signature
            except InputError:
                continue
            if key.verifies(signature, payload):
                return True
    return False


async def _add(
    store: ImageStore, tag: str, found: ImageManifest | None, payload: bytes, signature: bytes
) -> None:
    added = signatures.layer(payload, signature)
    manifest, config = signatures.manifest(found, added)
    data = manifest.format()
    root = Descriptor.of(data, manifest.media_type)
    memory = MemoryStore(
        {added.digest: payload, manifest.config.digest: config, root.digest: data}, base=store
    )
    await transfer.copy(memory, store, root, tag=tag)


def _layout_name(reference: LayoutReference) -> str:
    """Return the name of an image in a layout, if it has one."""
    return (reference.tag or "").rpartition(":")[0] or reference.tag or "layout"
