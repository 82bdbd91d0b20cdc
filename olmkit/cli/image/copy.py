"""`olmkit image copy`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from olmkit.cli.frame import push_output
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.registry_options import PlatformType, registry_options

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access
    from olmkit.oci.content import Platform


@command(
    example="""
    olmkit image copy oci:dist/oci:memcached-operator-bundle:v0.1.0 localhost:5000/bundle:v0.1.0
    olmkit image copy quay.io/example/operator:v1 oci-archive:operator.tar:v1
    """
)
@click.argument("source", metavar="REF")
@click.argument("target", metavar="TARGET")
@click.option(
    "--platform",
    type=PlatformType(),
    metavar="OS/ARCH",
    help="Copy only the image for this platform, instead of all platforms.",
)
@click.option(
    "--no-referrers",
    is_flag=True,
    help="Copy the image without its signatures, attestations and bills of materials.",
)
@registry_options
def copy(
    app: App,
    *,
    source: str,
    target: str,
    platform: Platform | None,
    no_referrers: bool,
    access: Access,
) -> None:
    """Copy an image to another location, with all its digests.

    Source and target can each be a registry, a layout, an archive or a Docker engine. Docker
    formats hold one platform. Signatures and other manifests that refer to the image come along
    into registries and layouts. Prints the pinned reference.
    """
    from olmkit.jobs.image import copy as job

    with push_output.show_progress(app) as report:
        copied = app.run(
            job.copy(
                source,
                target,
                replace(access, platform=platform),
                report,
                with_referrers=not no_referrers,
            )
        )
    app.emit(
        {
            "reference": copied.reference,
            "digest": copied.digest,
            "pieces": push_output.pieces(copied.steps),
            "referrers": push_output.referrers(copied.referrers),
        },
        text=copied.reference,
    )
