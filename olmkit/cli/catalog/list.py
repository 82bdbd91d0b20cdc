"""`olmkit catalog list packages`, `channels` and `bundles`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from olmkit.cli.catalog import inputs
from olmkit.cli.frame import option_checks, options
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access

_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

_package_patterns: _Decorator = click.option(
    "-p",
    "--package",
    "patterns",
    metavar="PATTERN",
    multiple=True,
    help="List only packages whose name matches, such as `prom*`; repeatable.",
)
_channel_patterns: _Decorator = click.option(
    "--channel",
    "channel_patterns",
    metavar="PATTERN",
    multiple=True,
    help="List only channels whose name matches, such as `stable*`; repeatable.",
)
_deprecated: _Decorator = click.option(
    "--deprecated", is_flag=True, help="List only deprecated items."
)
_wide: _Decorator = click.option(
    "--wide", is_flag=True, help="Show more columns, to the right of those of `opm alpha list`."
)


def _list_options(*filters: _Decorator) -> Callable[..., Any]:
    """Return the common options of all lists, around those of one list."""
    added: tuple[_Decorator, ...] = (
        _package_patterns,
        *filters,
        _deprecated,
        _wide,
        registry_options,
    )
    return lambda run: options.add(run, added)


@command(
    example="""
    olmkit catalog list packages catalog
    olmkit catalog list packages quay.io/example/catalog:v1 --package 'prom*' --wide
    olmkit catalog list packages catalog --deprecated -o json
    olmkit catalog list packages catalogsource:olm/example
    """
)
@click.argument("reference", metavar="REF")
@_list_options()
def packages(
    app: App,
    *,
    reference: str,
    patterns: tuple[str, ...],
    deprecated: bool,
    wide: bool,
    access: Access,
) -> None:
    """List the packages of a catalog.

    REF is a directory, a file or an image, or a catalog of the cluster:
    `catalogsource:[NAMESPACE/]NAME` or `clustercatalog:NAME`.
    """
    from olmkit.catalog import listing

    wanted = listing.Filter(packages=patterns, deprecated=deprecated)
    rows = listing.packages(inputs.read(app, reference, access), filter_=wanted)
    more = ("CHANNELS", "BUNDLES", "DEPRECATION")
    _show(app, ("NAME", "DISPLAY NAME", "DEFAULT CHANNEL"), more, list(rows), wide=wide)


@command(
    example="""
    olmkit catalog list channels catalog
    olmkit catalog list channels quay.io/example/catalog:v1 memcached-operator
    olmkit catalog list channels catalog --channel 'stable*' --wide
    """
)
@click.argument("reference", metavar="REF")
@click.argument("package", default="")
@_list_options(_channel_patterns)
def channels(
    app: App,
    *,
    reference: str,
    package: str,
    patterns: tuple[str, ...],
    channel_patterns: tuple[str, ...],
    deprecated: bool,
    wide: bool,
    access: Access,
) -> None:
    """List the channels of a catalog, or of one package.

    REF is a directory, a file or an image, or a catalog of the cluster:
    `catalogsource:[NAMESPACE/]NAME` or `clustercatalog:NAME`.
    """
    from olmkit.catalog import listing

    wanted = listing.Filter(packages=patterns, channels=channel_patterns, deprecated=deprecated)
    rows = listing.channels(inputs.read(app, reference, access), package, wanted)
    more = ("DEFAULT", "ENTRIES", "DEPRECATION")
    _show(app, ("PACKAGE", "CHANNEL", "HEAD"), more, list(rows), wide=wide)


@command(
    example="""
    olmkit catalog list bundles catalog
    olmkit catalog list bundles catalog memcached-operator -o json
    olmkit catalog list bundles catalog --package 'mem*' --channel stable --version '>=1.2.0'
    olmkit catalog list bundles quay.io/example/catalog:v1 --heads --wide
    """
)
@click.argument("reference", metavar="REF")
@click.argument("package", default="")
@_list_options(
    _channel_patterns,
    click.option("--version", "versions", metavar="RANGE", help="List only versions in the range."),
    click.option("--heads", is_flag=True, help="List only the heads of channels."),
    click.option(
        "--sort",
        type=click.Choice(["name", "version"]),
        default="name",
        show_default=True,
        help="Order within a channel: by name, or the newest version first.",
    ),
)
def bundles(
    app: App,
    *,
    reference: str,
    package: str,
    patterns: tuple[str, ...],
    channel_patterns: tuple[str, ...],
    versions: str | None,
    heads: bool,
    sort: str,
    deprecated: bool,
    wide: bool,
    access: Access,
) -> None:
    """List the bundles of a catalog, or of one package.

    REF is a directory, a file or an image, or a catalog of the cluster:
    `catalogsource:[NAMESPACE/]NAME` or `clustercatalog:NAME`.
    """
    from olmkit.base.version_constraints import VersionConstraint
    from olmkit.catalog import listing

    with option_checks.checked("--version"):
        wanted_versions = VersionConstraint.parse(versions) if versions else None
    wanted = listing.Filter(
        packages=patterns,
        channels=channel_patterns,
        versions=wanted_versions,
        heads=heads,
        deprecated=deprecated,
    )
    catalog = inputs.read(app, reference, access)
    rows = listing.bundles(catalog, package, wanted, by_version=sort == "version")
    header = ("PACKAGE", "CHANNEL", "BUNDLE", "REPLACES", "SKIPS", "SKIP RANGE", "IMAGE")
    _show(app, header, ("VERSION", "HEAD", "DEPRECATION"), list(rows), wide=wide)


def _show(
    app: App, header: tuple[str, ...], more: tuple[str, ...], rows: Sequence[Any], *, wide: bool
) -> None:
    from olmkit.catalog import listing

    values = [asdict(row) for row in rows]
    shown = (*header, *more) if wide else header
    app.emit(
        [{_camel(key): value for key, value in row.items()} for row in values],
        text=lambda: listing.text(
            shown,
            [tuple(_cell(*each) for each in list(row.items())[: len(shown)]) for row in values],
            trimmed=wide,
        ),
    )
    if not values and not app.is_json:
        app.terminal.note("nothing fits")


def _cell(key: str, value: str | bool | int | tuple[str, ...]) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, tuple):
        return ",".join(value)
    return " ".join(str(value).split()) if key == "deprecation" else str(value)


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
