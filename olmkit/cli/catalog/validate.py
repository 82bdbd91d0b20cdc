"""`olmkit catalog validate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from olmkit.cli.catalog import inputs
from olmkit.cli.frame import app as frame
from olmkit.cli.frame import validation
from olmkit.cli.frame.app import App
from olmkit.cli.frame.registry_options import registry_options
from olmkit.cli.frame.validation import ValidationReport, finding_options

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access


@frame.command(
    output=False,
    example="""
    olmkit catalog validate catalog
    olmkit catalog validate catalogs/* -o concise
    olmkit catalog validate quay.io/example/catalog:v1 --ignore unfit-icon
    """,
)
@click.argument("references", nargs=-1, required=True, metavar="REF...")
@finding_options
@registry_options
def validate(
    app: App,
    *,
    references: tuple[str, ...],
    output: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on_warnings: bool,
    access: Access,
) -> None:
    """Validate catalogs: directories or images.

    Errors are faults that opm rejects, too; warnings are specific to olmkit.
    """
    from olmkit.jobs.catalog import catalogs as job
    from olmkit.jobs.catalog.catalogs import ValidateOptions

    app.output = output
    options = ValidateOptions(
        select=validation.split_codes(select), ignore=validation.split_codes(ignore)
    )
    trees = inputs.pull_images(app, references, access)
    results = job.validate(references, options, pulled=trees)
    validation.show(
        app,
        ValidationReport(
            results=results,
            noun="catalog",
            unreadable="FBC000",
            fail_on_warnings=fail_on_warnings,
            sources=app.sources,
        ),
    )
