"""Build the image of a catalog with a server, for a CatalogSource.

There are two servers: `opm`, which is in the base image, and olmkit, which is added to a base with
Python together with the program that OLM's probes execute. The catalog is the last layer, so that a
new version of the catalog builds and pushes only that layer.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from olmkit import __version__
from olmkit.catalog import image as catalog_image
from olmkit.catalog.image import Server
from olmkit.edges import disk
from olmkit.edges.build import cache as build_cache
from olmkit.edges.build.cache import BuildCache
from olmkit.edges.catalog import health_probe
from olmkit.edges.images import transports
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.transfer import Report, silent
from olmkit.jobs.image import parts as image_parts
from olmkit.jobs.image import publish
from olmkit.jobs.image.parts import Packages, Say
from olmkit.jobs.image.publish import Published, PublishOptions
from olmkit.oci import image as images
from olmkit.oci.content import Platform
from olmkit.oci.image import Image
from olmkit.project import image_plan

OPM_BASE = "quay.io/operator-framework/opm:latest"
# Starts in any shell, then in the base's Python, ignoring its environment variables.
_START = b"""#!/bin/sh
''''exec python3 -ISE "$0" "$@" #'''
"""


class ServerKind(StrEnum):
    """The server in a catalog image."""

    NONE = "none"
    OLMKIT = "olmkit"
    OPM = "opm"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The server and its base; for other options see `ImageBuildOptions`.

    `opm_cache`: add the cache of opm to the image, so that its server starts faster.
    """

    kind: ServerKind = ServerKind.NONE
    base: str = ""
    python: str = ""
    wheels: str = ""
    pull: bool = False
    opm_cache: bool = False


async def build(
    folder: str,
    options: PublishOptions,
    server: ServerOptions,
    access: Access,
    report: Report = silent,
    say: Say = lambda _: None,
) -> Published:
    """Build the image of the catalog in `folder`, which must be one."""
    if server.kind is ServerKind.NONE:
        return await publish.build_catalog(
            folder, options, access, report, opm_cache=server.opm_cache
        )
    publish.check(options)
    path = options.project / folder
    tree, tag = publish.catalog_files(path)
    opm_cache = publish.catalog_cache(path, tree) if server.opm_cache else None
    cache = BuildCache(build_cache.folder(access.environment))
    platforms = tuple(options.platforms) or (transports.own_platform(),)
    default = OPM_BASE if server.kind is ServerKind.OPM else image_plan.DEFAULT_BASE
    async with contextlib.AsyncExitStack() as stack:
        bases, store = await image_parts.bases(
            server.base or default, platforms, access, cache, stack, report, say, pull=server.pull
        )
        made = [
            catalog_image.catalog_image(
                tree,
                base,
                await _server(server, platform, base, cache, options.created, access, say),
                cache=opm_cache,
                created=options.created,
            )
            for platform, base in zip(platforms, bases, strict=True)
        ]
        image = made[0] if len(made) == 1 else images.index(made)
        return await publish.publish(image, tag, options, access, report, base=store)


def probe() -> bytes:
    """Return the program in the image that OLM's probes execute."""
    return _START + disk.read_file(Path(health_probe.__file__))


async def _server(
    server: ServerOptions,
    platform: Platform,
    base: Image,
    cache: BuildCache,
    created: int,
    access: Access,
    say: Say,
) -> Server:
    if server.kind is ServerKind.OPM:
        return catalog_image.opm_server(cached=server.opm_cache)
    packages = await image_parts.packages_layer(
        Packages(
            requirements=(f"olmkit[serve]=={__version__}",),
            wheels=Path(server.wheels) if server.wheels else None,
            python=server.python,
            created=created,
        ),
        platform,
        base,
        await image_parts.compiler_for(base, server.python, None, say),
        cache,
        access,
        say,
    )
    assert packages is not None  # noqa: S101 - there is a requirement
    return catalog_image.olmkit_server(packages, probe(), image_plan.PACKAGES, created=created)
