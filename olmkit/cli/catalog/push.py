"""`olmkit catalog push`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from olmkit.cli.frame import push_output
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access


@command(
    project=True,
    example="""
    olmkit catalog push quay.io/example/catalog:v1
    olmkit catalog push oci:dist/oci:catalog:latest localhost:5000/catalog:v1
    """,
)
@click.argument("references", metavar="[REF] [TARGET]", nargs=-1)
@registry_options
def push(app: App, *, references: tuple[str, ...], access: Access) -> None:
    """Push the image of a catalog to a registry.

    REF is an image, or the directory of a catalog. Default: the image that was built into
    `dist/oci`; of several, the one with the name TARGET. Without TARGET, the name of the image
    decides. Prints the pinned reference.
    """
    from olmkit.jobs.image import publish as job

    push_output.push(app, job.push_catalog, references, access)
