"""`olmkit upgrade`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from olmkit.cli.cluster import announcement
from olmkit.cli.frame import install_status
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.cluster_options import (
    Target,
    cluster_options,
    olm_option,
    own_catalog_options,
    timeout_option,
)
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.cluster.wait import Timeouts
    from olmkit.jobs.cluster_v0.upgrade import Upgraded
    from olmkit.jobs.cluster_v0.upgrade_plan import UpgradePlan


@command(
    example="""
    olmkit upgrade memcached-operator -n operators
    olmkit upgrade memcached-operator --to 0.0.2
    olmkit upgrade memcached-operator --channel beta
    olmkit upgrade memcached-operator --catalog quay.io/example/catalog:v2
    olmkit upgrade memcached-operator --dry-run
    olmkit upgrade memcached-operator --to '>=0.0.2 <1.0.0' --olm v1
    olmkit upgrade --bundle ./bundle -n try
    """
)
@click.argument("package", required=False, default="")
@click.option(
    "--to", default="", metavar="VERSION", help="Version to upgrade to; a range with OLM v1."
)
@click.option(
    "--channel",
    default="",
    help="Change to this channel first; with OLM v1 also several, separated by commas.",
)
@click.option(
    "--bundle",
    default="",
    metavar="REF",
    help="Bundle to upgrade to, a directory or an image (OLM v0).",
)
@click.option(
    "--catalog",
    default="",
    metavar="REF",
    envvar="OLMKIT_CATALOG",
    help="New image, or address, of the catalog that olmkit created (OLM v0).",
)
@click.option(
    "--retry",
    is_flag=True,
    help="Remove what a failed InstallPlan left and let OLM try again (OLM v0).",
)
@click.option("--dry-run", is_flag=True, help="Show the upgrade path without changing anything.")
@click.option(
    "--create-service-account",
    is_flag=True,
    help="Grant the service account that olmkit created what the new version needs (OLM v1).",
)
@own_catalog_options
@olm_option
@timeout_option()
@cluster_options
@registry_options
def upgrade(
    app: App,
    *,
    olm: str,
    package: str,
    to: str,
    channel: str,
    bundle: str,
    catalog: str,
    retry: bool,
    dry_run: bool,
    create_service_account: bool,
    catalog_server: str,
    secrets: tuple[str, ...],
    timeouts: Timeouts,
    target: Target,
    access: Access,
) -> None:
    """Upgrade an operator, and wait until the new version runs.

    Approves each InstallPlan on the upgrade path if approval is manual, and prints its changes
    first.
    """
    app.request = {"package": package or None}
    if bool(package) == bool(bundle):
        both = ", not both" if package else ""
        raise click.UsageError(f"Name a package, or a bundle with `--bundle`{both}.")
    if retry and (bundle or dry_run):
        raise click.UsageError("`--retry` cannot be used with `--bundle` or `--dry-run`.")
    if channel and bundle:
        raise click.UsageError("`--channel` cannot be used with `--bundle`.")
    if olm == "v1":
        from olmkit.cli.cluster import extension  # it imports modules that OLM v0 does not need

        extension.refuse_v0(
            {"bundle": bundle, "catalog": catalog, "retry": retry, "pull-secret": secrets}
        )
        extension.upgrade(
            app,
            package=package,
            to=to,
            channel=channel,
            target=target,
            access=access,
            timeouts=timeouts,
            dry_run=dry_run,
            create_service_account=create_service_account,
        )
        return
    if create_service_account:
        raise click.UsageError("`--create-service-account` is for OLM v1 only.")

    options = {
        "package": package,
        "to": to,
        "channel": channel,
        "bundle": bundle,
        "catalog": catalog,
        "catalog_server": catalog_server,
        "secrets": secrets,
        "retry": retry,
    }
    app.run(_upgrade(app, target, access, timeouts, dry_run, options))


async def _upgrade(
    app: App,
    target: Target,
    access: Access,
    timeouts: Timeouts,
    dry_run: bool,
    given: Mapping[str, Any],
) -> None:
    """Upgrade through OLM v0."""
    from olmkit.jobs.cluster_v0 import upgrade as job
    from olmkit.jobs.cluster_v0 import upgrade_plan
    from olmkit.jobs.cluster_v0.upgrade_plan import UpgradeOptions

    async with target.open() as (reader, namespace):
        options = UpgradeOptions(namespace=namespace, **given)
        made = await job.plan_bundle(reader, options, access) if options.bundle else None
        if made is not None or dry_run:
            plan = made.plan if made else await upgrade_plan.plan(reader, options, access)
            _announce(app, plan)
            if dry_run:
                app.emit(_plan_value(plan), text=lambda: _format_path(plan))
                return
        with install_status.show_progress(app, "upgrading") as report:
            if made is None:
                done = await job.upgrade(
                    reader,
                    options,
                    access,
                    announce=lambda plan: _announce(app, plan),
                    report=report,
                    timeouts=timeouts,
                )
            else:
                done = await job.to_bundle(reader, made, options, report=report, timeouts=timeouts)
        _show_path(app, done)
        install_status.show(app, done.explanation, _value(done))


def _announce(app: App, plan: UpgradePlan) -> None:
    to = f" to `{plan.hops[-1]}`" if plan.hops else ""
    where = f"in namespace `{plan.namespace}`"
    title = f"upgrading `{plan.package}` {where} from `{plan.before}`{to}"
    if not plan.before:
        title = f"installing `{plan.hops[-1] if plan.hops else plan.package}` {where}"
    announcement.show(app, title, plan.brings, plan.targets, plan.notes, plan.has)


def _plan_value(plan: UpgradePlan) -> dict[str, object]:
    return {
        "package": plan.package,
        "namespace": plan.namespace,
        "before": plan.before or None,
        "hops": list(plan.hops),
        "watches": list(plan.targets),
        "permissions": announcement.permissions(plan.brings),
        "notes": list(plan.notes),
    }


def _format_path(plan: UpgradePlan) -> str:
    """Return the path in one line, as it is printed after an upgrade."""
    if not plan.hops:
        return f"no newer version is {'offered' if plan.is_known else 'known'}\n"
    return " → ".join((plan.before or "nothing", *plan.hops)) + "\n"


def _show_path(app: App, done: Upgraded) -> None:
    if done.hops:
        app.terminal.note(" → ".join((done.before or "nothing", *done.hops)))
    elif done.explanation.is_ready:
        for note in done.notes:
            app.terminal.note(f"note: {note}")
        app.terminal.note(f"no newer version is {'offered' if done.is_known else 'known'}")


def _value(done: Upgraded) -> dict[str, object]:
    return {"package": done.package, "before": done.before or None, "hops": list(done.hops)}
