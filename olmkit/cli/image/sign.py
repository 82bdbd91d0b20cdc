"""`olmkit image sign`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.registry_options import registry_options
from olmkit.cli.image.annotations import annotation_option

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access


@command(
    example="""
    olmkit image sign --key cosign.key quay.io/example/memcached-operator@sha256:…
    olmkit image sign --key key.pem -a release=stable quay.io/example/catalog:v1
    """
)
@click.argument("references", metavar="REF...", nargs=-1, required=True)
@click.option(
    "--key",
    type=click.Path(path_type=Path),
    required=True,
    envvar="OLMKIT_SIGNING_KEY",
    help="Private key: ECDSA P-256 in PEM format, from cosign or OpenSSL.",
)
@annotation_option("Annotation to sign together with the digest; repeatable.")
@registry_options
def sign(
    app: App,
    *,
    references: tuple[str, ...],
    key: Path,
    annotations: Mapping[str, str],
    access: Access,
) -> None:
    """Sign images with a private key, as cosign does.

    The signature is stored next to the image, under the tag `sha256-….sig`. No other service is
    contacted. The password of the key comes from the variable `COSIGN_PASSWORD`, or from the
    terminal. Prints the pinned references.
    """
    from olmkit.edges.images import signing_keys
    from olmkit.jobs.image import signatures as job

    private = signing_keys.read_private(key, partial(_password, app))
    made = []
    for reference in references:
        one = app.run(job.sign(reference, private, access, annotations=annotations))
        made.append(one)
        if not one.is_new:
            app.terminal.note(f"{one.reference} already has this signature")
    app.emit(
        {
            "images": [
                {
                    "reference": one.reference,
                    "digest": one.digest,
                    "signature": one.signature,
                    "new": one.is_new,
                }
                for one in made
            ]
        },
        text="\n".join(one.reference for one in made),
    )


def _password(app: App) -> str:
    """Return the key's password, which is never an option: other users would see it."""
    if "COSIGN_PASSWORD" in os.environ:
        return os.environ["COSIGN_PASSWORD"]
    if not sys.stdin.isatty():
        raise ConfigurationError(
            "the private key is encrypted", hint="set `COSIGN_PASSWORD` to its password"
        )
    app.terminal.end_wait()
    return str(click.prompt("Password of the private key", hide_input=True, err=True))
