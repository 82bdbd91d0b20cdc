"""`olmkit catalog convert`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from olmkit.cli.frame import option_values
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.options import form_option
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.catalog.blobs import fbc
    from olmkit.edges.images.access_settings import Access


@command(
    output=False,
    example="""
    olmkit catalog convert basic catalog/ > catalog-templates/basic.yaml
    olmkit catalog convert semver index.db > catalog-templates/semver.yaml
    olmkit catalog convert basic 0.1.0/ 0.2.0/ --image quay.io/example/cog-bundle:v{version}
    olmkit catalog render-template catalog-templates/basic.yaml > catalog.yaml
    """,
)
@click.argument("kind", type=click.Choice(["basic", "semver", "substitutes"]))
@click.argument("references", metavar="REF...", nargs=-1, required=True)
@form_option
@click.option(
    "--image",
    metavar="IMAGE",
    default="",
    help="Image reference of bundle directories; {package}, {name} and {version} are replaced.",
)
@registry_options
def convert(
    app: App, *, kind: str, references: tuple[str, ...], form: fbc.Form, image: str, access: Access
) -> None:
    """Write the template of a catalog, the reverse of `render-template`.

    REF is a directory or file of a catalog, an index database (SQLite), an image of one of these,
    or `-` for the standard input. REF can also be the directory or image of a bundle: then the
    annotations of all bundles name the channels, and their ClusterServiceVersions the upgrade
    edges. What the template cannot express is an error. Templates name bundles by their images:
    `render-template` reads those again.
    """
    from olmkit.catalog.templates import conversion
    from olmkit.jobs.catalog.templates import conversion as job

    stdin = _stdin() if option_values.STDIN in references else None
    result = app.run(job.convert(references, job.Kind(kind), access, image=image, stdin=stdin))
    app.report(result.diagnostics)
    app.terminal.result_bytes(conversion.dump(result.template, form))


def _stdin() -> bytes:
    from olmkit.base.diagnostics import ConfigurationError
    from olmkit.jobs.catalog.local import MAX_CATALOG_FILE

    data = sys.stdin.buffer.read(MAX_CATALOG_FILE + 1)
    if len(data) > MAX_CATALOG_FILE:
        raise ConfigurationError(
            f"the catalog is larger than the {MAX_CATALOG_FILE // 1024 // 1024} MB that are read",
            hint="write it to several files of a directory, and name the directory",
        )
    return data
