"""`olmkit install`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.cluster import announcement
from olmkit.cli.frame import install_status
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.cluster_options import (
    Target,
    cluster_options,
    namespace_name,
    olm_option,
    own_catalog_options,
    timeout_option,
)
from olmkit.cli.frame.option_checks import object_names
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.cluster.wait import Timeouts
    from olmkit.jobs.cluster_v0.install import Plan


@command(
    example="""
    olmkit install memcached-operator --catalog quay.io/example/catalog:v1 -n operators
    olmkit install memcached-operator --version 0.0.1 --mode OwnNamespace -n cache
    olmkit install memcached-operator --version '>=0.0.1 <1.0.0' --olm v1 -n cache
    olmkit install memcached-operator --olm v1 -n cache --create-service-account
    olmkit install --bundle ./bundle -n try
    olmkit install --bundle quay.io/example/memcached-operator-bundle:v0.0.1 --dry-run
    """
)
@click.argument("package", required=False, default="")
@click.option(
    "--bundle",
    default="",
    metavar="REF",
    help="Bundle to install, a directory or an image; olmkit creates a catalog for it (OLM v0).",
)
@click.option(
    "--catalog",
    default="",
    metavar="REF",
    envvar="OLMKIT_CATALOG",
    help="Image of a catalog, or name of an existing CatalogSource or ClusterCatalog.",
)
@click.option(
    "--catalog-namespace",
    default="",
    metavar="NAME",
    callback=namespace_name,
    help="Namespace of the CatalogSource (OLM v0).",
)
@click.option(
    "--catalog-address",
    default="",
    metavar="HOST:PORT",
    help="Address of a catalog server, as seen from the cluster (OLM v0).",
)
@own_catalog_options
@click.option(
    "--poll",
    default="",
    metavar="DURATION",
    help="How often OLM checks for a newer image of the catalog, such as `15m`.",
)
@click.option(
    "--channel",
    default="",
    help="Channel, instead of the default channel of the package, or of all channels (OLM v1); "
    "with OLM v1 also several, separated by commas.",
)
@click.option(
    "--version",
    default="",
    help="Version, instead of the newest version of the channel; a range with OLM v1.",
)
@click.option(
    "--mode",
    default="",
    metavar="MODE",
    help="`AllNamespaces`, `OwnNamespace`, `SingleNamespace=NAME` or `MultiNamespace=A,B`. "
    "Default: the mode of the existing OperatorGroup, or the widest mode that the bundle "
    "supports (OLM v0).",
)
@click.option(
    "--approval",
    type=click.Choice(["automatic", "manual"]),
    default="automatic",
    show_default=True,
    help="Whether OLM performs later upgrades itself or waits for `olmkit upgrade` (OLM v0).",
)
@click.option(
    "--on-failure",
    type=click.Choice(["keep", "remove"]),
    default="keep",
    show_default=True,
    help="Whether to keep or remove the created objects after a failure or an interruption.",
)
@click.option(
    "--dry-run", is_flag=True, help="Show what would be created without creating anything."
)
@click.option(
    "--service-account",
    default="",
    metavar="NAME",
    callback=object_names,
    help="Service account that OLM v1 uses to install, if its release requires one.",
)
@click.option(
    "--create-service-account",
    is_flag=True,
    help="Create the service account with only the permissions that the bundle needs (OLM v1).",
)
@olm_option
@timeout_option()
@cluster_options
@registry_options
def install(
    app: App,
    *,
    olm: str,
    service_account: str,
    create_service_account: bool,
    approval: str,
    on_failure: str,
    dry_run: bool,
    timeouts: Timeouts,
    target: Target,
    access: Access,
    **words: Any,
) -> None:
    """Install an operator through OLM, and wait until it runs.

    Prints what will be installed and with which permissions. If the installation stops, prints the
    reason.
    """
    app.request = {"package": words["package"] or None}
    undone = app.terminal.note if on_failure == "remove" else None
    if olm == "v1":
        from olmkit.cli.cluster import extension  # it imports modules that OLM v0 does not need

        extension.refuse_v0({"approval": approval == "manual"})
        extension.install(
            app,
            target=target,
            access=access,
            timeouts=timeouts,
            dry_run=dry_run,
            words=words,
            service_account=service_account,
            create_service_account=create_service_account,
            undone=undone,
        )
        return

    if service_account or create_service_account:
        name = "service-account" if service_account else "create-service-account"
        raise click.UsageError(f"`--{name}` is for OLM v1 only.")

    catalog, place = _catalog_source(words["catalog"], words["catalog_namespace"])
    words |= {"catalog": catalog, "catalog_namespace": place}
    manual = approval == "manual"
    app.run(_install(app, target, access, timeouts, dry_run, undone, manual=manual, **words))


def _catalog_source(reference: str, namespace: str) -> tuple[str, str]:
    """Return an image, or the name and the namespace of `catalogsource:[NAMESPACE/]NAME`."""
    if reference.startswith("clustercatalog:"):
        raise ConfigurationError(
            f"`{reference}` is a catalog of OLM v1", hint="install from it with `--olm v1`"
        )
    if not reference.startswith("catalogsource:"):
        return reference, namespace
    place, _, name = reference.removeprefix("catalogsource:").rpartition("/")
    if place and namespace not in ("", place):
        raise ConfigurationError(
            f"`{reference}` is not in namespace `{namespace}`", hint="omit `--catalog-namespace`"
        )
    return name, place or namespace


async def _install(
    app: App,
    target: Target,
    access: Access,
    timeouts: Timeouts,
    dry_run: bool,
    undone: Callable[[str], None] | None,
    **words: Any,
) -> None:
    """Install through OLM v0; `undone` reports what is removed after a failure."""
    from olmkit.base import documents
    from olmkit.jobs.cluster import conflicts
    from olmkit.jobs.cluster_v0 import install as job
    from olmkit.jobs.cluster_v0.install_choice import InstallOptions

    async with target.open() as (reader, namespace):
        made = await job.plan(reader, InstallOptions(namespace=namespace, **words), access)
        _announce(app, made)
        if dry_run:
            app.emit(_value(made), text=lambda: documents.dump_all(made.objects).decode())
            return
        await install_status.carry_out(
            app,
            lambda report, created: job.carry_out(
                reader,
                made,
                report=report,
                timeouts=timeouts,
                created=created,
                undone=undone,
                added=conflicts.added(access),
            ),
            _value(made),
            label="installing",
            removal=f"olmkit uninstall {made.request.package} -n {namespace}",
        )


def _announce(app: App, plan: Plan) -> None:
    request = plan.request
    catalog = request.catalog
    title = (
        f"installing `{request.package}` in namespace `{request.namespace}` "
        f"from catalog `{catalog.namespace}/{catalog.name}`"
    )
    announcement.show(app, title, plan.preview, plan.targets, plan.notes)
    for one in plan.dependencies:
        needed = f"OLM also installs `{one.csv}`, which `{plan.csv or request.package}` needs"
        unread = "" if one.preview else "; its permissions cannot be read from here"
        announcement.show(app, needed + unread, one.preview, plan.targets)


def _value(plan: Plan) -> dict[str, Any]:
    from olmkit.kube import objects

    request = plan.request
    return {
        "package": request.package,
        "namespace": request.namespace,
        "csv": plan.csv or None,
        "watches": list(plan.targets),
        "permissions": announcement.permissions(plan.preview),
        "dependencies": [
            {
                "package": one.package,
                "csv": one.csv,
                "permissions": announcement.permissions(one.preview),
            }
            for one in plan.dependencies
        ],
        "objects": [
            {
                "kind": objects.kind(one),
                "namespace": objects.namespace(one) or None,
                "name": objects.name(one),
            }
            for one in plan.objects
        ],
        "notes": list(plan.notes),
    }
