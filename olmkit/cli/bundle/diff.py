"""`olmkit bundle diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from olmkit.cli.frame import option_values
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.exits import Exit
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access


@command(
    output=False,
    example="""
    olmkit bundle diff bundle/0.0.1 bundle/0.0.2
    olmkit bundle diff quay.io/example/memcached-operator-bundle:v0.0.1 bundle --olm v1
    olmkit bundle diff old new --level warns -o markdown
    """,
)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    envvar="OLMKIT_OUTPUT",
    help="Output format of the result.",
)
@click.option(
    "--olm",
    type=click.Choice([*option_values.OLM_GENERATIONS, "both"]),
    default="both",
    show_default=True,
    help="Generation of OLM that will upgrade.",
)
@click.option(
    "--level",
    type=click.Choice(option_values.CHANGE_LEVELS),
    default=option_values.CHANGE_LEVELS[-1],
    show_default=True,
    help="Show only changes of this level and above; JSON output has all.",
)
@registry_options
def diff(
    app: App, *, old: str, new: str, output: str, olm: str, level: str, access: Access
) -> None:
    """Show what changes between two bundles, and what blocks an upgrade.

    Compares CRDs as the API server and OLM do, permissions, install modes, images, webhooks,
    Deployments and dependencies. Exits with code 1 if a change blocks the upgrade. OLD and NEW are
    directories, images, layouts or archives.
    """
    from olmkit.bundle.changes.change import GENERATIONS, ChangeLevel
    from olmkit.cli.bundle import changes_output
    from olmkit.jobs.bundle import compare as job

    app.output = output
    generations = GENERATIONS if olm == "both" else (olm,)
    found = app.run(job.compare(old, new, access, olm=generations))
    least = ChangeLevel(level)
    if output == "markdown":
        app.terminal.result(changes_output.markdown(found, minimum=least))
    else:
        app.emit(
            changes_output.as_json(found),
            text=lambda: changes_output.text(found, minimum=least, color=app.terminal.color_out),
        )
    if found.blocks:
        app.exit(Exit.NO)
