"""Facts beyond the bundle that checks use: versions, categories, files, platforms of images.

Values come from the command line as text. Invalid values are rejected here, before any work, so
that no rule silently ignores them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from olmkit.base.diagnostics import ConfigurationError, OlmkitError
from olmkit.base.versions import Version
from olmkit.bundle import layout
from olmkit.edges import disk
from olmkit.jobs.bundle.validate import GivenFacts
from olmkit.jobs.validation import Pulled
from olmkit.kube import lifecycle, openshift
from olmkit.rules.engine import Facts

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access

_CONTAINER_TOOLS: Final = ("docker", "podman", "none", "")
_OPTIONAL_KEYS: Final = ("k8s-version", "index-path", "container-tools")
_NEWEST: Final = 99  # a later minor version is probably a typo
_AT_ONCE: Final = 8  # concurrent requests to registries


def gather(facts: GivenFacts) -> Facts:
    """Return the facts; raise `ConfigurationError` for an invalid value."""
    values = optional_values(facts.optional_values)
    containerfile = facts.containerfile or values.get("index-path", "")
    return Facts(
        kube_version=kube_version(facts.kube_version or values.get("k8s-version", "")),
        openshift_versions=openshift_versions(facts.openshift_versions),
        categories=read_categories(Path(facts.categories)) if facts.categories else None,
        containerfile=_read(Path(containerfile), "the Containerfile") if containerfile else None,
    )


def optional_values(values: Sequence[str]) -> dict[str, str]:
    """Parse `KEY=VALUE` strings; raise `ConfigurationError` for an unknown key or value."""
    found: dict[str, str] = {}
    for text in (part for words in values for part in words.split(",")):
        key, equals, value = text.partition("=")
        if not equals or key not in _OPTIONAL_KEYS:
            raise ConfigurationError(
                f"`{text}` is not an optional value",
                hint=f"write `KEY=VALUE` with one of {', '.join(_OPTIONAL_KEYS)}",
            )
        found[key] = value
    tool = found.get("container-tools", "").lower()
    if tool not in _CONTAINER_TOOLS:
        raise ConfigurationError(
            f"`{tool}` is not a container tool",
            hint="remove `container-tools`: olmkit reads images from their registries itself",
        )
    return found


def kube_version(text: str) -> str:
    """Return `text` if it is a Kubernetes version or empty, else raise `ConfigurationError`."""
    if not text:
        return text
    found = Version.read(text)
    if found is None or found.major != 1 or found.minor > _NEWEST:
        raise ConfigurationError(
            f"`{text}` is not a version of Kubernetes",
            hint=f"write the major and minor version, such as `1.{lifecycle.LATEST}`",
        )
    return text


def openshift_versions(text: str) -> str:
    """Return `text` if it names OpenShift versions or is empty, else raise `ConfigurationError`."""
    if text and openshift.parse(text) is None:
        raise ConfigurationError(
            f"`{text}` names no versions of OpenShift",
            hint=f"write `v4.16`, `v4.16-v4.{openshift.LATEST}` or `=v4.{openshift.LATEST}`",
        )
    return text


def read_categories(path: Path) -> frozenset[str]:
    """Return the categories of a JSON file `{"categories": […]}`, instead of the standard ones.

    Raises `ConfigurationError` if the file cannot be read or has a different structure.
    """
    try:
        value: Any = json.loads(_read(path, "the file of categories"))
        listed = value["categories"]
    except (ValueError, KeyError, TypeError, RecursionError):
        listed = None
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        raise ConfigurationError(
            f"`{path}` has no list of categories",
            hint='write JSON, such as `{"categories": ["Database"]}`',
        )
    return frozenset(listed)


def _read(path: Path, noun: str) -> bytes:
    try:
        return disk.read_file(path)
    except OlmkitError as error:
        raise ConfigurationError(f"cannot read {noun}: {error.message}", hint=error.hint) from error


async def read_platforms(
    references: Sequence[str], access: Access, pulled: Pulled
) -> dict[str, tuple[str, ...]]:
    """Return the platforms of all images of the bundles; none for an unreadable image."""
    from olmkit.rules.publishing import multiarch

    images: set[str] = set()
    for reference in references:
        tree = pulled.get(reference)
        try:
            if isinstance(tree, OlmkitError):
                continue
            found = disk.read_tree(Path(reference)) if tree is None else tree
            images.update(multiarch.image_references(layout.read(found, reference)))
        except OlmkitError:
            continue  # the check itself reports a bundle that cannot be read
    gate = asyncio.Semaphore(_AT_ONCE)

    async def platforms(image: str) -> tuple[str, ...]:
        async with gate:
            try:
                return await _platforms(image, access)
            except OlmkitError:
                return ()

    names = sorted(images)
    return dict(zip(names, await asyncio.gather(*map(platforms, names)), strict=True))


async def _platforms(image: str, access: Access) -> tuple[str, ...]:
    from olmkit.edges.images import transports
    from olmkit.oci import store as stores
    from olmkit.oci.content import MAX_CONFIG_SIZE, ImageConfig, ImageManifest
    from olmkit.oci.reference import Reference

    reference = Reference.parse(image)
    async with transports.open_store(reference, access) as store:
        root = await store.resolve(transports.selector(reference))
        manifest = await stores.read_manifest(store, root)
        if isinstance(manifest, ImageManifest):
            data = await stores.read(store, manifest.config, limit=MAX_CONFIG_SIZE)
            listed = [ImageConfig.parse(data).platform]
        else:
            listed = [entry.platform for entry in manifest.manifests if entry.platform]
    named = {f"{entry.os}/{entry.architecture}" for entry in listed}
    # Entries for attestations have the platform `unknown/unknown`.
    return tuple(sorted(name for name in named if "unknown" not in name))
