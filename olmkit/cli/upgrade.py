"""`olmkit upgrade`."""

from __future__ import annotations

import click

from olmkit.cli import announcement, standing
from olmkit.cli.app import App, command
from olmkit.cli.cluster_options import (
    Target,
    cluster_options,
    olm_option,
    own_catalog_options,
    timeout_option,
)
from olmkit.cli.registry_options import registry_options
from olmkit.edges.access import Access
from olmkit.jobs import upgrade as job
from olmkit.jobs.cluster_wait import Patience
from olmkit.jobs.upgrade import BundleUpgrade, Upgraded, UpgradeOptions


@command(
    example="""
    olmkit upgrade memcached-operator -n operators
    olmkit upgrade memcached-operator --to 0.0.2
    olmkit upgrade memcached-operator --catalog quay.io/example/catalog:v2
    olmkit upgrade --bundle ./bundle -n try
    """
)
@click.argument("package", required=False, default="")
@click.option(
    "--to", default="", metavar="VERSION", help="Stop at this version; a range with OLM v1."
)
@click.option(
    "--bundle", default="", metavar="REF", help="A bundle to go to, a folder or an image."
)
@click.option(
    "--catalog",
    default="",
    metavar="REF",
    envvar="OLMKIT_CATALOG",
    help="Another image, or address, for the catalog that olmkit made.",
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
    bundle: str,
    catalog: str,
    catalog_server: str,
    secrets: tuple[str, ...],
    patience: Patience,
    target: Target,
    access: Access,
) -> None:
    """Take an operator to a newer version, and wait until it runs.

    Approves each InstallPlan on the way where approval is manual.
    """
    if bool(package) == bool(bundle):
        raise click.UsageError("Name a package, or a bundle with `--bundle`.")
    if olm == "v1":
        from olmkit.cli import extension  # it knows much that OLM v0 does without

        if bundle or catalog:
            raise click.UsageError("`--bundle` and `--catalog` are for OLM v0 only.")
        extension.upgrade(app, package=package, to=to, target=target, patience=patience)
        return

    async def run() -> None:
        async with target.open() as (reader, namespace):
            options = UpgradeOptions(
                namespace=namespace,
                package=package,
                to=to,
                bundle=bundle,
                catalog=catalog,
                catalog_server=catalog_server,
                secrets=secrets,
            )
            made = await job.plan_bundle(reader, options, access) if bundle else None
            if made is not None:
                _announce(app, made, namespace)
            with standing.watching(app, "upgrading") as report:
                if made is None:
                    done = await job.upgrade(
                        reader, options, access, report=report, patience=patience
                    )
                else:
                    done = await job.to_bundle(
                        reader, made, options, report=report, patience=patience
                    )
            _tell(app, done)
            standing.give(app, done.explanation, _value(done))

    app.run(run())


def _announce(app: App, made: BundleUpgrade, namespace: str) -> None:
    package = made.named.rendered.package
    title = f"upgrading `{package}` in namespace `{namespace}` from `{made.before}`"
    announcement.give(app, title, made.named.preview, made.targets)


def _tell(app: App, done: Upgraded) -> None:
    if done.hops:
        app.terminal.note(" → ".join((done.before or "nothing", *done.hops)))
    elif done.explanation.is_ready:
        app.terminal.note("no newer version is offered")


def _value(done: Upgraded) -> dict[str, object]:
    return {"package": done.package, "before": done.before or None, "hops": list(done.hops)}
