"""`olmkit image mirror`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olmkit.cli.frame import option_values, output
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.cluster_options import namespace_name
from olmkit.cli.frame.push_output import size_text
from olmkit.cli.frame.registry_options import registry_options, source_date, target_options
from olmkit.cli.frame.selection_options import (
    SelectionOptions,
    note_extra,
    selection_options,
)

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.catalog.mirroring.mirror import MirroredCatalogs
    from olmkit.jobs.image.mirror import MirroredImage


@command(
    example="""
    olmkit image mirror quay.io/example/catalog:v1 mirror.example.com/olm --manifests-dir cluster
    olmkit image mirror quay.io/example/catalog:v1 oci:usb -p memcached-operator:stable
    olmkit image mirror oci:usb mirror.example.com/olm --manifests-dir cluster
    """
)
@click.argument("source", metavar="SOURCE")
@click.argument("target", metavar="TARGET")
@selection_options
@click.option(
    "--pull-bundles",
    is_flag=True,
    help="Pull bundle images, and add the images of their CSVs that the catalog does not list.",
)
@click.option(
    "--catalog-image",
    default="",
    metavar="REF",
    help="Name of the catalog's image before it is moved to the mirror. Default: SOURCE.",
)
@click.option(
    "--manifests-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Directory for the manifests that make a cluster use the mirror.",
)
@click.option(
    "--content-source-policy",
    is_flag=True,
    help="Write an ImageContentSourcePolicy, for OpenShift 4.12 and older.",
)
@click.option(
    "--catalog-namespace",
    default=option_values.MARKETPLACE,
    show_default=True,
    metavar="NAME",
    callback=namespace_name,
    help="Namespace of the CatalogSource.",
)
@click.option(
    "--no-referrers",
    is_flag=True,
    help="Copy the images without their signatures, attestations and bills of materials.",
)
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(1, 64),
    default=option_values.MIRROR_JOBS,
    show_default=True,
    help="Number of images to copy at once.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be copied without copying it.")
@registry_options
@target_options
def mirror(
    app: App,
    *,
    source: str,
    target: str,
    selection: SelectionOptions,
    access: Access,
    target_access: Access,
    **given: Any,
) -> None:
    """Copy a catalog and all images that it needs to a registry or a directory.

    SOURCE is a catalog, or the directory of a mirror. TARGET is `REGISTRY[/PREFIX]`, or
    `oci:DIRECTORY` for transport to another network. Images keep their digests, and their
    repositories below the prefix. What is there is not copied again, so run the command again to
    continue. For a part of the catalog, a catalog image that has this part alone is built.
    """
    from olmkit.jobs.catalog.mirroring import mirror as job
    from olmkit.jobs.catalog.mirroring.mirror import CatalogMirrorOptions
    from olmkit.jobs.image.mirror import MirrorOptions
    from olmkit.oci import mirroring
    from olmkit.olm.mirror_objects import MirrorFilesOptions

    wanted = mirroring.parse_target(target)
    options = CatalogMirrorOptions(
        requested=selection.read(source),
        pull_bundles=given["pull_bundles"],
        catalog_image=given["catalog_image"],
        created=source_date(),
        dry_run=given["dry_run"],
        copying=MirrorOptions(jobs=given["jobs"], with_referrers=not given["no_referrers"]),
        manifests=given["manifests_dir"],
        files=MirrorFilesOptions(
            namespace=given["catalog_namespace"],
            content_source_policy=given["content_source_policy"],
            plain_http=target_access.plain_http or mirroring.is_loopback(wanted),
        ),
    )
    with app.terminal.progress("mirroring") as progress:

        def said(image: MirroredImage) -> None:
            progress.advance(f"{image.arrival}: {image.source} ({size_text(image.sent)})")

        made = app.run(job.mirror_catalog(source, wanted, access, target_access, options, said))
    note_extra(app, made.extra)
    app.emit(_json(made), text=lambda: _text(made), diagnostics=made.diagnostics)


def _json(mirrored: MirroredCatalogs) -> dict[str, object]:
    return {
        "images": [
            {
                "source": image.source,
                "target": image.target,
                "digest": image.digest or None,
                "outcome": str(image.arrival),
                "referrers": image.referrers,
                "sent": image.sent,
            }
            for image in mirrored.images
        ],
        "catalogs": list(mirrored.catalogs),
        "manifests": output.changes_json(mirrored.changes) if mirrored.changes is not None else [],
    }


def _text(mirrored: MirroredCatalogs) -> str:
    return "\n".join(f"{image.source} -> {_pinned_copy(image)}" for image in mirrored.images)


def _pinned_copy(image: MirroredImage) -> str:
    """Return the copy with its digest, if that is known."""
    if not image.digest or "@" in image.target:
        return image.target
    return f"{image.target}@{image.digest}"
