"""`olmkit bundle build`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from olmkit.cli.frame import push_output
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.build_options import build_options, engine_option

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.image.publish import PublishOptions


@command(
    project=True,
    example="""
    olmkit bundle build
    olmkit bundle build -t quay.io/example/memcached-operator-bundle:v0.1.0 --push
    olmkit bundle build bundle/* -t quay.io/example/memcached-operator-bundle --push
    """,
)
@click.argument("folders", metavar="[DIR]...", nargs=-1)
@build_options
@engine_option("`bundle.Dockerfile`")
def build(
    app: App, *, folders: tuple[str, ...], options: PublishOptions, access: Access, engine: str
) -> None:
    """Build the images of bundles, without a container engine.

    The images go to the layout `dist/oci`, which `skopeo` and other tools read, and are identical
    on every machine. Prints the pinned references. Several bundles go to one repository, each
    tagged with its version.
    """
    from olmkit.jobs.bundle import build as job

    folders = folders or ("bundle",)
    with push_output.show_progress(app) as report:
        if engine:
            say = app.terminal.note
            made = app.run(job.build_with_engine(engine, folders, options, access, report, say))
        else:
            made = app.run(job.build(folders, options, access, report))
    if len(made) == 1:
        push_output.show(app, made[0])
    else:
        push_output.show_all(app, made)
