"""Deploy a catalog server with several pods, and the object that makes OLM use it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from olmkit.base.diagnostics import InputError, OlmkitError
from olmkit.edges import paths
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images import transports
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.cluster import bundle as cluster_bundle
from olmkit.jobs.cluster import deploy as cluster_deploy
from olmkit.jobs.cluster import read as cluster_read
from olmkit.jobs.cluster import wait as cluster_wait
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.jobs.cluster_v1 import affected, catalog_age
from olmkit.jobs.cluster_v1.catalog_age import Age
from olmkit.kube import objects
from olmkit.kube.api import ClusterError
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import install_objects
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import Diagnosis, Explanation, Readiness
from olmkit.olm.v1 import catalogs as cluster_catalogs
from olmkit.olm.v1 import extension as v1


async def require_kinds(reader: ClusterObjects, manifests: tuple[Manifest, ...]) -> None:
    """Raise `InputError` for a CatalogSource if the cluster has OLM v1 only."""
    is_for_v0 = any(objects.kind(one) == "CatalogSource" for one in manifests)
    if is_for_v0 and await reader.knows(v1.CLUSTER_CATALOG):
        await cluster_read.require_olm(reader)


async def require_images(manifests: tuple[Manifest, ...], access: Access) -> None:
    """Raise `InputError` if an image of a Deployment contains only the files of a catalog.

    Raises `RemoteError` if the image of a ClusterCatalog does not exist: each ClusterExtension
    without a selector would stop. An image that cannot be read from this machine may be readable in
    the cluster. Raises `InputError` for a directory, and for a ClusterCatalog whose image is not a
    catalog.
    """
    for deployment in manifests:
        if objects.kind(deployment) == "ClusterCatalog":
            await _require_catalog(cluster_catalogs.image(deployment), access)
        if objects.kind(deployment) != "Deployment":
            continue
        for container in sequence(objects.pod_spec(deployment).get("containers")):
            image = text(mapping(container).get("image"))
            _refuse_directory(image)
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


async def _require_catalog(image: str, access: Access) -> None:
    _refuse_directory(image)
    try:
        if await cluster_bundle.is_catalog(image, access):
            return
    except OlmkitError as error:
        if cluster_bundle.is_missing(error):
            raise
        return
    raise InputError(
        f"the image `{image}` is not a catalog: it has no label `{transports.CONFIGS_LABEL}`",
        hint="build the image of a catalog with `olmkit catalog build`",
    )


def _refuse_directory(image: str) -> None:
    if paths.exists(Path(image)):
        raise InputError(
            f"`{image}` is a path on this machine, and the cluster needs an image",
            hint=f"build it first: `olmkit catalog build {image} -t IMAGE --push`",
        )


async def notes(
    reader: ClusterObjects, manifests: tuple[Manifest, ...], access: Access
) -> tuple[str, ...]:
    """Return notes about side effects of `apply`.

    They name the ClusterExtensions that will read a new ClusterCatalog, and the settings of an
    existing one that no option keeps.
    """
    found: list[str] = []
    for catalog in manifests:
        if objects.kind(catalog) != "ClusterCatalog":
            continue
        existing = await reader.current(catalog)
        if existing is not None:
            if install_objects.is_ours(existing):
                found += _lost_settings(existing, await reader.apply(catalog, dry_run=True))
            continue
        image = cluster_catalogs.image(catalog)
        packages = frozenset[str]()
        if await affected.notes(reader, catalog, packages):  # only then is the content needed
            with contextlib.suppress(OlmkitError):
                read = await cluster_bundle.read_catalog(image, access)
                packages = frozenset(read.catalog.packages)
        found += await affected.notes(reader, catalog, packages)
    return tuple(found)


def _lost_settings(before: Manifest, after: Manifest) -> Iterator[str]:
    name = objects.name(before)
    old, new = cluster_catalogs.priority(before), cluster_catalogs.priority(after)
    if old != new:
        keeping = f"; `--priority {old}` keeps it" if not new else ""
        yield f"the priority of the ClusterCatalog `{name}` changes from {old} to {new}{keeping}"
    minutes = cluster_catalogs.poll_minutes(before)
    if minutes and not cluster_catalogs.poll_minutes(after):
        keeping = (
            ""
            if "@" in cluster_catalogs.image(after)
            else f"; `--poll {minutes}` keeps the interval"
        )
        yield f"catalogd no longer looks for new images of the ClusterCatalog `{name}`{keeping}"


async def changes(reader: ClusterObjects, manifests: tuple[Manifest, ...]) -> tuple[str, ...]:
    """Return a line for each object with its change by `apply`; raises like `apply`."""
    await _refuse_others(reader, manifests)
    return await cluster_deploy.changes(reader, manifests)


async def apply(
    reader: ClusterObjects,
    manifests: tuple[Manifest, ...],
    *,
    report: Report,
    timeouts: Timeouts,
    access: Access,
    created: list[Manifest] | None = None,
) -> Explanation:
    """Apply the objects, and wait for the rollout or until catalogd serves the catalog.

    For an existing ClusterCatalog, catalogd must serve the image that its tag names now. Returns
    the final state. A new ClusterCatalog is appended to `created`.

    Raises `ClusterError` before any change if one of them exists and was not created by olmkit, and
    if the server rejects one.
    """
    await _refuse_others(reader, manifests)
    clock = asyncio.get_running_loop().time
    end = clock() + timeouts.seconds
    catalogs = [one for one in manifests if objects.kind(one) == "ClusterCatalog"]
    new = [one for one in catalogs if await reader.current(one) is None]
    applied = await cluster_deploy.apply(
        reader, manifests, report=(lambda _: None) if catalogs else report, timeouts=timeouts
    )
    if not catalogs or not applied.is_ready:
        return applied
    if created is not None:
        created += new
    (catalog,) = catalogs
    name = objects.name(catalog)
    report(f"applied {explanation.subject(catalog)}")

    age = await catalog_age.read_digests([] if new else [catalog], access)
    for note in age.notes:
        report(note)

    async def observe() -> Diagnosis | None:
        now = await reader.current(catalog) or catalog
        return cluster_catalogs.explain_change(now) or _explain_outdated(now, age)

    return await cluster_wait.wait_until_healthy(
        observe,
        f"the catalog `{name}` is served",
        report=report,
        timeouts=replace(timeouts, seconds=max(0.0, end - clock())),
    )


def _explain_outdated(catalog: Manifest, age: Age) -> Diagnosis | None:
    expected = age.expected.get(objects.name(catalog), "")
    found = cluster_catalogs.explain_outdated_image(catalog, expected)
    if (
        found is None
        or cluster_catalogs.poll_minutes(catalog)
        or found.readiness is not Readiness.BLOCKED
    ):
        return found
    return replace(found, hint="pass `--poll MINUTES`, or name the image by its digest")


async def _refuse_others(reader: ClusterObjects, manifests: tuple[Manifest, ...]) -> None:
    for manifest in manifests:
        found = await reader.current(manifest)
        if found is not None and not install_objects.is_ours(found):
            raise ClusterError(
                f"{explanation.subject(manifest)} exists already, and olmkit did not create it",
                hint="use another name, or delete it",
            )
