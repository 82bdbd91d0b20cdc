"""The names of images in a mirror.

The mirror keeps the repository of each image below a prefix and drops its registry:
`quay.io/example/cog` is `mirror.example/prefix/example/cog`. So one rule for each registry is
enough for the programs that rewrite names (containerd), and one for each repository for those that
list them (OpenShift, Podman). Digests do not change, so references by digest remain valid.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from olmkit.base import names
from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.oci.content import Digest
from olmkit.oci.reference import (
    MAX_NAME_LENGTH,
    InvalidReferenceError,
    LayoutReference,
    Reference,
    names_registry,
    parse_source,
)
from olmkit.oci.referrers import COSIGN_SUFFIXES

_SHOWN: Final = 10
_TAG_OF_REFERRERS: Final = re.compile(
    rf"sha(?:256|384|512)-[0-9a-f]{{64,}}(?:{'|'.join(map(re.escape, COSIGN_SUFFIXES))})?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorRegistry:
    """A registry and the prefix of the mirror in it, which may be empty."""

    registry: str
    prefix: str = ""

    def place(self, source: Reference) -> Reference:
        """Return the target of an image, or raise `InputError` if its name is too long."""
        repository = f"{self.prefix}/{source.repository}" if self.prefix else source.repository
        moved = replace(source, registry=self.registry, repository=repository)
        if len(moved.name) > MAX_NAME_LENGTH:
            raise InputError(
                f"`{moved.name}` is longer than the {MAX_NAME_LENGTH} characters of a name",
                hint="use a shorter prefix",
            )
        return moved

    def __str__(self) -> str:
        return f"{self.registry}/{self.prefix}".rstrip("/")


MirrorTarget = MirrorRegistry | LayoutReference
"""A mirror is in a registry, or in a layout folder that is carried to another network."""


@dataclass(frozen=True, slots=True)
class MirroredNames:
    """The repositories of a mirror: source → target, by how their images are named."""

    by_digest: Mapping[str, str] = field(default_factory=dict, hash=False)
    by_tag: Mapping[str, str] = field(default_factory=dict, hash=False)


def parse_target(text: str) -> MirrorTarget:
    """Parse `REGISTRY[/PREFIX]` or `oci:FOLDER`; `ConfigurationError` for anything else."""
    if text.startswith("oci:"):
        found = parse_source(text)
        if isinstance(found, LayoutReference) and not found.tag and not found.digest:
            return found
        raise _no_target(text)
    clean = text.rstrip("/")
    try:
        parsed = Reference.parse(f"{clean}/x")
    except InvalidReferenceError:
        raise _no_target(text) from None
    if not names_registry(f"{clean}/"):
        raise _no_target(text)
    return MirrorRegistry(
        registry=parsed.registry, prefix=parsed.repository.removesuffix("x").rstrip("/")
    )


def is_loopback(target: MirrorTarget) -> bool:
    """Return whether a mirror is a registry on this machine, which is reached without TLS."""
    return isinstance(target, MirrorRegistry) and names.is_loopback(
        Reference(registry=target.registry, repository="x").host
    )


def parse_images(texts: Iterable[str]) -> tuple[Reference, ...]:
    """Return the images of a catalog as references, each once, in order.

    References with a digest lose their tag, because the digest takes precedence. Raises
    `InputError` with all invalid references.
    """
    found: dict[Reference, None] = {}
    wrong: list[str] = []
    for text in texts:
        try:
            reference = Reference.parse(text)
        except InvalidReferenceError as error:
            wrong.append(error.message)
            continue
        if not reference.registry:
            wrong.append(f"`{text}` names no registry")
        elif reference.digest is not None:
            found[reference.pinned(reference.digest)] = None
        else:
            found[reference.tagged()] = None
    if wrong:
        more = f"; and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise InputError(
            "; ".join(wrong[:_SHOWN]) + more,
            hint="correct the images in the catalog, or select other packages",
        )
    return tuple(found)


def check_tags(sources: Iterable[Reference], target: MirrorRegistry) -> None:
    """Raise `ConfigurationError` if two images would get the same tag."""
    seen: dict[Reference, Reference] = {}
    for source in sources:
        if source.tag is None:
            continue
        other = seen.setdefault(target.place(source), source)
        if other != source:
            raise ConfigurationError(
                f"`{other}` and `{source}` would both be `{target.place(source)}`",
                hint="mirror them to different prefixes",
            )


def keeping_tag(digest: Digest) -> str:
    """Return a tag for an image that is named by digest: registries may remove untagged images."""
    return f"mirror-{digest.encoded[:16]}"


def is_referrer_tag(tag: str) -> bool:
    """Return whether a tag is of a signature or a list of referrers, not of an image."""
    return _TAG_OF_REFERRERS.fullmatch(tag) is not None


def layout_name(reference: Reference) -> str:
    """Return the name of a mirrored image in a layout, which is that of the source."""
    return str(reference)


def parse_layout_name(name: str) -> Reference | None:
    """Return the image of a mirror that a layout names; None for any other name."""
    if not names_registry(name):
        return None
    try:
        return Reference.parse(name)
    except InvalidReferenceError:
        return None


def repositories(pairs: Iterable[tuple[Reference, Reference]]) -> MirroredNames:
    """Return the repositories of images and their copies, sorted."""
    by_digest: dict[str, str] = {}
    by_tag: dict[str, str] = {}
    for source, target in sorted(pairs, key=lambda pair: str(pair[0])):
        (by_digest if source.digest is not None else by_tag)[source.name] = target.name
    return MirroredNames(by_digest, by_tag)


def _no_target(text: str) -> ConfigurationError:
    return ConfigurationError(
        f"`{text}` is not a target for a mirror",
        hint="write `REGISTRY[/PREFIX]`, such as `mirror.example.com:5000/olm`, or `oci:FOLDER`",
    )
