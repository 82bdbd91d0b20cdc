"""`olmkit catalog build`."""

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
    olmkit catalog build
    olmkit catalog build catalog -t quay.io/example/catalog:v1 --push
    """,
)
@click.argument("folder", metavar="[DIR]", default="catalog")
@build_options
def build(app: App, *, folder: str, options: BuildOptions, access: Access) -> None:
    """Build the image of a catalog, without an engine.

    It goes to the layout `dist/oci`, which `skopeo` and others read, and is the same on every
    machine. The pinned reference is printed.
    """
    with published.reporting(app) as report:
        made = app.run(job.build_catalog(folder, options, access, report))
    published.show(app, made)
