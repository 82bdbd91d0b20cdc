"""Build the images of bundles, with olmkit or with a container engine.

Several folders share one repository or one layout, in which the tag of each image is the version of
its bundle. All folders are read before the first image is written.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.images import transports
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.transfer import Report, silent
from olmkit.jobs.image import publish
from olmkit.jobs.image.publish import Published, PublishOptions
from olmkit.oci.reference import ImageReference, LayoutReference, Reference

if TYPE_CHECKING:
    from olmkit.jobs.image.parts import Say


async def build(
    folders: Sequence[str], options: PublishOptions, access: Access, report: Report = silent
) -> tuple[Published, ...]:
    """Build the images of the bundles in `folders`, in this order."""
    wanted = publish.check(options)
    made = [publish.bundle_image(folder, options) for folder in folders]
    targets = _targets(folders, [tag for _, tag in made], wanted, options.target)
    async with contextlib.AsyncExitStack() as stack:
        web = None
        if options.push:
            from olmkit.edges.network.web import Web

            web = await stack.enter_async_context(Web(transports.web_options(access)))
        return tuple(
            [
                await publish.publish(
                    image, tag, replace(options, target=target), access, report, web=web
                )
                for (image, tag), target in zip(made, targets, strict=True)
            ]
        )


async def build_with_engine(
    engine: str,
    folders: Sequence[str],
    options: PublishOptions,
    access: Access,
    report: Report,
    say: Say,
) -> tuple[Published, ...]:
    """Build the images with `docker` or `podman`, from the `bundle.Dockerfile` of each folder."""
    from olmkit.jobs.image import engine_build

    wanted = publish.check(options)
    made = [publish.containerfile(folder, options) for folder in folders]
    targets = _targets(folders, [tag for _, tag in made], wanted, options.target)
    return tuple(
        [
            await engine_build.build(
                engine, file, tag, replace(options, target=target), access, report, say
            )
            for (file, tag), target in zip(made, targets, strict=True)
        ]
    )


def _targets(
    folders: Sequence[str], tags: Sequence[str], requested: ImageReference | None, target: str
) -> Sequence[str]:
    """Return the target of each image; `tags` are the default names, `NAME:VERSION`.

    Raises `ConfigurationError` if two images would have the same name.
    """
    if len(folders) == 1:
        return [target]
    match requested:
        case None | LayoutReference(tag=None):
            names, targets = tags, [target] * len(tags)
        case Reference() if Reference.parse(target).tag is None:
            names = targets = [f"{requested.name}:{tag.partition(':')[2]}" for tag in tags]
        case _:
            raise ConfigurationError(
                f"several images cannot have the same name `{requested}`",
                hint="name a repository without a tag: each image gets its bundle's version",
            )
    first: dict[str, str] = {}
    for folder, name in zip(folders, names, strict=True):
        if name in first:
            raise ConfigurationError(
                f"the images of `{first[name]}` and `{folder}` would both be named `{name}`",
                hint="build them one at a time, each with its own `-t`",
            )
        first[name] = folder
    return targets
