"""`olmkit catalog render`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from olmkit.cli.frame import option_values, output
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.options import form_option
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.catalog.blobs import fbc
    from olmkit.edges.images.access_settings import Access


@command(
    output=False,
    example="""
    olmkit catalog render bundle/ --image quay.io/example/memcached-operator-bundle:v{version}
    olmkit catalog render quay.io/example/memcached-operator-bundle:v0.1.0 -o json
    olmkit catalog render catalog/ --migrate bundle-object-to-csv-metadata
    olmkit catalog render index.db > catalog.yaml
    olmkit catalog render registry.example.com/old/index:v4.10 --directory catalog
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
    "--migrate-level",
    "level",
    type=click.Choice(option_values.MIGRATIONS),
    default=option_values.MIGRATIONS[0],
    show_default=True,
    help="Migration level: which older forms are rewritten.",
)
@click.option(
    "-d",
    "--directory",
    type=click.Path(path_type=Path),
    help="Write a new directory with a file for each package, instead of one stream.",
)
@registry_options
def render(
    app: App,
    *,
    references: tuple[str, ...],
    form: fbc.Form,
    image: str,
    level: str,
    directory: Path | None,
    access: Access,
) -> None:
    """Write bundles and catalogs as one stream of catalog blobs.

    REF is the directory of a bundle, a directory or file of a catalog, an index database (SQLite),
    or an image of one of these.
    Nothing is merged, and only what is needed for reading is checked.
    """
    from olmkit.catalog.blobs import fbc
    from olmkit.catalog.bundles.migrate import Level
    from olmkit.edges import disk
    from olmkit.jobs.catalog import folder
    from olmkit.jobs.catalog import render as job
    from olmkit.jobs.catalog.render import RenderOptions

    if directory is not None:
        folder.check(directory)
    options = RenderOptions(image=image, level=Level(level), access=access, has_places=False)
    rendered = job.render_local(references, options)
    if rendered is None:
        rendered = app.run(job.render_all(references, options))
    app.report(rendered.diagnostics)
    if directory is not None:
        changes = folder.write(rendered.blobs, form, directory)
        written = output.changes_text(changes, dry_run=False)
        app.terminal.result(app.told(written, is_result=False))
        return
    with disk.spool(fbc.pieces(rendered.blobs, form)) as text:
        app.terminal.result_stream(text)
