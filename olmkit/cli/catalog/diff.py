"""`olmkit catalog diff`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from olmkit.cli.catalog import inputs
from olmkit.cli.frame import option_values
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
    output=False,
    example="""
    olmkit catalog diff quay.io/example/catalog:latest catalog
    olmkit catalog diff old new --package memcached-operator -o json
    olmkit catalog diff old new --kind bundle --change added -o table
    olmkit catalog diff old new --package 'mem*' --channel stable --sort change
    olmkit catalog diff old new --exit-code
    """,
)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "-p",
    "--package",
    "packages",
    metavar="PATTERN",
    multiple=True,
    help="Show only packages whose name matches, such as `prom*`; repeatable.",
)
@click.option(
    "--channel",
    "channels",
    metavar="PATTERN",
    multiple=True,
    help="Show only channels whose name matches, their entries and bundles; repeatable.",
)
@click.option(
    "--kind",
    "nouns",
    type=click.Choice(option_values.DIFFERENCE_NOUNS),
    multiple=True,
    help="Show only changes of this kind of item; repeatable.",
)
@click.option(
    "--change",
    "kinds",
    type=click.Choice(option_values.DIFFERENCE_KINDS),
    multiple=True,
    help="Show only this change; repeatable.",
)
@click.option(
    "--sort",
    type=click.Choice(["package", "kind", "change"]),
    default="package",
    show_default=True,
    help="Sort order; then by package and name.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "table", "json"]),
    default="text",
    show_default=True,
    envvar="OLMKIT_OUTPUT",
    help="Output format of the result.",
)
@click.option("--exit-code", is_flag=True, help="Exit with code 1 if there are differences.")
@registry_options
def diff(
    app: App,
    *,
    old: str,
    new: str,
    packages: tuple[str, ...],
    channels: tuple[str, ...],
    nouns: tuple[str, ...],
    kinds: tuple[str, ...],
    sort: str,
    output: str,
    exit_code: bool,
    access: Access,
) -> None:
    """Show the differences between two catalogs: graph, images, deprecations.

    A package, channel or bundle that is new or removed is one line. Only JSON output shows
    `properties` and other long values in full. With a filter, `--exit-code` is about what it shows.
    """
    from olmkit.catalog import listing
    from olmkit.catalog.changes import difference

    app.output = output
    before, now = (inputs.read(app, one, access, valid=False) for one in (old, new))
    for name in packages:
        if not set(name) & set("*?[") and name not in before.packages:
            now.chosen(name)
    found = [
        one
        for one in difference.compare_catalogs(before, now)
        if listing.fits(one.package, packages)
        and (not nouns or one.noun in nouns)
        and (not kinds or one.kind in kinds)
        and (not channels or difference.is_in_channel(one, (before, now), channels))
    ]
    if sort != "package":  # a stable sort keeps the order of packages and names
        order = option_values.DIFFERENCE_NOUNS if sort == "kind" else option_values.DIFFERENCE_KINDS
        found.sort(key=lambda one: order.index(one.noun if sort == "kind" else one.kind))
    text = _table(found) if output == "table" else "\n".join(_lines(found))
    app.emit([_value(one) for one in found], text=text)
    app.terminal.note(f"{plural(len(found), 'difference')}" if found else "nothing differs")
    if found and exit_code:
        app.exit(Exit.NO)


def _table(found: list[Difference]) -> str:
    from olmkit.catalog import listing

    rows: list[tuple[str, ...]] = []
    for one in found:
        head = (str(one.kind), str(one.noun), one.package, one.channel, one.name)
        fields = one.fields if one.kind == "changed" else ()
        rows += [(*head, field.name, *map(_short, (field.old, field.new))) for field in fields]
        if not fields:
            rows.append((*head, "", "", ""))
    header = ("CHANGE", "KIND", "PACKAGE", "CHANNEL", "NAME", "FIELD", "OLD", "NEW")
    return listing.text(header, rows, trimmed=True) if rows else ""


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"


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
    return f"{one.noun} {one.name}"


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
