"""What the builds of data images, of bundles and of catalogs, are asked."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import click

from olmkit.cli.app import App
from olmkit.cli.registry_options import PlatformType, registry_options, source_date
from olmkit.jobs.publish import BuildOptions
from olmkit.oci.content import Platform
from olmkit.oci.image import OLM_PLATFORMS


def build_options(run: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command; its function gets them as `options` and `access`."""
    return _options(run, OLM_PLATFORMS, "Else all that OLM runs on.")


def target_options(run: Callable[..., Any]) -> Callable[..., Any]:
    """The same for images that run: without words, they are for no platform in particular."""
    return _options(run, (), "Else this machine's.")


def _options(
    run: Callable[..., Any], platforms_else: Sequence[Platform], words: str
) -> Callable[..., Any]:
    @functools.wraps(run)
    def gathered(app: App, **arguments: Any) -> Any:
        platforms = arguments.pop("platforms")
        options = BuildOptions(
            target=arguments.pop("target"),
            push=arguments.pop("push"),
            platforms=tuple(dict.fromkeys(platforms)) or platforms_else,
            created=source_date(),
            project=app.project,
        )
        return run(app, options=options, **arguments)

    decorated = registry_options(gathered)
    for option in reversed(
        (
            click.option(
                "-t",
                "--tag",
                "target",
                default="",
                metavar="REF",
                help="Name of the image: `registry/repository:tag`, or `oci:FOLDER:TAG` for "
                "another layout.",
            ),
            click.option("--push", is_flag=True, help="Push it to its registry too."),
            click.option(
                "--platform",
                "platforms",
                type=PlatformType(),
                multiple=True,
                metavar="OS/ARCH",
                help=f"Platform of the image; may be repeated. {words}",
            ),
        )
    ):
        decorated = option(decorated)
    return decorated
