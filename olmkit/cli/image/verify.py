"""`olmkit image verify`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.exits import Exit, exit_code
from olmkit.cli.frame.registry_options import registry_options
from olmkit.cli.image.annotations import annotation_option

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.image.signatures import VerifiedImage


@command(
    example="""
    olmkit image verify --key cosign.pub quay.io/example/memcached-operator:v0.0.2
    olmkit catalog images catalog | xargs olmkit image verify --key cosign.pub
    """
)
@click.argument("references", metavar="REF...", nargs=-1, required=True)
@click.option(
    "--key",
    "keys",
    type=click.Path(path_type=Path),
    multiple=True,
    required=True,
    envvar="OLMKIT_VERIFICATION_KEY",
    help="Public key in PEM format; repeatable. A signature by any of them is accepted.",
)
@annotation_option("Annotation that the signature must have; repeatable.")
@registry_options
def verify(
    app: App,
    *,
    references: tuple[str, ...],
    keys: tuple[Path, ...],
    annotations: Mapping[str, str],
    access: Access,
) -> None:
    """Verify the signatures of images with public keys.

    The signatures are those of `olmkit image sign` and of cosign, with or without a bundle. No
    other service is contacted, so a transparency log is not consulted. Prints the pinned
    references of images with a valid signature. The exit code is 1 if an image has none.
    """
    from olmkit.edges.images import signing_keys
    from olmkit.jobs.image import signatures as job

    public = [signing_keys.read_public(key) for key in keys]
    found = app.run(job.verify(references, public, access, annotations=annotations))
    wrong = [one for one in found if not one.is_valid]
    for one in wrong:
        if not app.is_json:
            app.terminal.say(f"error: `{one.reference}`: {one.reason}")
    app.emit(
        {"images": [_facts(one) for one in found]},
        text="\n".join(one.reference for one in found if one.is_valid),
    )
    if wrong:
        codes = [exit_code(one.error) for one in wrong if one.error is not None]
        app.exit(max(codes, default=Exit.NO))


def _facts(one: VerifiedImage) -> dict[str, object]:
    return {
        "reference": one.reference,
        "digest": one.digest or None,
        "valid": one.is_valid,
        "annotations": [dict(found) for found in one.annotations],
        "reason": one.reason or None,
    }
