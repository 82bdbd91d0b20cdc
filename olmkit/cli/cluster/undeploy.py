"""`olmkit undeploy`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from olmkit.cli.cluster import deletion
from olmkit.cli.cluster.deletion import dry_run_option, yes_option
from olmkit.cli.frame import install_status, option_values
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.cluster_options import Target, cluster_options, timeout_option

if TYPE_CHECKING:
    from olmkit.jobs.cluster.wait import Timeouts


@command(
    project=True,
    example="""
    olmkit undeploy
    olmkit undeploy --dry-run
    olmkit undeploy --keep-crds --yes
    """,
)
@click.argument("overlay", default=option_values.OVERLAY, metavar="[OVERLAY]")
@click.option("--keep-crds", is_flag=True, help="Keep the CRDs and their objects.")
@click.option(
    "--delete-operands", is_flag=True, help="Delete the custom resources of the operator first."
)
@dry_run_option
@yes_option
@timeout_option("5m")
@cluster_options
def undeploy(
    app: App,
    *,
    overlay: str,
    keep_crds: bool,
    delete_operands: bool,
    dry_run: bool,
    yes: bool,
    timeouts: Timeouts,
    target: Target,
) -> None:
    """Delete what `olmkit deploy` applied.

    OVERLAY is the overlay that was deployed.
    """
    from olmkit.jobs.cluster import deploy as job
    from olmkit.jobs.cluster.deploy import DeployOptions
    from olmkit.olm.explain.explanation import subject

    wanted = job.desired_objects(DeployOptions(project=app.project, overlay=overlay))

    async def run() -> None:
        async with target.open() as (reader, _):
            made = await job.removal(
                reader,
                wanted,
                keep_crds=keep_crds,
                delete_operands=delete_operands,
                report=app.terminal.note,
            )
            stays = [subject(one) for one in made.kept]
            if dry_run:
                deletion.show_plan(app, made.all, also=made.unlisted, stays=stays)
                return
            deletion.confirm(app, made.all, also=made.unlisted, yes=yes)
            with install_status.show_progress(app, "deleting") as report:
                done = await job.delete(reader, made, report=report, timeouts=timeouts)
            deletion.show(app, done, stays=stays)

    app.run(run())
