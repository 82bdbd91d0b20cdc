"""`olmkit olm status`, `install` and `uninstall`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from olmkit.cli.cluster import deletion
from olmkit.cli.cluster.deletion import dry_run_option, yes_option
from olmkit.cli.frame import install_status, option_values, options
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.cluster_options import Target, cluster_options, timeout_option
from olmkit.cli.frame.exits import Exit
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.cluster import olm as job
    from olmkit.jobs.cluster.wait import Timeouts


def manifest_options(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return the source of OLM's manifests."""
    added = [
        click.option(
            "-f",
            "--manifests",
            multiple=True,
            metavar="FILE|URL",
            help="Manifests of OLM, instead of those of a release; repeatable.",
        ),
        click.option(
            "--release",
            default=option_values.OLM_RELEASE,
            show_default=True,
            metavar="TAG",
            help="Release of OLM whose manifests are used.",
        ),
    ]
    return options.add(run, added)


@command(
    example="""
    olmkit olm status
    olmkit olm status -o json
    """
)
@cluster_options
def status(app: App, *, target: Target) -> None:
    """Show whether OLM is installed and running."""
    from olmkit.jobs.cluster import olm as job

    async def run() -> job.OlmStatus:
        async with target.open() as (reader, _):
            return await job.status(reader)

    found = app.run(run())
    app.emit(
        {
            "generations": list(found.generations),
            "parts": [
                {
                    "generation": part.generation,
                    "namespace": part.namespace,
                    "name": part.name,
                    "image": part.image,
                    "finding": part.finding or None,
                }
                for part in found.parts
            ],
            "subscriptions": found.subscriptions,
            "clusterExtensions": found.extensions,
            "clusterCatalogs": found.catalogs,
        },
        text=lambda: _text(found),
    )
    if not found.is_ready:
        app.exit(Exit.NO)


@command(
    example="""
    olmkit olm install
    olmkit olm install -f crds.yaml -f olm.yaml
    """
)
@manifest_options
@click.option("--dry-run", is_flag=True, help="Show what would change without changing anything.")
@timeout_option()
@cluster_options
@registry_options
def install(
    app: App,
    *,
    release: str,
    manifests: tuple[str, ...],
    dry_run: bool,
    timeouts: Timeouts,
    target: Target,
    access: Access,
) -> None:
    """Install OLM v0 from its manifests, and wait until it runs."""
    from olmkit.jobs.cluster import olm as job
    from olmkit.olm.explain.explanation import subject

    async def run() -> None:
        found = await job.manifests(manifests, release, access)
        async with target.open() as (reader, _):
            if dry_run:
                lines = [f"would apply {subject(one)}" for one in found]
                app.emit({"changes": lines}, text="\n".join(lines))
                return
            with install_status.show_progress(app, "working") as report:
                done = await job.install(reader, found, report=report, timeouts=timeouts)
            install_status.show(app, done, {"objects": [subject(one) for one in found]})

    app.run(run())


@command(
    example="""
    olmkit olm uninstall
    olmkit olm uninstall -f crds.yaml -f olm.yaml --yes
    """
)
@manifest_options
@dry_run_option
@yes_option
@timeout_option()
@cluster_options
@registry_options
def uninstall(
    app: App,
    *,
    release: str,
    manifests: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    timeouts: Timeouts,
    target: Target,
    access: Access,
) -> None:
    """Remove OLM v0, using the manifests that installed it.

    The command refuses while operators are installed through OLM.
    """
    from olmkit.jobs.cluster import olm as job

    async def run() -> None:
        found = await job.manifests(manifests, release, access)
        async with target.open() as (reader, _):
            made = await job.removal(reader, found)
            if dry_run:
                deletion.show_plan(app, made.all)
                return
            deletion.confirm(app, made.all, yes=yes)
            with install_status.show_progress(app, "working") as report:
                done = await job.uninstall(reader, made, report=report, timeouts=timeouts)
            deletion.show(app, done)

    app.run(run())


def _text(found: job.OlmStatus) -> str:
    if not found.generations:
        return "OLM is not installed"
    numbers = (
        ("Subscription", found.subscriptions),
        ("ClusterExtension", found.extensions),
        ("ClusterCatalog", found.catalogs),
    )
    counted = [
        f"{number} {kind}{'s' * (number != 1)}" for kind, number in numbers if number is not None
    ]
    lines = [", ".join((f"OLM {' and '.join(found.generations)}", *counted))]
    lines += [
        f"  {part.namespace}/{part.name}  {part.image}  {part.finding or 'available'}"
        for part in found.parts
    ]
    running = {part.generation for part in found.parts}
    lines += [
        f"  OLM {name} has no Deployments in this cluster: it runs outside of it, or not at all"
        for name in found.generations
        if name not in running
    ]
    return "\n".join(lines)
