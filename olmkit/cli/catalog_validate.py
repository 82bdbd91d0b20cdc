"""`olmkit catalog validate`."""

from __future__ import annotations

import click

from olmkit.cli import app as frame
from olmkit.cli import catalog_source, verdict
from olmkit.cli.app import App
from olmkit.cli.registry_options import registry_options
from olmkit.cli.verdict import Verdict, finding_options
from olmkit.edges.access import Access
from olmkit.jobs import catalog as job
from olmkit.jobs.catalog import ValidateOptions


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
    """Check catalogs: folders or images.

    Every error is one that makes the field's own tools refuse the catalog; warnings are ours.
    """
    app.output = output
    options = ValidateOptions(select=verdict.words(select), ignore=verdict.words(ignore))
    trees = catalog_source.pulled(app, references, access)
    results = job.validate(references, options, pulled=trees)
    verdict.give(
        app,
        Verdict(
            results=results,
            noun="catalog",
            unreadable=("FBC000", "unreadable-catalog"),
            fail_on_warnings=fail_on_warnings,
            sources=app.sources,
        ),
    )
