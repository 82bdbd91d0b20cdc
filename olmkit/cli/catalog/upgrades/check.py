"""`olmkit catalog check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from olmkit.cli.catalog import inputs
from olmkit.cli.frame import app as frame
from olmkit.cli.frame import validation
from olmkit.cli.frame.app import App
from olmkit.cli.frame.cluster_options import olm_option
from olmkit.cli.frame.registry_options import registry_options
from olmkit.cli.frame.validation import ValidationReport, finding_options

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access


@frame.command(
    output=False,
    example="""
    olmkit catalog check catalog
    olmkit catalog check catalog --against quay.io/example/catalog:latest
    olmkit catalog check catalog --olm v1
    """,
)
@click.argument("reference", metavar="REF")
@click.option(
    "--against", metavar="REF", help="Earlier state of the catalog: a directory or an image."
)
@click.option(
    "--pull-bundles",
    is_flag=True,
    help="Pull the bundle images of upgrades that `--against` does not have, and compare their "
    "CRDs.",
)
@olm_option
@finding_options
@registry_options
def check(
    app: App,
    *,
    reference: str,
    against: str | None,
    pull_bundles: bool,
    olm: str,
    output: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on_warnings: bool,
    access: Access,
) -> None:
    """Check that every installed version can still upgrade.

    From every version in the catalog, and from every version in the old catalog, OLM v0 must find
    upgrades to the head of the channel. With `--against`, CRDs are compared along each new upgrade,
    as `olmkit bundle diff` does it. Warnings report what OLM v1 upgrades otherwise, and heads
    that cannot be installed from this catalog alone; notes report entries that no upgrade stops at.
    With `--olm v1`, warnings also report bundles that OLM v1 does not install.
    """
    from olmkit.jobs.catalog.catalogs import ValidateOptions
    from olmkit.jobs.catalog.upgrades import check as job
    from olmkit.jobs.catalog.upgrades import crd_upgrades
    from olmkit.jobs.catalog.upgrades.crd_upgrades import ComparedCrds

    app.output = output
    if pull_bundles and against is None:
        raise click.UsageError("`--pull-bundles` needs `--against`.")
    options = ValidateOptions(
        select=validation.split_codes(select), ignore=validation.split_codes(ignore)
    )
    old = inputs.read(app, against, access, valid=False) if against else None
    catalog = inputs.read(app, reference, access, valid=False)
    compared = ComparedCrds(blocked=())
    if old is not None:
        compared = app.run(crd_upgrades.compare(catalog, old, access if pull_bundles else None))
        for note in compared.notes:
            app.terminal.note(f"note: {note}")
    found = job.check(reference, catalog, old, options, blocked=compared.blocked, is_v1=olm == "v1")
    validation.show(
        app,
        ValidationReport(
            results=(found,),
            noun="catalog",
            unreadable="FBC000",
            fail_on_warnings=fail_on_warnings,
            sources=app.sources,
        ),
    )
