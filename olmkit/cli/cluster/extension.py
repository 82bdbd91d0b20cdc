"""The cluster commands for OLM v1, with `--olm v1`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.cluster import announcement, deletion
from olmkit.cli.frame import install_status, option_checks, output
from olmkit.cli.frame.app import App
from olmkit.cli.frame.cluster_options import Target
from olmkit.cli.frame.exits import Exit

if TYPE_CHECKING:
    from olmkit.edges.cluster.objects import ClusterObjects
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.cluster.wait import Report, Timeouts
    from olmkit.jobs.cluster_v1.extension_choice import ExtensionChoice
    from olmkit.jobs.cluster_v1.upgrade import ExtensionUpgrade
    from olmkit.kube.objects import Manifest
    from olmkit.olm.explain.explanation import Explanation

# Options of OLM v0 only, and what to do instead; with `--olm v1` they are refused, not ignored.
_ONLY_V0: Final = {
    "approval": "omit it, and limit later upgrades with a range in `--version`",
    "bundle": "OLM v1 installs from catalogs: add the bundle to one with `olmkit catalog add`",
    "catalog": "to change the image of the ClusterCatalog, run `olmkit catalog deploy IMAGE "
    "--name NAME --olm v1`",
    "catalog-address": "pass the image of the catalog with `--catalog`",
    "catalog-namespace": "omit it: a ClusterCatalog has no namespace",
    "mode": "omit it: with OLM v1, the operator watches all namespaces",
    "pull-secret": "omit it: OLM v1 pulls with the Secret that its controllers name in "
    "`--global-pull-secret`",
    "retry": "omit it: OLM v1 tries again by itself",
}


def refuse_v0(given: Mapping[str, Any]) -> None:
    """Raise `ConfigurationError` for the first option of OLM v0 that has a value."""
    for name in (name for name, value in given.items() if value):
        raise ConfigurationError(f"`--{name}` is for OLM v0 only", hint=_ONLY_V0[name])


def catalog_name(reference: str) -> str:
    """Return an image, or the name of a ClusterCatalog without `clustercatalog:`."""
    if reference.startswith("catalogsource:"):
        raise ConfigurationError(
            f"`{reference}` is a catalog of OLM v0",
            hint="pass a ClusterCatalog, such as `clustercatalog:NAME`, or an image",
        )
    return reference.removeprefix("clustercatalog:")


def install(
    app: App,
    *,
    target: Target,
    access: Access,
    timeouts: Timeouts,
    dry_run: bool,
    words: dict[str, Any],
    service_account: str,
    create_service_account: bool,
    undone: Report | None,
) -> None:
    """Install through a ClusterExtension."""
    from olmkit.jobs.cluster_v1 import install as job
    from olmkit.jobs.cluster_v1.install import ExtensionOptions

    names = ("bundle", "catalog_address", "catalog_namespace", "mode")
    refuse_v0(
        {name.replace("_", "-"): words[name] for name in names} | {"pull-secret": words["secrets"]}
    )
    if not words["package"]:
        raise click.UsageError("Name a package.")
    if words["version"]:
        option_checks.check_range_of_v1("--version", words["version"])
    with option_checks.checked("--poll", ConfigurationError):
        poll_minutes = job.poll_minutes(words["poll"]) if words["poll"] else 0

    async def run() -> None:
        async with target.open() as (reader, namespace):
            options = ExtensionOptions(
                package=words["package"],
                namespace=namespace,
                catalog=catalog_name(words["catalog"]),
                version=words["version"],
                channel=words["channel"],
                poll_minutes=poll_minutes,
                service_account=service_account,
                create_service_account=create_service_account,
            )
            with _show_missing_permissions(app):
                made = await job.plan(reader, options, access)
            title = f"installing `{options.package}` into namespace `{namespace}` through OLM v1"
            _announce(app, title, made.offer)
            if dry_run:
                _show_plan(app, made.objects, made.offer)
                return
            package = made.request.package
            await install_status.carry_out(
                app,
                lambda report, created: job.carry_out(
                    reader, made, report=report, timeouts=timeouts, created=created, undone=undone
                ),
                {"package": package},
                label="working",
                removal=f"olmkit uninstall {package} --olm v1",
                resume=("ClusterExtension", f"olmkit upgrade {package} --olm v1"),
            )

    app.run(run())


def upgrade(
    app: App,
    *,
    package: str,
    to: str,
    channel: str,
    target: Target,
    access: Access,
    timeouts: Timeouts,
    dry_run: bool,
    create_service_account: bool,
) -> None:
    """Request another version."""
    import asyncio

    from olmkit.jobs.cluster_v1 import upgrade as job
    from olmkit.olm.explain.explanation import Explanation

    if to:
        option_checks.check_range_of_v1("--to", to)

    async def run() -> None:
        clock = asyncio.get_running_loop().time
        end = clock() + timeouts.seconds
        async with target.open() as (reader, _):
            with _show_missing_permissions(app):
                planned = await _plan(
                    app,
                    reader,
                    package,
                    to,
                    access,
                    channel=channel,
                    timeouts=timeouts,
                    extends_account=create_service_account,
                    waits=not dry_run,
                )
            if isinstance(planned, Explanation):
                install_status.show(app, planned, {"package": package})
                return
            made = planned
            going = f" to `{made.offer.csv}`" if made.offer.csv not in ("", made.before) else ""
            title = f"upgrading `{package}` from `{made.before or 'nothing'}`{going}"
            _announce(app, f"{title} through OLM v1", made.offer)
            if dry_run:
                _show_plan(app, [*made.granting, made.desired], made.offer)
                return
            rest = timeouts.rest(end)
            again = (
                "OLM continues with what was requested; "
                f"`olmkit upgrade {made.name} --olm v1` waits for the end"
            )
            with (
                install_status.note_interruption(app, again),
                install_status.show_progress(app, "working") as report,
            ):
                found = await job.carry_out(reader, made, report=report, timeouts=rest)
            install_status.show(app, found, {"package": package})

    app.run(run())


async def _plan(
    app: App,
    reader: ClusterObjects,
    package: str,
    to: str,
    access: Access,
    *,
    channel: str,
    timeouts: Timeouts,
    extends_account: bool,
    waits: bool,
) -> ExtensionUpgrade | Explanation:
    from olmkit.jobs.cluster_v1 import upgrade as job

    with install_status.show_progress(app, "waiting") as report:
        return await job.plan_when_read(
            reader,
            package,
            to,
            access,
            report=report,
            timeouts=timeouts,
            channel=channel,
            extends_account=extends_account,
            waits=waits,
        )


def why(app: App, *, package: str, target: Target, save: Path | None, saved: Path | None) -> None:
    """Explain the state of a ClusterExtension; `saved` is a file to read instead of a cluster."""
    from olmkit.jobs.cluster_v1 import why as job

    if saved is not None:
        install_status.show(app, job.why_saved(saved, package), {"package": package})
        return

    async def run() -> None:
        async with target.open() as (reader, _):
            found = await job.why(reader, package, file=save)
            install_status.show(app, found, {"package": package})

    app.run(run())


def uninstall(
    app: App,
    *,
    package: str,
    target: Target,
    timeouts: Timeouts,
    delete_operands: bool,
    remove_finalizers: bool,
    ignore_not_found: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Remove a ClusterExtension; OLM v1 deletes its CRDs with it."""
    from olmkit.jobs.cluster_v1 import uninstall as job
    from olmkit.kube import objects

    async def run() -> None:
        async with target.open() as (reader, _):
            with deletion.ignoring_absence(app, package, is_ignored=ignore_not_found):
                made = await job.plan(
                    reader, package, delete_operands=delete_operands, report=app.terminal.note
                )
            for crd in made.unread:
                app.terminal.note(
                    f"the objects of {objects.name(crd)} cannot be listed, since no webhook "
                    "converts them; they are deleted after the operator"
                )
            if dry_run:
                deletion.show_plan(app, made.all, stays=made.stays, package=package)
                if not made.is_complete:
                    app.terminal.note("pass `--delete-operands` to delete the objects of its CRDs")
                return
            job.require_complete(made)
            if made.crds:
                names = ", ".join(objects.name(crd) for crd in made.crds)
                app.terminal.note(f"OLM v1 deletes the CRDs with the ClusterExtension: {names}")
            deletion.confirm(app, made.all, yes=yes)
            also = " --delete-operands" if delete_operands else ""
            again = f"to delete the rest, run `olmkit uninstall {made.name} --olm v1{also}` again"
            with (
                install_status.note_interruption(app, again),
                install_status.show_progress(app, "deleting") as report,
            ):
                done = await job.carry_out(
                    reader,
                    made,
                    remove_finalizers=remove_finalizers,
                    report=report,
                    timeouts=timeouts,
                )
            deletion.show(app, done, stays=made.stays, package=package)

    app.run(run())


@contextmanager
def _show_missing_permissions(app: App) -> Iterator[None]:
    """Print the manifests that grant a service account's missing permissions."""
    from olmkit.base import documents
    from olmkit.jobs.cluster_v1.preflight import MissingPermissionsError

    try:
        yield
    except MissingPermissionsError as error:
        if app.is_json:
            reason = install_status.refusal(error, app.request or {}) or {}
            result = {**reason, "objects": list(error.manifests)}
            words = output.envelope(app.command, result, error.diagnostics, error)
            app.terminal.result(words, exact=True)
            app.exit(Exit.NO)
        app.terminal.result(documents.dump_all(error.manifests).decode(), exact=True)
        raise


def _announce(app: App, title: str, offer: ExtensionChoice) -> None:
    announcement.show(app, title, offer.brings, [""], offer.notes, offer.has)


def _show_plan(app: App, found: Sequence[Manifest], offer: ExtensionChoice) -> None:
    """Show the objects to write, and the known contents of the bundle."""
    from olmkit.base import documents

    app.emit(
        {
            "objects": list(found),
            "csv": offer.csv or None,
            "permissions": announcement.permissions(offer.brings),
            "notes": list(offer.notes),
        },
        text=lambda: documents.dump_all(found).decode(),
    )
