"""`olmkit catalog render`."""

from __future__ import annotations

import click

from olmkit.catalog.blobs import fbc
from olmkit.catalog.bundles.migrate import Level
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.options import form_option
from olmkit.cli.frame.registry_options import registry_options
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import render as job
from olmkit.jobs.catalog.render import RenderOptions


@command(
    output=False,
    example="""
    olmkit catalog render bundle/ --image quay.io/example/memcached-operator-bundle:v{version}
    olmkit catalog render quay.io/example/memcached-operator-bundle:v0.1.0 -o json
    olmkit catalog render catalog/ --migrate bundle-object-to-csv-metadata
    """,
)
@click.argument("references", metavar="REF...", nargs=-1, required=True)
@form_option
@click.option(
    "--image",
    metavar="IMAGE",
    default="",
    help="Image reference of bundle directories; {package}, {name} and {version} are replaced.",
)
@click.option(
    "--migrate",
    "level",
    type=click.Choice([str(level) for level in Level]),
    default=str(Level.NONE),
    show_default=True,
    help="Migration level: which older forms are rewritten.",
)
@registry_options
def render(
    app: App, *, references: tuple[str, ...], form: fbc.Form, image: str, level: str, access: Access
) -> None:
    """Write bundles and catalogs as one stream of catalog blobs.

    REF is the directory of a bundle, a directory or file of a catalog, or an image of either.
    Nothing is merged, and only what is needed for reading is checked.
    """
    options = RenderOptions(image=image, level=Level(level), access=access)
    rendered = app.run(job.render_all(references, options))
    app.report(rendered.diagnostics)
    app.terminal.result_bytes(fbc.dump(rendered.blobs, form))
