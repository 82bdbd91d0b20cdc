"""`olmkit bundle unpack`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from olmkit.cli.frame import output
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access


@command(
    example="""
    olmkit bundle unpack quay.io/example/memcached-operator-bundle:v0.0.1 -d bundle
    olmkit bundle unpack oci:dist/oci -d bundle --force
    """
)
@click.argument("reference", metavar="REF")
@click.option(
    "-d",
    "--directory",
    type=click.Path(path_type=Path),
    required=True,
    help="Directory to write.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Overwrite the bundle in an existing directory; other files in it stay.",
)
@click.option("--dry-run", is_flag=True, help="Show the files without writing them.")
@registry_options
def unpack(
    app: App, *, reference: str, directory: Path, force: bool, dry_run: bool, access: Access
) -> None:
    """Write the files of a bundle image into a directory.

    Writes `manifests/`, `metadata/`, `tests/` and a `bundle.Dockerfile` that builds the image
    again: all of them or nothing. REF is an image, a layout, an archive or another directory.
    """
    from olmkit.jobs.bundle import unpack as job

    found = app.run(job.unpack(reference, directory, access, force=force, dry_run=dry_run))
    app.emit(
        {
            "directory": str(found.folder),
            "image": found.pinned or None,
            "changes": output.changes_json(found.changes),
        },
        text=lambda: app.told(
            output.changes_text(found.changes, dry_run=dry_run), is_result=dry_run
        ),
    )
    if not found.changes:
        app.terminal.note(f"{found.folder} is up to date")
