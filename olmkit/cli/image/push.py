"""`olmkit image push`."""

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
    olmkit image push quay.io/example/memcached-operator:v0.1.0
    olmkit image push oci:dist/oci:memcached-operator:v0.1.0 localhost:5000/operator:v0.1.0
    """,
)
@click.argument("references", metavar="[REF] [TARGET]", nargs=-1)
@registry_options
def push(app: App, *, references: tuple[str, ...], access: Access) -> None:
    """Push an image to a registry.

    REF is an image. Default: the image of the operator that was built into `dist/oci`; of
    several, the one with the name TARGET. Without TARGET, the name of the image decides. Prints
    the pinned reference.
    """
    from olmkit.jobs.image import publish as job

    push_output.push(app, job.push_image, references, access)
