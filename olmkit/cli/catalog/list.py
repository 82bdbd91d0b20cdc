"""`olmkit catalog list packages`, `channels` and `bundles`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from olmkit.cli.catalog import inputs
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access


@command(example="olmkit catalog list packages catalog")
@click.argument("reference", metavar="REF")
@registry_options
def packages(app: App, *, reference: str, access: Access) -> None:
    """List the packages of a catalog."""
    from olmkit.catalog import listing

    rows = listing.packages(inputs.read(app, reference, access))
    _show(app, ("NAME", "DISPLAY NAME", "DEFAULT CHANNEL"), rows)


@command(
    example="""
    olmkit catalog list channels catalog
    olmkit catalog list channels quay.io/example/catalog:v1 memcached-operator
    """
)
@click.argument("reference", metavar="REF")
@click.argument("package", default="")
@registry_options
def channels(app: App, *, reference: str, package: str, access: Access) -> None:
    """List the channels of a catalog, or of one package."""
    from olmkit.catalog import listing

    rows = listing.channels(inputs.read(app, reference, access), package)
    _show(app, ("PACKAGE", "CHANNEL", "HEAD"), rows)


@command(
    example="""
    olmkit catalog list bundles catalog
    olmkit catalog list bundles catalog memcached-operator -o json
    """
)
@click.argument("reference", metavar="REF")
@click.argument("package", default="")
@registry_options
def bundles(app: App, *, reference: str, package: str, access: Access) -> None:
    """List the bundles of a catalog, or of one package."""
    from olmkit.catalog import listing

    rows = listing.bundles(inputs.read(app, reference, access), package)
    header = ("PACKAGE", "CHANNEL", "BUNDLE", "REPLACES", "SKIPS", "SKIP RANGE", "IMAGE")
    _show(app, header, rows)


def _show(app: App, header: tuple[str, ...], rows: Iterable[Any]) -> None:
    from olmkit.catalog import listing

    values = [asdict(row) for row in rows]
    app.emit(
        [{_camel(key): value for key, value in row.items()} for row in values],
        text=lambda: listing.text(
            header, [tuple(_cell(value) for value in row.values()) for row in values]
        ),
    )


def _cell(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else ",".join(value)


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
