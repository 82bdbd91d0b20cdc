"""`olmkit catalog graph`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.catalog import inputs
from olmkit.cli.frame import output as render
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.catalog.model import Package
    from olmkit.edges.images.access_settings import Access


@command(
    output=False,
    example="""
    olmkit catalog graph catalog
    olmkit catalog graph catalog memcached-operator -o mermaid
    olmkit catalog graph catalog memcached-operator -o svg > graph.svg
    olmkit catalog graph catalog memcached-operator --minimum-edge memcached-operator.v1.2.0
    olmkit catalog graph quay.io/example/catalog:v1 -o dot | dot -T pdf > graph.pdf
    """,
)
@click.argument("reference", metavar="REF")
@click.argument("package", default="")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "svg", "png", "mermaid", "dot", "json"]),
    default="text",
    show_default=True,
    envvar="OLMKIT_OUTPUT",
    help="Output format of the graph.",
)
@click.option(
    "--minimum-edge",
    metavar="BUNDLE",
    default="",
    help="Show only the edges from this bundle and later ones of its package.",
)
@click.option(
    "--draw-v0-semantics",
    is_flag=True,
    help="Mark in Mermaid what OLM v0 skips, and edges that it never follows.",
)
@registry_options
def draw(
    app: App,
    *,
    reference: str,
    package: str,
    output: str,
    minimum_edge: str,
    draw_v0_semantics: bool,
    access: Access,
) -> None:
    """Show the upgrade graphs of a catalog, or of one package.

    `svg` draws a row for each bundle and a line for each channel; `png` is the same picture, made
    by `rsvg-convert`, `resvg` or `magick`, whichever this machine has.
    """
    from olmkit.catalog.graph import drawing, picture, reduction
    from olmkit.edges.programs import png

    if draw_v0_semantics and output != "mermaid":
        raise ConfigurationError(
            "`--draw-v0-semantics` is for Mermaid; the other formats always mark what is skipped",
            hint="pass `-o mermaid`, or omit the option",
        )
    app.output = output
    packages = inputs.read(app, reference, access, valid=False).chosen(package)
    if minimum_edge:
        packages = reduction.from_bundle(packages, minimum_edge)
    match output:
        case "json":
            words = render.envelope(app.command, [_json(one) for one in packages], ())
            app.terminal.result(words, exact=True)
        case "mermaid":
            app.terminal.result(drawing.mermaid(packages, v0=draw_v0_semantics))
        case "svg":
            app.terminal.result(picture.svg(packages), exact=True)
        case "png":
            image = app.run(png.from_svg(picture.svg(packages).encode(), access.environment))
            app.terminal.result_bytes(image)
        case "dot":
            app.terminal.result(drawing.dot(packages))
        case _:
            app.terminal.result(drawing.lines(packages))


def _json(package: Package) -> dict[str, Any]:
    from olmkit.catalog.graph import links as graph

    return {
        "package": package.name,
        "defaultChannel": package.default_channel,
        "channels": [
            {
                "channel": name,
                "heads": list(graph.heads(channel)),
                "entries": [
                    {"name": entry.name, "version": str(entry.version) if entry.bundle else None}
                    for entry in graph.sort_by_version(channel.entries)
                ],
                "edges": [
                    {"from": edge.old, "to": edge.new, "by": str(edge.kind)}
                    for edge in graph.edges(channel)
                ],
            }
            for name, channel in sorted(package.channels.items())
        ],
    }
