"""`olmkit catalog build`."""

from __future__ import annotations

import click

from olmkit.cli import published
from olmkit.cli.app import App, command
from olmkit.cli.registry_options import PlatformType, registry_options, source_date
from olmkit.edges.sources import Access
from olmkit.jobs import publish as job
from olmkit.jobs.publish import BuildOptions
from olmkit.oci.content import Platform
from olmkit.oci.image import OLM_PLATFORMS


@command(
    project=True,
    example="""
    olmkit catalog build
    olmkit catalog build catalog -t quay.io/example/catalog:v1 --push
    """,
)
@click.argument("folder", metavar="[DIR]", default="catalog")
@click.option(
    "-t",
    "--tag",
    "target",
    default="",
    metavar="REF",
    help="Name of the image: `registry/repository:tag`, or `oci:FOLDER:TAG` for another layout.",
)
@click.option("--push", is_flag=True, help="Push it to its registry too.")
@click.option(
    "--platform",
    "platforms",
    type=PlatformType(),
    multiple=True,
    metavar="OS/ARCH",
    help="Platform of the image; may be repeated. Else all that OLM runs on.",
)
@registry_options
def build(
    app: App,
    *,
    folder: str,
    target: str,
    push: bool,
    platforms: tuple[Platform, ...],
    access: Access,
) -> None:
    """Build the image of a catalog, without an engine.

    It goes to the layout `dist/oci`, which `skopeo` and others read, and is the same on every
    machine. The pinned reference is printed.
    """
    options = BuildOptions(
        target=target,
        push=push,
        platforms=tuple(dict.fromkeys(platforms)) or OLM_PLATFORMS,
        created=source_date(),
        project=app.project,
    )
    published.show(app, app.run(job.build_catalog(folder, options, access, published.report(app))))
