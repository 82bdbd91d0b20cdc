"""Build a Containerfile with an engine, and publish its image like any other.

An engine exports its layers as uncompressed archives. They are compressed here; the cache avoids
compressing a layer twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges import paths
from olmkit.edges.build import cache as build_cache
from olmkit.edges.build import engine
from olmkit.edges.build.cache import BuildCache
from olmkit.edges.images import docker_archive, transports
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.transfer import Report
from olmkit.jobs.image import publish
from olmkit.jobs.image.parts import Say
from olmkit.jobs.image.publish import Published, PublishOptions
from olmkit.oci import image as images
from olmkit.oci import layer as layers
from olmkit.oci import reference as references
from olmkit.oci import store as stores
from olmkit.oci.content import Descriptor
from olmkit.oci.layer import Layer
from olmkit.oci.reference import Reference
from olmkit.oci.store import ImageStore

_MAX_LAYER = 2 * 1024 * 1024 * 1024


async def build(
    name_of_engine: str,
    containerfile: Path,
    default_tag: str,
    options: PublishOptions,
    access: Access,
    report: Report,
    say: Say,
    *,
    arguments: Mapping[str, str] | None = None,
) -> Published:
    """Build `containerfile` in its folder, with the requested name or `default_tag`.

    Raises `ConfigurationError` for several platforms, which an engine cannot build at once.
    """
    if len(options.platforms) > 1:
        raise ConfigurationError(
            "an engine builds for one platform at a time",
            hint="pass one `--platform`, or build without an engine",
        )
    wanted = references.parse_image(options.target) if options.target else None
    name = str(wanted) if isinstance(wanted, Reference) else default_tag
    await engine.build(
        name_of_engine,
        containerfile.parent,
        containerfile.name,
        name,
        arguments=arguments or {},
        platform=next(iter(options.platforms), None),
        environment=access.environment,
        say=say,
    )
    with paths.temporary_folder() as folder:
        archive = folder / "image.tar"
        await engine.save(name_of_engine, name, archive, access.environment)
        store = docker_archive.open_archive(archive)
        found = await transports.select_image(store, await store.resolve(""), access)
        cache = BuildCache(build_cache.folder(access.environment))
        kept = [await _compress(store, layer, cache) for layer in found.manifest.layers]
        return await publish.publish(images.relayer(found, kept), name, options, access, report)


async def _compress(store: ImageStore, descriptor: Descriptor, cache: BuildCache) -> Layer:
    key = f"gzip-{descriptor.digest.encoded}"
    layer = await cache.layer(key)
    if layer is None:
        archive = await stores.read(store, descriptor, limit=_MAX_LAYER)
        layer = await asyncio.to_thread(layers.compress, archive)
        await cache.keep(key, layer)
    return layer
