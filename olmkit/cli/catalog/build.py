"""`olmkit catalog build`."""

from __future__ import annotations

from typing import Any

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.frame import push_output
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.build_options import build_options
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.image.publish import BuildOptions


@command(
    project=True,
    example="""
    olmkit catalog build
    olmkit catalog build catalog -t quay.io/example/catalog:v1 --push
    olmkit catalog build --server olmkit -t quay.io/example/catalog:v1 --push
    """,
)
@click.argument("folder", metavar="[DIR]", default="catalog")
@build_options(platforms_else="Else all that OLM runs on; with a server, this machine's.")
@click.option(
    "--server",
    type=click.Choice(["none", "olmkit", "opm"]),
    default="none",
    show_default=True,
    help="What serves the catalog when the image is run; `none` for data alone.",
)
@click.option(
    "--base",
    default="",
    metavar="REF",
    help="Image below the server: with Python for olmkit, one of opm's for opm.",
)
@click.option("--pull", is_flag=True, help="Ask the registry for the base again.")
@click.option("--python", default="", metavar="VERSION", help="Python of the base.")
@click.option(
    "--wheels",
    default="",
    metavar="FOLDER",
    envvar="OLMKIT_WHEELS",
    help="Take the server's packages from this folder of wheels, not from the network.",
)
def build(
    app: App, *, folder: str, options: BuildOptions, access: Access, server: str, **given: Any
) -> None:
    """Build the image of a catalog, without an engine.

    It goes to the layout `dist/oci`, which `skopeo` and others read, and is the same on every
    machine. OLM v0 runs an image with a server as it is. The pinned reference is printed.
    """
    with push_output.reporting(app) as report:
        if server == "none":
            from olmkit.jobs.image import publish

            if any(given.values()):
                raise ConfigurationError(
                    "`--base` and its like are for images with a server",
                    hint="name it: `--server olmkit` or `--server opm`",
                )
            made = app.run(publish.build_catalog(folder, options, access, report))
        else:
            from olmkit.jobs.catalog import image as job
            from olmkit.jobs.catalog.image import ServerKind, ServerOptions

            wanted = ServerOptions(kind=ServerKind(server), **given)
            made = app.run(job.build(folder, options, wanted, access, report, app.terminal.note))
    push_output.show(app, made)
