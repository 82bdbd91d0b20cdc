"""`olmkit undeploy`."""

from __future__ import annotations

import click

from olmkit.cli import removal, standing
from olmkit.cli.app import App, command
from olmkit.cli.cluster_options import Target, cluster_options, timeout_option
from olmkit.cli.removal import yes_option
from olmkit.jobs import deploy as job
from olmkit.jobs import overlay
from olmkit.jobs.cluster_wait import Patience
from olmkit.jobs.deploy import DeployOptions
from olmkit.olm.explanation import subject


@command(
    project=True,
    example="""
    olmkit undeploy
    olmkit undeploy --keep-crds --yes
    """,
)
@click.argument("overlay", default=overlay.DEFAULT, metavar="[OVERLAY]")
@click.option("--keep-crds", is_flag=True, help="Leave the CRDs, and with them their objects.")
@click.option("--delete-operands", is_flag=True, help="Delete the objects of its kinds, first.")
@yes_option
@timeout_option("5m")
@cluster_options
def undeploy(
    app: App,
    *,
    overlay: str,
    keep_crds: bool,
    delete_operands: bool,
    yes: bool,
    patience: Patience,
    target: Target,
) -> None:
    """Delete what `olmkit deploy` has applied.

    OVERLAY is that which was deployed.
    """
    wanted = job.wanted(DeployOptions(project=app.project, overlay=overlay))

    async def run() -> None:
        async with target.open() as (reader, _):
            made = await job.removal(
                reader, wanted, keep_crds=keep_crds, delete_operands=delete_operands
            )
            removal.confirm(app, (*made.operands, *made.objects), yes=yes)
            with standing.watching(app, "deleting") as report:
                done = await job.delete(reader, made, report=report, patience=patience)
            removal.give(app, done, stays=[subject(one) for one in made.kept])

    app.run(run())
