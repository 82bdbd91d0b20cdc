"""`olmkit why`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from olmkit.cli.frame import install_status
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.cluster_options import Target, cluster_options, olm_option
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access
    from olmkit.olm.explain.explanation import Explanation


@command(
    example="""
    olmkit why memcached-operator -n operators
    olmkit why memcached-operator -o json
    olmkit why memcached-operator --from objects.yaml
    olmkit why memcached-operator --olm v1
    """
)
@click.argument("package")
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the inspected objects to a file, for example for a bug report.",
)
@click.option(
    "--from",
    "saved",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Inspect the objects in a file, instead of a cluster.",
)
@olm_option
@cluster_options
@registry_options
def why(
    app: App,
    *,
    package: str,
    olm: str,
    save: Path | None,
    saved: Path | None,
    target: Target,
    access: Access,
) -> None:
    """Explain why an operator is not installed or upgraded.

    The cause comes first, then the path to it: Subscription, InstallPlan, unpack Job,
    ClusterServiceVersion, Deployment, Pod and its last message. With OLM v1, the path begins at the
    ClusterExtension. The command reads the catalogs only if OLM cannot resolve the namespace, or if
    it is unclear which bundle an unpack Job belongs to.
    """
    from olmkit.jobs.cluster import read as job

    if save is not None and saved is not None:
        raise click.UsageError("`--save` cannot be used with `--from`.")
    if olm == "v1":
        from olmkit.cli.cluster import extension  # it imports modules that OLM v0 does not need

        extension.why(app, package=package, target=target, save=save, saved=saved)
        return
    if saved is not None:
        found = job.why_saved(saved, package, target.named_namespace)
        install_status.show(app, found, {"package": package})
        return

    async def run() -> Explanation:
        from olmkit.jobs.cluster import conflicts  # reading a file needs no registry

        async with target.open() as (reader, namespace):
            added = conflicts.added(access)
            return await job.why(reader, package, namespace, save=save, added=added)

    install_status.show(app, app.run(run()), {"package": package})
