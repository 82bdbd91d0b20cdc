"""The options of the builds of data images: bundles and catalogs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from olmkit.cli.frame import options
from olmkit.cli.frame.app import App
from olmkit.cli.frame.registry_options import PlatformType, registry_options, source_date


def build_options(
    run: Callable[..., Any] | None = None,
    *,
    platforms_else: str = "all platforms that OLM supports",
) -> Callable[..., Any]:
    """Add the options to a command; its function gets them as `options` and `access`.

    `platforms_else` describes the default in the help; the job decides it.
    """
    if run is None:
        return functools.partial(build_options, platforms_else=platforms_else)

    @functools.wraps(run)
    def gathered(app: App, **arguments: Any) -> Any:
        from olmkit.jobs.image.publish import PublishOptions

        platforms = arguments.pop("platforms")
        wanted = PublishOptions(
            target=arguments.pop("target"),
            push=arguments.pop("push"),
            platforms=tuple(dict.fromkeys(platforms)),
            created=source_date(),
            project=app.project,
        )
        return run(app, options=wanted, **arguments)

    added = [
        click.option(
            "-t",
            "--tag",
            "target",
            default="",
            metavar="REF",
            help="Name of the image: `registry/repository:tag`, or `oci:FOLDER:TAG` for "
            "another layout.",
        ),
        click.option("--push", is_flag=True, help="Push the image to its registry as well."),
        click.option(
            "--platform",
            "platforms",
            type=PlatformType(),
            multiple=True,
            metavar="OS/ARCH",
            help=f"Platform of the image; repeatable. Default: {platforms_else}.",
        ),
    ]
    return options.add(registry_options(gathered), added)


def engine_option(file: str) -> Callable[..., Any]:
    """Add `--engine`, which builds `file`; the function gets it as `engine`, empty for none."""
    return click.option(
        "--engine",
        type=click.Choice(["none", "docker", "podman"]),
        default="none",
        show_default=True,
        envvar="OLMKIT_ENGINE",
        callback=lambda _context, _option, word: "" if word == "none" else word,
        help=f"Build {file} with a container engine instead.",
    )
