"""Install, upgrade, look at and remove operators through OLM v1.

A ClusterExtension is all there is to write; OLM v1 does the rest and says in its
conditions how far it has come. The catalog that catalogd serves is read through the API
server, so that what will be installed can be said beforehand from anywhere.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from olmkit.base.diagnostics import InputError
from olmkit.base.version_constraints import VersionConstraint
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.cluster import bundle as cluster_bundle
from olmkit.jobs.cluster import wait as cluster_wait
from olmkit.jobs.cluster import write as cluster_write
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.jobs.cluster.write import Removed
from olmkit.jobs.cluster_v1 import extension_choice
from olmkit.jobs.cluster_v1.extension_choice import Offer
from olmkit.kube import objects, patches
from olmkit.kube.objects import Manifest
from olmkit.olm import install_objects as wanted
from olmkit.olm import kinds, v1
from olmkit.olm.explain.explanation import Explanation
from olmkit.olm.v1 import ExtensionRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionOptions:
    """What the user wants; `catalog` is an image or the name of a ClusterCatalog."""

    package: str
    namespace: str
    catalog: str = ""
    version: str = ""
    channel: str = ""
    poll_minutes: int = 0
    service_account: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionPlan:
    """What would be created, in order."""

    request: ExtensionRequest
    objects: tuple[Manifest, ...] = field(repr=False)
    offer: Offer = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionUpgrade:
    """What a ClusterExtension would become when another range of versions is asked for.

    `before` is the bundle that is installed now, empty when there is none.
    """

    package: str
    version: str
    before: str
    wanted: Manifest = field(repr=False)
    offer: Offer = field(repr=False)


async def require_olm(reader: ClusterObjects) -> None:
    """Raises `InputError` when the cluster has no OLM v1."""
    if not await reader.knows(v1.CLUSTER_EXTENSION):
        raise InputError(
            "OLM v1 is not installed in this cluster: it does not know ClusterExtensions",
            hint="install it, or use OLM v0 with `--olm v0`",
        )


async def plan(reader: ClusterObjects, options: ExtensionOptions, access: Access) -> ExtensionPlan:
    """Decide what to create; nothing is written.

    Raises `InputError` for what OLM would not install, `ConfigurationError` for what was asked
    wrongly, `ClusterError`.
    """
    cluster_bundle.check_names(options.package, options.catalog)
    _check_range(options.version)
    await require_olm(reader)
    if await reader.find(v1.CLUSTER_EXTENSION, options.package) is not None:
        raise InputError(
            f"there is a ClusterExtension `{options.package}` already",
            hint=f"`olmkit why {options.package} --olm v1` says how it stands",
        )
    crd = await reader.find(kinds.CRD, v1.CRD_NAME)
    if crd is not None and v1.wants_service_account(crd) and not options.service_account:
        raise InputError(
            "this release of OLM v1 installs with the rights of a service account",
            hint="name one of the namespace with `--service-account`",
        )
    image = options.catalog if cluster_bundle.is_image(options.catalog) else ""
    name = f"{options.package}-catalog" if image else options.catalog
    request = ExtensionRequest(
        package=options.package,
        namespace=options.namespace,
        version=options.version,
        channels=(options.channel,) if options.channel else (),
        catalog=name,
        catalog_image=image,
        poll_minutes=options.poll_minutes,
        service_account=options.service_account,
    )
    offer = await extension_choice.of_new(reader, request, access)
    if offer.brings is not None:
        v1.check(offer.brings)
    made = []
    if await reader.find(kinds.NAMESPACE, options.namespace) is None:
        made.append(wanted.namespace(options.namespace))
    if image:
        made.append(v1.cluster_catalog(request))
    made.append(v1.cluster_extension(request))
    return ExtensionPlan(request=request, objects=tuple(made), offer=offer)


async def carry_out(
    reader: ClusterObjects,
    made: ExtensionPlan,
    *,
    report: Report,
    timeouts: Timeouts,
    created: list[Manifest],
    undone: Report | None = None,
) -> Explanation:
    """Create the objects and wait; `created` lists at any time what is there because of it.

    When it does not end in an operator that is ready, that is taken back, and `undone` hears of
    it; without `undone` it stays.
    """
    work = _create_and_wait(reader, made, report=report, timeouts=timeouts, created=created)
    return await cluster_write.attempt(
        work,
        lambda undone: cluster_write.take_back(created, reader.delete, report=undone),
        undone=undone,
    )


async def _create_and_wait(
    reader: ClusterObjects,
    made: ExtensionPlan,
    *,
    report: Report,
    timeouts: Timeouts,
    created: list[Manifest],
) -> Explanation:
    for manifest in made.objects:
        await cluster_write.create(reader, manifest, created=created, report=report)
    return await until_ready(reader, made.request.package, report=report, timeouts=timeouts)


async def plan_upgrade(
    reader: ClusterObjects, package: str, version: str, access: Access
) -> ExtensionUpgrade:
    """What asking for a range of versions means, the newest when it is empty; nothing is written.

    Raises `InputError` when there is no ClusterExtension, and when the version is no range.
    """
    _check_range(version)
    await require_olm(reader)
    found = await reader.find(v1.CLUSTER_EXTENSION, package)
    if found is None:
        said = v1.explain(None, (), package)
        raise InputError(said.message, hint=said.hint)
    changed: Manifest = patches.merge_patch(found, _asking(version))
    changed.pop("status", None)
    changed["metadata"] = {"name": package}
    return ExtensionUpgrade(
        package=package,
        version=version,
        before=v1.installed(found)[0],
        wanted=changed,
        offer=await extension_choice.of_upgrade(reader, found, version, access),
    )


async def upgrade(
    reader: ClusterObjects, made: ExtensionUpgrade, *, report: Report, timeouts: Timeouts
) -> Explanation:
    """Ask for that range of versions, and wait."""
    await reader.merge(made.wanted, _asking(made.version))
    report(f"asked for {made.version or 'the newest version'}")
    return await until_ready(reader, made.package, report=report, timeouts=timeouts)


def _check_range(version: str) -> None:
    if version:
        VersionConstraint.parse(version)


def _asking(version: str) -> Manifest:
    return {"spec": {"source": {"catalog": {"version": version or None}}}}


async def why(reader: ClusterObjects, package: str) -> Explanation:
    """How it stands, and why."""
    await require_olm(reader)
    return v1.explain(*await _look(reader, package), package)


async def until_ready(
    reader: ClusterObjects, package: str, *, report: Report, timeouts: Timeouts
) -> Explanation:
    """Wait until it is installed or somebody must act; a server that is away is waited for."""
    return await cluster_wait.settled(
        lambda: _look(reader, package),
        lambda seen: v1.explain(*seen, package),
        report=report,
        timeouts=timeouts,
    )


async def removal(reader: ClusterObjects, package: str) -> tuple[Manifest, ...]:
    """What would be deleted: the ClusterExtension, and the catalog that olmkit made for it."""
    await require_olm(reader)
    found = await reader.find(v1.CLUSTER_EXTENSION, package)
    if found is None:
        said = v1.explain(None, (), package)
        raise InputError(said.message)
    catalogs = [
        one
        for one in await reader.list(v1.CLUSTER_CATALOG)
        if wanted.is_ours(one) and objects.labels_of(one).get(wanted.PART_OF) == package
    ]
    return (found, *catalogs)


async def remove(
    reader: ClusterObjects, found: tuple[Manifest, ...], *, report: Report, timeouts: Timeouts
) -> Removed:
    """Delete them, one gone before the next."""
    steps = [(manifest,) for manifest in found]
    return await cluster_write.delete(reader, steps, report=report, timeouts=timeouts)


async def _look(
    reader: ClusterObjects, package: str
) -> tuple[Manifest | None, tuple[Manifest, ...]]:
    """The ClusterExtension and all catalogs."""
    return await asyncio.gather(
        reader.find(v1.CLUSTER_EXTENSION, package), reader.list(v1.CLUSTER_CATALOG)
    )
