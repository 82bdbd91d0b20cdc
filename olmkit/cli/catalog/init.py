"""`olmkit catalog init`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.options import form_option

if TYPE_CHECKING:
    from olmkit.catalog.blobs.fbc import Form


@command(
    output=False,
    example="""
    olmkit catalog init memcached-operator -c stable -d README.md -i icon.svg > catalog/index.yaml
    """,
)
@click.argument("package")
@click.option(
    "-c", "--default-channel", default="", metavar="CHANNEL", help="Default channel of the package."
)
@click.option(
    "-d",
    "--description",
    type=click.Path(path_type=Path),
    help="File with the description, in Markdown.",
)
@click.option(
    "-i",
    "--icon",
    type=click.Path(path_type=Path),
    help="File with the icon: PNG, JPEG, GIF or SVG.",
)
@form_option
def init(
    app: App,
    *,
    package: str,
    default_channel: str,
    description: Path | None,
    icon: Path | None,
    form: Form,
) -> None:
    """Write the `olm.package` blob of a new package."""
    from olmkit.jobs.catalog import catalogs as job
    from olmkit.jobs.catalog.catalogs import InitOptions

    options = InitOptions(
        package=package, default_channel=default_channel, description=description, icon=icon
    )
    app.terminal.result_bytes(job.init(options, form))
