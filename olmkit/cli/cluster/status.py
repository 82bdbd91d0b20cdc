"""`olmkit status`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from olmkit.cli.frame import install_status
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.cluster_options import Target, cluster_options
from olmkit.cli.frame.exits import Exit
from olmkit.cli.frame.terminal import printable

if TYPE_CHECKING:
    from olmkit.jobs.cluster.status import OperatorRow, OperatorsStatus


@command(
    example="""
    olmkit status
    olmkit status memcached-operator -n operators -o json
    """
)
@click.argument("package", required=False, default="")
@click.option("--exit-code", is_flag=True, help="Exit with code 1 if an operator is not ready.")
@cluster_options
def status(app: App, *, package: str, exit_code: bool, target: Target) -> None:
    """Show the operators that OLM has installed, and their state.

    Covers all namespaces, unless `-n` names one.
    """
    from olmkit.jobs.cluster import status as job

    async def run() -> OperatorsStatus:
        async with target.open() as (reader, _):
            return await job.status(reader, namespace=target.named_namespace, package=package)

    found = app.run(run())
    app.emit(_value(found), text=lambda: _text(found))
    for note in found.notes:
        app.terminal.note(printable(note))
    if package and not found.operators:
        app.terminal.say(f"nothing requests `{package}`")
        app.exit(Exit.NO)
    if exit_code and not all(row.explanation.is_ready for row in found.operators):
        app.exit(Exit.NO)


def _text(found: OperatorsStatus) -> str:
    parts = []
    if found.operators:
        rows = [("OLM", "NAMESPACE", "PACKAGE", "CHANNEL", "INSTALLED", "STANDING", "WHY")]
        rows += [
            (
                row.olm,
                row.namespace,
                _describe_package(row),
                row.channel or "-",
                row.installed or "-",
                str(row.explanation.readiness),
                row.explanation.message,
            )
            for row in found.operators
        ]
        parts.append(_table(rows))
    if found.catalogs:
        rows_of = [("NAMESPACE", "CATALOG", "STATE", "SOURCE")]
        rows_of += [
            (one.namespace or "-", one.name, one.state, one.source) for one in found.catalogs
        ]
        parts.append(_table(rows_of))
    return "\n\n".join(parts) or "no operators and no catalogs"


def _describe_package(row: OperatorRow) -> str:
    """Return the package, and the name of the requesting object if it differs."""
    return row.package if row.name == row.package else f"{row.package} ({row.name})"


def _table(rows: Sequence[Sequence[str]]) -> str:
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[index]) for row in shown) for index in range(len(shown[0]))]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in shown
    )


def _value(found: OperatorsStatus) -> dict[str, Any]:
    return {
        "operators": [
            {
                "olm": row.olm,
                "namespace": row.namespace,
                "name": row.name,
                "package": row.package,
                "channel": row.channel or None,
                "catalog": row.catalog or None,
                "approval": row.approval or None,
                "installed": row.installed or None,
                **install_status.value(row.explanation),
            }
            for row in found.operators
        ],
        "catalogs": [
            {
                "namespace": one.namespace or None,
                "name": one.name,
                "source": one.source,
                "state": one.state,
            }
            for one in found.catalogs
        ],
        "notes": list(found.notes),
    }
