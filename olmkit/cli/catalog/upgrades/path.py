"""`olmkit catalog path`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from olmkit.cli.catalog import inputs
from olmkit.cli.frame import option_checks
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.cluster_options import olm_option
from olmkit.cli.frame.exits import Exit
from olmkit.cli.frame.output import plural
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.catalog.graph.upgrades import Hop, UpgradePath
    from olmkit.edges.images.access_settings import Access


@command(
    example="""
    olmkit catalog path catalog memcached-operator --from 0.0.1
    olmkit catalog path quay.io/example/catalog:v1 memcached-operator --from 0.0.1 --channel beta
    olmkit catalog path catalog memcached-operator --from 0.0.1 --to 0.0.2 --olm v1
    """
)
@click.argument("reference", metavar="REF")
@click.argument("package")
@click.option("--from", "start", required=True, metavar="V", help="Installed bundle or version.")
@click.option("--to", "goal", default="", metavar="V", help="Bundle or version to upgrade to.")
@click.option(
    "-c",
    "--channel",
    "channels",
    multiple=True,
    help="Channel; repeatable for OLM v1. Default: the default channel, or all channels for v1.",
)
@click.option(
    "--cluster-version",
    default="",
    metavar="VERSION",
    callback=option_checks.cluster_version,
    help="Version of the cluster: `1.30` of Kubernetes or `4.16` of OpenShift. Upgrades to bundles "
    "that are not for it end the path.",
)
@olm_option
@registry_options
def path(
    app: App,
    *,
    reference: str,
    package: str,
    start: str,
    goal: str,
    channels: tuple[str, ...],
    cluster_version: str,
    olm: str,
    access: Access,
) -> None:
    """Show the upgrade path that OLM takes from an installed version.

    The exit code is 1 if the path leads neither to the newest nor to the requested version. The
    command assumes that dependencies are available.
    """
    from olmkit.base.versions import InvalidRangeError
    from olmkit.catalog.cluster_version import ClusterVersion
    from olmkit.jobs.catalog.upgrades import path as job
    from olmkit.jobs.catalog.upgrades.path import PathOptions

    cluster = ClusterVersion.parse(cluster_version) if cluster_version else None
    catalog = inputs.read(app, reference, access, valid=False)
    options = PathOptions(
        package=package,
        start=start,
        goal=goal,
        channels=channels,
        is_v1=olm == "v1",
        cluster=cluster,
    )
    with option_checks.checked("--to", InvalidRangeError):
        found = job.path(catalog, options)
    upgrade_path = found.upgrade_path
    lines = [
        upgrade_path.start.name,
        *(f"  {hop.entry.name}   {_reason(hop)}" for hop in upgrade_path.hops),
    ]
    app.emit(
        {
            "package": package,
            "channels": list(found.channels),
            "from": upgrade_path.start.name,
            "hops": [{"to": hop.entry.name, "by": str(hop.by)} for hop in upgrade_path.hops],
            "end": str(upgrade_path.end),
            "obstacles": [
                {"bundle": one.name, "reason": one.reason} for one in upgrade_path.obstacles
            ],
            "newest": upgrade_path.newest,
            "reaches": found.reaches,
            "clusterLimits": [
                {"bundle": one.bundle, "reason": one.reason, "stopsInstall": one.stops_v0}
                for one in found.limits
            ],
        },
        text="\n".join(lines),
    )
    for limit in found.limits:
        app.terminal.note(
            f"`{limit.bundle}` is not for cluster {cluster_version}, since {limit.reason}"
        )
    app.terminal.note(_verdict(upgrade_path, goal, reaches=found.reaches))
    if not found.reaches:
        app.exit(Exit.NO)


def _reason(hop: Hop) -> str:
    from olmkit.catalog.graph.links import EdgeKind

    if hop.by is EdgeKind.SKIP_RANGE:
        return f"{hop.by} {hop.entry.skip_range}"
    return str(hop.by)


def _verdict(found: UpgradePath, goal: str, *, reaches: bool) -> str:
    from olmkit.catalog.graph.upgrades import End

    hops = plural(len(found.hops), "hop")
    blocked = "".join(f"; {one}, so OLM does not select it" for one in found.obstacles[:1])
    if goal and reaches:
        return f"`{found.last}` is reached in {hops}"
    if goal:
        return (
            f"no upgrades lead from `{found.start.name}` to `{goal}`; the last is "
            f"`{found.last}`{blocked}"
        )
    newest = f"`{found.newest}` is the newest" if found.newest else "OLM can select no entry"
    match found.end:
        case End.CIRCLE:
            return f"upgrades form a cycle after {hops}, at `{found.last}`; {newest}"
        case End.STRANDED:
            return f"nothing follows `{found.last}`{blocked}; {newest}"
        case _ if found.last != found.newest:
            return f"`{found.last}` has no upgrade{blocked}; {newest}"
        case _:
            return f"`{found.last}` is the newest, reached in {hops}{blocked}"
