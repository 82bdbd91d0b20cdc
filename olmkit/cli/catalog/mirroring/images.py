"""`olmkit catalog images`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.registry_options import registry_options
from olmkit.cli.frame.selection_options import (
    SelectionOptions,
    note_extra,
    selection_options,
)

if TYPE_CHECKING:
    from olmkit.catalog.images import CatalogImage
    from olmkit.edges.images.access_settings import Access


@command(
    example="""
    olmkit catalog images quay.io/example/catalog:v1
    olmkit catalog images catalog --package memcached-operator:stable@1.0.0-1.9.9
    olmkit catalog images quay.io/example/catalog:v1 --pull-bundles -o json
    """
)
@click.argument("reference", metavar="REF")
@selection_options
@click.option(
    "--pull-bundles",
    is_flag=True,
    help="Pull bundle images, and add the images of their CSVs that the catalog does not list.",
)
@registry_options
def images(
    app: App, *, reference: str, selection: SelectionOptions, pull_bundles: bool, access: Access
) -> None:
    """List the images that a catalog, or a part of it, needs.

    These are the images of the bundles, their related images, and the images of the operators'
    containers where the catalog contains the CSV. Without a selection, all bundles count. Prints
    one image a line, sorted, as the catalog writes it.
    """
    from olmkit.jobs.catalog.mirroring import images as job

    found = app.run(
        job.list_images(
            reference, access, requested=selection.read(reference), pull_bundles=pull_bundles
        )
    )
    note_extra(app, found.extra)
    app.emit(
        {"images": [_facts(image) for image in found.images]},
        text="\n".join(image.image for image in found.images),
        diagnostics=found.diagnostics,
    )


def _facts(image: CatalogImage) -> dict[str, object]:
    return {
        "image": image.image,
        "roles": [str(role) for role in image.roles],
        "packages": list(image.packages),
        "bundles": list(image.bundles),
    }
