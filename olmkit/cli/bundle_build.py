"""`olmkit bundle build`."""

from __future__ import annotations

import click

from olmkit.cli import published
from olmkit.cli.app import App, command
from olmkit.cli.build_options import build_options
from olmkit.edges.access import Access
from olmkit.jobs import publish as job
from olmkit.jobs.publish import BuildOptions


@command(
    project=True,
    example="""
    olmkit bundle build
    olmkit bundle build -t quay.io/example/memcached-operator-bundle:v0.1.0 --push
    """,
)
@click.argument("folder", metavar="[DIR]", default="bundle")
@build_options
@click.option(
    "--engine",
    type=click.Choice(["none", "docker", "podman"]),
    default="none",
    show_default=True,
    envvar="OLMKIT_ENGINE",
    help="Build `bundle.Dockerfile` with an engine instead.",
)
def build(app: App, *, folder: str, options: BuildOptions, access: Access, engine: str) -> None:
    """Build the image of a bundle, without an engine.

    It goes to the layout `dist/oci`, which `skopeo` and others read, and is the same on every
    machine. The pinned reference is printed.
    """
    with published.reporting(app) as report:
        if engine == "none":
            made = app.run(job.build_bundle(folder, options, access, report))
        else:
            from olmkit.jobs import engine_build

            job.check(options)
            file, tag = job.containerfile(folder, options)
            say = app.terminal.note
            made = app.run(engine_build.build(engine, file, tag, options, access, report, say))
    published.show(app, made)
