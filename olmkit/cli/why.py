"""`olmkit why`."""

from __future__ import annotations

import click

from olmkit.cli import standing
from olmkit.cli.app import App, command
from olmkit.cli.cluster_options import Target, cluster_options
from olmkit.jobs import cluster_read as job
from olmkit.olm.explanation import Explanation


@command(
    example="""
    olmkit why memcached-operator -n operators
    olmkit why memcached-operator -o json
    """
)
@click.argument("package")
@cluster_options
def why(app: App, *, package: str, target: Target) -> None:
    """Tell why an operator does not get installed or upgraded.

    The cause comes first, then the way to it: Subscription, InstallPlan, unpack Job,
    ClusterServiceVersion, Deployment, Pod and its last words.
    """

    async def run() -> Explanation:
        async with target.open() as (reader, namespace):
            return await job.why(reader, package, namespace)

    standing.give(app, app.run(run()), {"package": package})
