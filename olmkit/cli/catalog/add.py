"""`olmkit catalog add`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olmkit.cli.frame import option_values, output
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.catalog.changes.addition import NewEntry
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.catalog.add import Added


@command(
    example="""
    olmkit catalog add catalog bundle --image quay.io/example/memcached-operator-bundle:v{version}
    olmkit catalog add catalog quay.io/example/memcached-operator-bundle:v0.2.0 --channel stable
    olmkit catalog add catalog bundles/*/bundle --image quay.io/example/{package}-bundle:v{version}
    """,
)
@click.argument("catalog", type=click.Path(path_type=Path))
@click.argument("bundles", metavar="BUNDLE...", nargs=-1, required=True)
@click.option(
    "-c",
    "--channel",
    "channels",
    metavar="CHANNEL",
    multiple=True,
    help="Channel that offers the bundle; repeatable. Default: the channels in its annotations.",
)
@click.option("--replaces", metavar="NAME", default="", help="Bundle that the new one replaces.")
@click.option(
    "--skips", metavar="NAME", multiple=True, help="Bundle that the new one skips; repeatable."
)
@click.option(
    "--skip-range",
    metavar="RANGE",
    default="",
    help="Range of versions that the new bundle skips, such as `<1.2.0`.",
)
@click.option(
    "--image",
    metavar="IMAGE",
    default="",
    help="Image reference of a bundle directory; {package}, {name} and {version} are replaced.",
)
@click.option(
    "--migrate",
    "level",
    type=click.Choice(option_values.MIGRATIONS),
    default=option_values.MIGRATIONS[0],
    show_default=True,
    help="Migration level of the blob that is written.",
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace a different bundle of the same name, for a version that is not published.",
)
@click.option(
    "--dry-run", is_flag=True, help="Show what would be written without writing anything."
)
@registry_options
def add(
    app: App,
    *,
    catalog: Path,
    bundles: tuple[str, ...],
    channels: tuple[str, ...],
    replaces: str,
    skips: tuple[str, ...],
    skip_range: str,
    image: str,
    level: str,
    overwrite: bool,
    dry_run: bool,
    access: Access,
) -> None:
    """Add a new version to a catalog.

    CATALOG is a directory or a file, which can be new; BUNDLE is a directory or an image. By
    default, the bundle replaces the one that its ClusterServiceVersion names, or the head of the
    channel. A bundle that the catalog has already changes nothing. Several bundles are added from
    the lowest version to the highest. Nothing is written if the catalog would not be valid.
    """
    from olmkit.catalog.bundles.migrate import Level
    from olmkit.catalog.changes.addition import Placement
    from olmkit.jobs.catalog import add as job
    from olmkit.jobs.catalog.add import AddOptions

    options = AddOptions(
        placement=Placement(
            channels=channels,
            replaces=replaces,
            skips=skips,
            skip_range=skip_range,
            overwrite=overwrite,
        ),
        image=image,
        level=Level(level),
        access=access,
    )
    added = app.run(job.add_all(catalog, bundles, options, dry_run=dry_run))
    values = [_value(one) for one in added]
    lines = [line for one in added for line in _lines(one, dry_run=dry_run)]
    app.emit(
        values[0] if len(values) == 1 else {"bundles": values},
        text=app.told("\n".join(lines), is_result=dry_run),
        diagnostics=[found for one in added for found in one.diagnostics],
    )


def _value(added: Added) -> dict[str, Any]:
    return {
        "package": added.package,
        "bundle": added.bundle,
        "entries": [{"channel": entry.channel, **entry.value()} for entry in added.entries],
        "changes": output.changes_json(added.changes),
    }


def _lines(added: Added, *, dry_run: bool) -> Iterator[str]:
    yield output.changes_text(added.changes, dry_run=dry_run) or "nothing to change"
    yield from map(_line, added.entries)


def _line(entry: NewEntry) -> str:
    words = [f"{entry.channel}: {entry.name}"]
    if entry.replaces:
        words.append(f"replaces {entry.replaces}")
    if entry.skips:
        words.append(f"skips {', '.join(entry.skips)}")
    if entry.skip_range:
        words.append(f"skips the versions {entry.skip_range}")
    return " ".join((words[0], ", ".join(words[1:]))).rstrip()
