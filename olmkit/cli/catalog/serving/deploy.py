"""`olmkit catalog deploy`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from olmkit.cli.catalog.serving.deployment_options import Objects, deployment_options
from olmkit.cli.frame import install_status
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.cluster_options import Target, cluster_options, timeout_option
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.cluster.wait import Timeouts
    from olmkit.kube.objects import Manifest


@command(
    example="""
    olmkit catalog deploy quay.io/example/catalog@sha256:… --name example -n olm --replicas 3
    olmkit catalog deploy quay.io/example/catalog:v1 --name example --olm v1
    """
)
@deployment_options
@click.option("--dry-run", is_flag=True, help="Show what would change without changing anything.")
@timeout_option("5m")
@cluster_options
@registry_options
def deploy(
    app: App,
    *,
    image: str,
    objects_in: Objects,
    dry_run: bool,
    timeouts: Timeouts,
    target: Target,
    access: Access,
) -> None:
    """Deploy a server for a catalog that several pods share, and wait until it runs.

    For OLM v0, IMAGE needs a server, as `olmkit catalog build --server olmkit` adds it.
    The objects are those of `olmkit catalog manifests`. A new image is rolled out pod by pod. Name
    it by its digest: a Deployment does not notice that a tag refers to another image.

    For OLM v1, creates or changes a ClusterCatalog, and waits until catalogd serves the image that
    IMAGE names now. catalogd reads another digest at once, and a tag only at each `--poll`.
    """
    from olmkit.jobs.catalog.serving import deploy as job
    from olmkit.kube import objects
    from olmkit.olm.explain.explanation import subject

    async def run() -> None:
        async with target.open() as (reader, namespace):
            wanted = objects_in(namespace)
            await job.require_kinds(reader, wanted)
            await job.require_images(wanted, access)
            for note in await job.notes(reader, wanted, access):
                app.terminal.say(f"note: {note}")
            if dry_run:
                lines = await job.changes(reader, wanted)
                app.emit({"changes": list(lines)}, text="\n".join(lines))
                return
            created: list[Manifest] = []
            try:
                with install_status.show_progress(app, "deploying") as report:
                    found = await job.apply(
                        reader,
                        wanted,
                        report=report,
                        timeouts=timeouts,
                        access=access,
                        created=created,
                    )
                facts = {"image": image, "objects": [subject(one) for one in wanted]}
                install_status.show(app, found, facts)
            except BaseException:
                for name in map(objects.name, created):
                    app.terminal.say(
                        f"the ClusterCatalog `{name}` remains, and stops ClusterExtensions without "
                        f"a selector until it is served; `kubectl delete clustercatalog {name}` "
                        "removes it"
                    )
                raise

    app.run(run())
