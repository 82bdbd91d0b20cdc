"""`olmkit uninstall`."""

from __future__ import annotations

from typing import Any

import click

from olmkit.cli import standing
from olmkit.cli.app import App, command
from olmkit.cli.cluster_options import Target, cluster_options, olm_option, timeout_option
from olmkit.cli.confirm import confirm
from olmkit.cli.exits import Exit
from olmkit.jobs import uninstall as job
from olmkit.jobs.cluster_wait import Patience
from olmkit.jobs.cluster_write import Removed
from olmkit.jobs.uninstall import Removal, UninstallOptions
from olmkit.olm.explanation import subject


@command(
    example="""
    olmkit uninstall memcached-operator -n operators
    olmkit uninstall memcached-operator --delete-operands --delete-crds --yes
    """
)
@click.argument("package")
@click.option("--delete-operands", is_flag=True, help="Delete the objects of its APIs, first.")
@click.option("--delete-crds", is_flag=True, help="Delete its CRDs, last.")
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and delete nothing.")
@click.option("-y", "--yes", is_flag=True, envvar="OLMKIT_YES", help="Do not ask.")
@olm_option
@timeout_option("5m")
@cluster_options
def uninstall(
    app: App,
    *,
    olm: str,
    package: str,
    delete_operands: bool,
    delete_crds: bool,
    dry_run: bool,
    yes: bool,
    patience: Patience,
    target: Target,
) -> None:
    """Remove an operator, and what olmkit made for it.

    CRDs and their objects stay unless you say otherwise: with them goes all that is in them.
    """
    if olm == "v1":
        from olmkit.cli import extension  # it knows much that OLM v0 does without

        extension.uninstall(
            app, package=package, target=target, patience=patience, dry_run=dry_run, yes=yes
        )
        return

    async def run() -> None:
        async with target.open() as (reader, namespace):
            made = await job.plan(
                reader,
                UninstallOptions(
                    namespace=namespace,
                    package=package,
                    delete_crds=delete_crds,
                    delete_operands=delete_operands,
                ),
            )
            if dry_run:
                app.emit(_value(made, None), text=lambda: "\n".join(map(subject, made.all)))
                return
            confirm(app, [subject(one) for one in made.all], yes=yes)
            with standing.watching(app, "deleting") as report:
                done = await job.carry_out(reader, made, report=report, patience=patience)
            app.emit(_value(made, done), text=lambda: _text(made, done))
            if done.left:
                app.exit(Exit.WORLD)

    app.run(run())


def _text(made: Removal, done: Removed) -> str:
    lines = [f"removed {subject(one)}" for one in done.gone]
    lines += [f"still there: {subject(one)}" for one in done.left]
    lines += [f"stays: {words}" for words in made.stays]
    return "\n".join(lines)


def _value(made: Removal, done: Removed | None) -> dict[str, Any]:
    return {
        "package": made.package,
        "removed": [subject(one) for one in (made.all if done is None else done.gone)],
        "left": [] if done is None else [subject(one) for one in done.left],
        "stays": list(made.stays),
    }
