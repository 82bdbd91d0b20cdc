"""`olmkit hub build`."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.exits import Exit
from olmkit.cli.frame.output import plural
from olmkit.cli.frame.registry_options import registry_options
from olmkit.cli.hub.options import require_libraries, source_options

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.hub.build import Built
    from olmkit.jobs.hub.options import SourceOptions


@command(
    example="""
    olmkit hub build catalog -d public
    olmkit hub build quay.io/example/catalog:v1 -d public --title 'Operators of Example'
    olmkit hub build catalogs/stable catalogs/beta -d public --dry-run
    olmkit hub build catalog -d public --previous public --bundles heads
    """
)
@click.argument("references", metavar="REF...", nargs=-1, required=True)
@click.option(
    "-d",
    "--directory",
    "folder",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for the pages: new, empty, or from an earlier build.",
)
@click.option("--title", default="", help="Title of the hub. Default: the name of the catalog.")
@click.option(
    "--base-url",
    default="",
    metavar="URL",
    help="Address where the pages are published: for links of feeds, search engines and previews.",
)
@click.option(
    "--previous",
    type=click.Path(path_type=Path, exists=True),
    metavar="PATH",
    help="Directory or `index.json` of an earlier build: `feed.xml` and the about page list what "
    "changed since then.",
)
@click.option(
    "--build-time",
    "time",
    default="",
    metavar="TIME",
    help="Time of this build (RFC 3339), for the about page and for the changes. Default: none, "
    "so that the same catalog produces the same bytes.",
)
@click.option(
    "--image-link",
    default="",
    metavar="URL",
    help="URL of a scan or an SBOM of an image, with `{image}` for its reference; each image "
    "gets a link.",
)
@click.option(
    "--gzip", "packed", is_flag=True, help="Write a compressed `.gz` copy of each large text file."
)
@click.option("--dry-run", is_flag=True, help="Show what would be written without writing it.")
@source_options
@registry_options
def build(
    app: App,
    *,
    references: tuple[str, ...],
    folder: Path,
    title: str,
    base_url: str,
    previous: Path | None,
    time: str,
    image_link: str,
    packed: bool,
    dry_run: bool,
    source: SourceOptions,
    access: Access,
) -> None:
    """Build web pages that show what catalogs contain.

    REF is a directory or an image. The pages need no server: open `index.html`, or copy the
    directory to any web server. Links are relative. The same catalog gives the same bytes. Later
    builds render only pages that changed, and write only files that differ.

    A package that cannot be shown gets a page that says why; the exit code is 1 then.
    """
    require_libraries()
    job = importlib.import_module("olmkit.jobs.hub.build")
    options = job.BuildOptions(
        title=title,
        base_url=base_url,
        packed=packed,
        dry_run=dry_run,
        previous=previous,
        time=time,
        image_link=image_link,
        source=source,
    )
    built = app.run(job.build(references, folder, options, access))
    app.emit(
        {
            "directory": str(folder),
            "packages": built.packages,
            "pages": built.pages,
            "files": built.files,
            "rendered": built.rendered,
            "changed": [
                {"path": path, "change": str(kind)} for path, kind in built.changes.items()
            ],
            "failed": list(built.failed),
            "dryRun": dry_run,
        },
        text=_text(built, dry_run=dry_run),
    )
    for line in built.failed:
        app.terminal.say(f"warning: {line}")
    if built.failed:
        app.exit(Exit.NO)


def _text(built: Built, *, dry_run: bool) -> str:
    verb = "would change" if dry_run else "changed"
    amount = f"{plural(built.packages, 'package')}, {plural(built.pages, 'page')}"
    return f"{built.folder}: {amount}; {plural(len(built.changes), 'file')} {verb}"
