"""Check whether catalogd serves the current image of a catalog.

Since catalogd has pulled the image, its tag may refer to a new image, or the ClusterCatalog may
have a new reference. `status.resolvedSource` has the digest that is served.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from olmkit.base.diagnostics import OlmkitError
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.cluster import wait as cluster_wait
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.jobs.image import digest as image_digest
from olmkit.kube import objects
from olmkit.kube.objects import Manifest
from olmkit.olm.explain.explanation import Diagnosis, Explanation
from olmkit.olm.v1 import catalogs as cluster_catalogs
from olmkit.olm.v1 import extension as v1

# Seconds: a registry that can be reached from here responds at once.
_ANSWER = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Age:
    """The state of the catalogs of a ClusterExtension; `notes` say what is unknown.

    `expected` has the current digest of each reference, by the names of the catalogs.
    """

    request: Mapping[str, object] = field(default_factory=dict, repr=False)
    expected: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


async def read(reader: ClusterObjects, extension: Manifest, access: Access) -> Age:
    """Read the current digests of the catalogs' references from the registries."""
    request = dict(v1.request_of(extension))
    every = await reader.list(v1.CLUSTER_CATALOG)
    found = await read_digests(cluster_catalogs.selected_catalogs(every, request), access)
    return replace(found, request=request)


async def read_digests(catalogs: Iterable[Manifest], access: Access) -> Age:
    """Read the current digests of the references of these ClusterCatalogs."""
    expected: dict[str, str] = {}
    notes: list[str] = []
    for one in catalogs:
        name, image = objects.name(one), cluster_catalogs.image(one)
        if not image or "@" in image:
            continue
        try:
            async with asyncio.timeout(_ANSWER):
                expected[name] = await image_digest.read_digest(image, access)
        except TimeoutError:
            notes.append(f"{_unknown(name)}: the registry of `{image}` does not answer")
        except OlmkitError as error:
            notes.append(f"{_unknown(name)}: {error.message}")
    return Age(expected=expected, notes=tuple(notes))


async def explain_outdated(reader: ClusterObjects, age: Age) -> Diagnosis | None:
    """Return a finding about the first outdated catalog; None if all are current."""
    if not age.expected:
        return None
    found = await reader.list(v1.CLUSTER_CATALOG)
    listed: Sequence[Manifest] = cluster_catalogs.selected_catalogs(found, age.request)
    for one in listed:
        outdated = cluster_catalogs.explain_outdated_image(
            one, age.expected.get(objects.name(one), "")
        )
        if outdated is not None:
            return outdated
    return None


async def wait_until_current(
    reader: ClusterObjects, age: Age, *, report: Report, timeouts: Timeouts
) -> Explanation:
    """Wait until catalogd serves the current images.

    It returns at once, not ready, for a catalog that catalogd does not poll, since it would not
    change.
    """
    timeouts = replace(timeouts, believed=0.0)

    async def look() -> Diagnosis | None:
        return await explain_outdated(reader, age)

    return await cluster_wait.wait_until_healthy(
        look, "the catalogs are up to date", report=report, timeouts=timeouts
    )


def _unknown(name: str) -> str:
    return f"whether the catalog `{name}` is up to date is not known"
