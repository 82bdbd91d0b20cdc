"""`olmkit catalog filter`."""

from __future__ import annotations

from pathlib import Path

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.catalog.blobs import fbc
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.options import form_option
from olmkit.cli.frame.registry_options import registry_options
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import filter as job


@command(
    output=False,
    example="""
    olmkit catalog filter quay.io/example/catalog:v1 --package memcached-operator > small.yaml
    olmkit catalog filter catalog -p a:stable@1.0.0-1.9.9 -p b:alpha -p c --full -o json
    olmkit catalog filter quay.io/example/catalog:v1 --config imageset.yaml
    """,
)
@click.argument("reference", metavar="REF")
@click.option(
    "-p",
    "--package",
    "words",
    multiple=True,
    metavar="PACKAGE[:CHANNEL][@MIN-MAX]",
    help="Package to keep, with its channel and versions; repeatable.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="ImageSetConfiguration or FilterConfiguration that lists what to keep.",
)
@click.option(
    "--full",
    is_flag=True,
    help="Keep all versions of packages without a range, instead of the heads.",
)
@form_option
@registry_options
def filter_(
    app: App,
    *,
    reference: str,
    words: tuple[str, ...],
    config: Path | None,
    full: bool,
    form: fbc.Form,
    access: Access,
) -> None:
    """Write a part of a catalog: selected packages, channels and versions.

    Of each channel, the head is kept, or the versions in the range and those between them in the
    graph. Edges stay as they are. The command writes a valid catalog or nothing.
    """
    if bool(words) == (config is not None):
        raise ConfigurationError(
            "nothing to keep" if config is None else "`--package` and `--config` are both given",
            hint="pass either `--package` or `--config`",
        )
    wanted = job.read(config, reference) if config else job.parse(words, is_full=full)
    found = app.run(job.filter_catalog(reference, wanted, access))
    app.report(found.diagnostics)
    for package, names in sorted(found.extra.items()):
        listed = ", ".join(f"`{name}`" for name in names)
        app.terminal.note(f"kept of `{package}` although outside the range: {listed}")
    app.terminal.result_bytes(fbc.dump(found.blobs, form))
