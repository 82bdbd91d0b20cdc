"""`olmkit deploy`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from olmkit.cli.frame import install_status, option_values
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.cluster_options import Target, cluster_options, timeout_option

if TYPE_CHECKING:
    from olmkit.jobs.cluster.wait import Timeouts


@command(
    project=True,
    example="""
    olmkit deploy
    olmkit deploy --image quay.io/example/memcached-operator:v0.0.1
    olmkit deploy config/crd --crds-only
    """,
)
@click.argument("overlay", default=option_values.OVERLAY, metavar="[OVERLAY]")
@click.option("--image", default="", metavar="REF", help="Image of the operator.")
@click.option("--crds-only", is_flag=True, help="Apply only the CustomResourceDefinitions.")
@click.option("--dry-run", is_flag=True, help="Show what would change without changing anything.")
@timeout_option("5m")
@cluster_options
def deploy(
    app: App,
    *,
    overlay: str,
    image: str,
    crds_only: bool,
    dry_run: bool,
    timeouts: Timeouts,
    target: Target,
) -> None:
    """Deploy the operator without OLM, and wait until it runs.

    OVERLAY is a directory with a kustomization, relative to the project. Default:
    `config/default`. The overlay determines the namespace.
    """
    from olmkit.jobs.cluster import deploy as job
    from olmkit.jobs.cluster.deploy import DeployOptions
    from olmkit.olm.explain.explanation import subject

    wanted = job.desired_objects(
        DeployOptions(project=app.project, overlay=overlay, image=image, crds_only=crds_only)
    )

    async def run() -> None:
        async with target.open() as (reader, _):
            if dry_run:
                lines = await job.changes(reader, wanted)
                app.emit({"changes": list(lines)}, text="\n".join(lines))
                return
            with install_status.show_progress(app, "deploying") as report:
                found = await job.apply(reader, wanted, report=report, timeouts=timeouts)
            install_status.show(app, found, {"objects": [subject(one) for one in wanted]})

    app.run(run())
