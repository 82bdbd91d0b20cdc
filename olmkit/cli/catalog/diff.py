"""`olmkit catalog diff`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from olmkit.cli.catalog import inputs
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.exits import Exit
from olmkit.cli.frame.output import plural
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.catalog.changes.difference import Difference, Field
    from olmkit.edges.images.access_settings import Access

_SIGNS = {"added": "+", "removed": "-", "changed": "~"}  # by the kind of a difference
_LONG = 100


@command(
    example="""
    olmkit catalog diff quay.io/example/catalog:latest catalog
    olmkit catalog diff old new --package memcached-operator -o json
    olmkit catalog diff old new --exit-code
    """
)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--package", default="", help="Show only this package.")
@click.option("--exit-code", is_flag=True, help="Exit with code 1 if there are differences.")
@registry_options
def diff(app: App, *, old: str, new: str, package: str, exit_code: bool, access: Access) -> None:
    """Show the differences between two catalogs: graph, images, deprecations.

    A package, channel or bundle that is new or removed is one line. Only JSON output shows
    `properties` and other long values in full.
    """
    from olmkit.catalog.changes import difference

    before, now = (inputs.read(app, one, access, valid=False) for one in (old, new))
    if package and package not in before.packages:
        now.chosen(package)
    found = [one for one in difference.of_catalogs(before, now) if package in ("", one.package)]
    app.emit([_value(one) for one in found], text="\n".join(_lines(found)))
    app.terminal.note(f"{plural(len(found), 'difference')}" if found else "nothing differs")
    if found and exit_code:
        app.exit(Exit.NO)


def _lines(found: list[Difference]) -> Iterator[str]:
    package = ""
    for one in found:
        if one.package != package:
            package = one.package
            if one.channel or one.bundle:
                yield f"package {package}"
        yield f"{_SIGNS[one.kind]} {_name(one)}"
        yield from (f"    {_field(field)}" for field in one.fields)


def _name(one: Difference) -> str:
    if one.entry:
        return f"channel {one.channel}: {one.entry}"
    if one.bundle:
        return f"bundle {one.bundle}"
    return f"channel {one.channel}" if one.channel else f"package {one.package}"


def _field(field: Field) -> str:
    if len(field.old) > _LONG or len(field.new) > _LONG:
        return f"{field.name}: changed" if field.old else field.name
    if not field.old:
        return f"{field.name}: {field.new}"
    return f"{field.name}: {field.old} → {field.new or 'none'}"


def _value(one: Difference) -> dict[str, object]:
    value = {key: found for key, found in asdict(one).items() if found and key != "fields"}
    return value | {
        "kind": str(one.kind),
        "fields": {field.name: {"old": field.old, "new": field.new} for field in one.fields},
    }
