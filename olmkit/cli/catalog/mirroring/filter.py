"""`olmkit catalog filter`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from olmkit.cli.frame import output
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.options import form_option
from olmkit.cli.frame.registry_options import registry_options
from olmkit.cli.frame.selection_options import (
    SelectionOptions,
    note_extra,
    selection_options,
)

if TYPE_CHECKING:
    from olmkit.catalog.blobs import fbc
    from olmkit.edges.images.access_settings import Access


@command(
    output=False,
    example="""
    olmkit catalog filter quay.io/example/catalog:v1 --package memcached-operator > small.yaml
    olmkit catalog filter catalog -p a:stable@1.0.0-1.9.9 -p b:alpha -p c --full -o json
    olmkit catalog filter quay.io/example/catalog:v1 --config imageset.yaml -d catalog
    """,
)
@click.argument("reference", metavar="REF")
@selection_options
@form_option
@click.option(
    "-d",
    "--directory",
    type=click.Path(path_type=Path),
    help="Write a new directory with a file for each package, instead of one stream.",
)
@registry_options
def filter_(
    app: App,
    *,
    reference: str,
    selection: SelectionOptions,
    form: fbc.Form,
    directory: Path | None,
    access: Access,
) -> None:
    """Write a part of a catalog: selected packages, channels and versions.

    Of each channel, the head is kept, or the versions in the range and those between them in the
    graph. Edges stay as they are. The command writes a valid catalog or nothing.
    """
    from olmkit.catalog.blobs import fbc
    from olmkit.edges import disk
    from olmkit.jobs.catalog import folder
    from olmkit.jobs.catalog.mirroring import filter as job

    if directory is not None:
        folder.check(directory)
    wanted = selection.read(reference, required=True)
    found = app.run(job.filter_catalog(reference, wanted, access))
    app.report(found.diagnostics)
    note_extra(app, found.extra)
    if directory is not None:
        changes = folder.write(found.blobs, form, directory)
        written = output.changes_text(changes, dry_run=False)
        app.terminal.result(app.told(written, is_result=False))
        return
    with disk.spool(fbc.pieces(found.blobs, form)) as text:
        app.terminal.result_stream(text)
