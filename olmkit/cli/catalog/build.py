"""`olmkit catalog build`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.frame import push_output
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.build_options import build_options

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.catalog.image import ServerOptions
    from olmkit.jobs.image.publish import PublishOptions


_RESERVED: Final = "operators.operatorframework.io.index."


@command(
    project=True,
    example="""
    olmkit catalog build
    olmkit catalog build catalog -t quay.io/example/catalog:v1 --push
    olmkit catalog build --server olmkit -t quay.io/example/catalog:v1 --push
    olmkit catalog build --server quay.io/operator-framework/opm:v1.60.0 --opm-cache --push \
      -t quay.io/example/catalog:v1
    """,
)
@click.argument("folder", metavar="[DIR]", default="catalog")
@build_options(platforms_else="all platforms that OLM supports; with a server, this machine's")
@click.option(
    "--server",
    metavar="none|olmkit|opm|REF",
    default="none",
    show_default=True,
    help="Program that serves the catalog when the image runs: olmkit, or the opm of the image "
    "REF; `none` adds only the data.",
)
@click.option(
    "--opm-cache",
    is_flag=True,
    help="Add the cache of opm, in its JSON format: opm starts at once, and checks the cache.",
)
@click.option(
    "-l",
    "--label",
    "labels",
    metavar="KEY=VALUE",
    multiple=True,
    help="Label to add to the image; repeatable.",
)
@click.option(
    "--base",
    default="",
    metavar="REF",
    help="Base image: one with Python for olmkit, an opm image for opm.",
)
@click.option("--pull", is_flag=True, help="Pull the base image again.")
@click.option("--python", default="", metavar="VERSION", help="Python version of the base image.")
@click.option(
    "--wheels",
    default="",
    metavar="FOLDER",
    envvar="OLMKIT_WHEELS",
    help="Install the server from the wheels in this directory, not from the network.",
)
def build(
    app: App,
    *,
    folder: str,
    options: PublishOptions,
    access: Access,
    server: str,
    opm_cache: bool,
    labels: tuple[str, ...],
    **given: Any,
) -> None:
    """Build the image of a catalog, without a container engine.

    The image goes to the layout `dist/oci`, which `skopeo` and other tools read, and is identical
    on every machine. OLM v0 can run an image with a server. Prints the pinned reference.
    """
    options = dataclasses.replace(options, labels=dict(map(_label, labels)))
    with push_output.show_progress(app) as report:
        if server == "none":
            from olmkit.jobs.image import publish

            if any(given.values()):
                raise ConfigurationError(
                    "`--base`, `--pull`, `--python` and `--wheels` are for images with a server",
                    hint="choose a server: `--server olmkit` or `--server opm`",
                )
            made = app.run(
                publish.build_catalog(folder, options, access, report, opm_cache=opm_cache)
            )
        else:
            from olmkit.jobs.catalog import image as job

            wanted = _server(server, opm_cache, given)
            made = app.run(job.build(folder, options, wanted, access, report, app.terminal.note))
    push_output.show(app, made)


def _label(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not key or not sign:
        raise ConfigurationError(f"`{text}` is not a label", hint="write `KEY=VALUE`")
    if key.startswith(_RESERVED):
        raise ConfigurationError(
            f"the label `{key}` says where the catalog is, and is set by the build",
            hint="leave it out",
        )
    return key, value


def _server(server: str, opm_cache: bool, options: dict[str, Any]) -> ServerOptions:
    from olmkit.jobs.catalog.image import ServerKind, ServerOptions

    if server == "olmkit":
        if opm_cache:
            raise ConfigurationError(
                "`--opm-cache` is for opm, which `--server olmkit` does not start",
                hint="omit it, or choose `--server opm`",
            )
        return ServerOptions(kind=ServerKind.OLMKIT, **options)
    if server != "opm":
        # A mistyped word would be an image of Docker Hub.
        if "/" not in server:
            raise ConfigurationError(
                f"`{server}` is not `none`, `olmkit`, `opm` or an image with a registry",
                hint="write the image as `REGISTRY/REPOSITORY:TAG`",
            )
        if options["base"]:
            raise ConfigurationError(
                "`--server` already names an image, so `--base` has no effect",
                hint="leave out `--base`",
            )
        options = {**options, "base": server}
    return ServerOptions(kind=ServerKind.OPM, opm_cache=opm_cache, **options)
