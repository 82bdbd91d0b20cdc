"""Deploy a catalog server with several pods, and the object that makes OLM use it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from olmkit.base.diagnostics import InputError, OlmkitError
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.cluster import bundle as cluster_bundle
from olmkit.jobs.cluster import deploy as cluster_deploy
from olmkit.jobs.cluster import wait as cluster_wait
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.kube import objects
from olmkit.kube.api import ClusterError
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import install_objects
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import Diagnosis, Explanation
from olmkit.olm.v1 import catalogs as cluster_catalogs


async def require_images(manifests: tuple[Manifest, ...], access: Access) -> None:
    """Raise `InputError` if an image of a Deployment contains only the files of a catalog.

    Raises `RemoteError` if the image of a ClusterCatalog does not exist: each ClusterExtension
    without a selector would stop. An image that cannot be read from this machine may be readable in
    the cluster.
    """
    for deployment in manifests:
        if objects.kind(deployment) == "ClusterCatalog":
            try:
                await cluster_bundle.folder_to_extract(cluster_catalogs.image(deployment), access)
            except OlmkitError as error:
                if cluster_bundle.is_missing(error):
                    raise
        if objects.kind(deployment) != "Deployment":
            continue
        for container in sequence(objects.pod_spec(deployment).get("containers")):
            image = text(mapping(container).get("image"))
            try:
                folder = await cluster_bundle.folder_to_extract(image, access)
            except OlmkitError:
                continue
            if folder:
                raise InputError(
                    f"the image `{image}` has the files of a catalog, but no server",
                    hint="build it with `olmkit catalog build --server olmkit`, or create a "
                    f"CatalogSource with `grpcPodConfig.extractContent.catalogDir: {folder}`, with "
                    "which OLM serves the image itself",
                )


async def changes(reader: ClusterObjects, manifests: tuple[Manifest, ...]) -> tuple[str, ...]:
    """Return a line for each object with its change by `apply`; raises like `apply`."""
    await _refuse_others(reader, manifests)
    return await cluster_deploy.changes(reader, manifests)


async def apply(
    reader: ClusterObjects, manifests: tuple[Manifest, ...], *, report: Report, timeouts: Timeouts
) -> Explanation:
    """Apply the objects, and wait for the rollout or until catalogd serves the catalog.

    Returns the final state.

    Raises `ClusterError` before any change if one of them exists and was not created by olmkit, and
    if the server rejects one.
    """
    await _refuse_others(reader, manifests)
    clock = asyncio.get_running_loop().time
    end = clock() + timeouts.seconds
    catalogs = [one for one in manifests if objects.kind(one) == "ClusterCatalog"]
    applied = await cluster_deploy.apply(
        reader, manifests, report=(lambda _: None) if catalogs else report, timeouts=timeouts
    )
    if not catalogs or not applied.is_ready:
        return applied
    (catalog,) = catalogs
    name = objects.name(catalog)
    report(f"applied {explanation.subject(catalog)}")

    async def observe() -> Diagnosis | None:
        return cluster_catalogs.explain_catalog(await reader.current(catalog) or catalog)

    return await cluster_wait.wait_until_healthy(
        observe,
        f"the catalog `{name}` is served",
        report=report,
        timeouts=replace(timeouts, seconds=max(0.0, end - clock())),
    )


async def _refuse_others(reader: ClusterObjects, manifests: tuple[Manifest, ...]) -> None:
    for manifest in manifests:
        found = await reader.current(manifest)
        if found is not None and not install_objects.is_ours(found):
            raise ClusterError(
                f"{explanation.subject(manifest)} exists already, and olmkit did not create it",
                hint="use another name, or delete it",
            )
