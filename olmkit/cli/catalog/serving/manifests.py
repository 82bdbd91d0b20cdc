"""`olmkit catalog manifests`."""

from __future__ import annotations

import click

from olmkit.cli.catalog.serving.deployment_options import Objects, deployment_options
from olmkit.cli.frame import cluster_options
from olmkit.cli.frame.app import App, command


@command(
    example="""
    olmkit catalog manifests quay.io/example/catalog@sha256:… --name example -n olm
    olmkit catalog manifests quay.io/example/catalog:v1 --name example --olm v1 --poll 10
    """
)
@deployment_options
@click.option(
    "-n",
    "--namespace",
    default="default",
    show_default=True,
    metavar="NAME",
    envvar="OLMKIT_NAMESPACE",
    callback=cluster_options.namespace_name,
    help="Namespace of the objects.",
)
def manifests(app: App, *, image: str, namespace: str, objects_in: Objects) -> None:
    """Print the manifests of a server for a catalog that several pods share.

    IMAGE has a catalog and a server, as `olmkit catalog build --server olmkit` builds it. For OLM
    v0 the manifests are a Deployment, a Service, a HorizontalPodAutoscaler, a
    PodDisruptionBudget, a NetworkPolicy, and a CatalogSource with the address of the Service. For
    OLM v1, IMAGE needs no server, and the manifest is a ClusterCatalog.
    """
    from olmkit.base import documents

    made = objects_in(namespace)
    app.emit({"image": image, "objects": list(made)}, text=documents.dump_all(made).decode())
