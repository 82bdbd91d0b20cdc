"""`olmkit bundle convert`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from olmkit.cli.frame import output
from olmkit.cli.frame.app import App, command

if TYPE_CHECKING:
    from olmkit.jobs.bundle.convert import ConvertedPackage


@command(
    example="""
    olmkit bundle convert packagemanifests/ -d bundles
    olmkit bundle validate bundles/*/bundle
    """
)
@click.argument("source", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "-d",
    "--directory",
    type=click.Path(path_type=Path),
    default=Path("bundles"),
    show_default=True,
    help="Directory to write; it must be new or empty.",
)
@click.option("--dry-run", is_flag=True, help="Show the files without writing them.")
def convert(app: App, *, source: Path, directory: Path, dry_run: bool) -> None:
    """Convert package manifests, the predecessor of bundles, to bundles.

    DIR has a `NAME.package.yaml` and a directory for each version. For each version, writes
    `bundle-VERSION/bundle` with `manifests/` and `metadata/`, and a `bundle.Dockerfile`: all of
    them or nothing. A version that is not the newest of a channel is in the default channel.
    """
    from olmkit.jobs.bundle import convert as job

    made = job.convert(source, directory, dry_run=dry_run)
    app.emit(
        {
            "directory": str(made.folder),
            "bundles": [
                {"directory": bundle.folder, "csv": bundle.csv, "channels": list(bundle.channels)}
                for bundle in made.bundles
            ],
            "changes": output.changes_json(made.changes),
        },
        text=lambda: app.told(
            output.changes_text(made.changes, dry_run=dry_run), is_result=dry_run
        ),
    )
    if not app.is_json:
        _note_default_channels(app, made)


def _note_default_channels(app: App, converted: ConvertedPackage) -> None:
    for bundle in converted.bundles:
        if not bundle.is_newest:
            app.terminal.note(
                f"{bundle.csv} is not the newest of a channel: it is in the default channel, "
                f"{bundle.channels[0]}"
            )
