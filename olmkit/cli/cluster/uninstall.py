"""`olmkit uninstall`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from olmkit.cli.cluster import deletion
from olmkit.cli.cluster.deletion import dry_run_option, ignore_not_found_option, yes_option
from olmkit.cli.frame import install_status
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.cluster_options import Target, cluster_options, olm_option, timeout_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from olmkit.jobs.cluster.wait import Timeouts


@command(
    example="""
    olmkit uninstall memcached-operator -n operators
    olmkit uninstall memcached-operator --delete-operands --delete-crds --yes
    olmkit uninstall memcached-operator --olm v1 --delete-operands --dry-run
    olmkit uninstall memcached-operator --olm v1 --delete-operands --ignore-not-found --yes
    """
)
@click.argument("package")
@click.option(
    "--delete-operands", is_flag=True, help="Delete the custom resources of the operator first."
)
@click.option(
    "--delete-crds", is_flag=True, help="Delete the CRDs of the operator last; OLM v1 always does."
)
@click.option(
    "--remove-finalizers",
    is_flag=True,
    help="Remove finalizers that block deletion, if the operator no longer runs.",
)
@ignore_not_found_option
@dry_run_option
@yes_option
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
    remove_finalizers: bool,
    ignore_not_found: bool,
    dry_run: bool,
    yes: bool,
    timeouts: Timeouts,
    target: Target,
) -> None:
    """Remove an operator, and everything that olmkit created for it.

    By default, CRDs and their objects stay. OLM v1 always deletes the CRDs, so it requires
    `--delete-operands` if objects exist. Also finds and removes what an earlier run or another
    program has left of the operator.
    """
    app.request = {"package": package}
    if olm == "v1":
        from olmkit.cli.cluster import extension  # it imports modules that OLM v0 does not need

        extension.uninstall(
            app,
            package=package,
            target=target,
            timeouts=timeouts,
            delete_operands=delete_operands,
            remove_finalizers=remove_finalizers,
            ignore_not_found=ignore_not_found,
            dry_run=dry_run,
            yes=yes,
        )
        return

    options = {
        "package": package,
        "delete_crds": delete_crds,
        "delete_operands": delete_operands,
        "remove_finalizers": remove_finalizers,
    }
    work = _uninstall(
        app, target, timeouts, options, dry_run=dry_run, yes=yes, ignore_not_found=ignore_not_found
    )
    app.run(work)


async def _uninstall(
    app: App,
    target: Target,
    timeouts: Timeouts,
    given: Mapping[str, Any],
    *,
    dry_run: bool,
    yes: bool,
    ignore_not_found: bool,
) -> None:
    """Remove an operator that was installed through OLM v0."""
    from olmkit.jobs.cluster_v0 import uninstall as job
    from olmkit.jobs.cluster_v0 import uninstall_plan
    from olmkit.jobs.cluster_v0.uninstall_plan import UninstallOptions

    async with target.open() as (reader, namespace):
        options = UninstallOptions(namespace=namespace, **given)
        with deletion.ignoring_absence(app, options.package, is_ignored=ignore_not_found):
            made = await uninstall_plan.plan(
                reader, options, report=app.terminal.note, timeouts=timeouts
            )
        if dry_run:
            deletion.show_plan(
                app, made.all, also=made.unlisted, stays=made.stays, package=options.package
            )
            return
        deletion.confirm(app, made.all, also=made.unlisted, yes=yes)
        with install_status.show_progress(app, "deleting") as report:
            done = await job.carry_out(reader, made, report=report, timeouts=timeouts)
        deletion.show(app, done, stays=made.stays, package=options.package)
