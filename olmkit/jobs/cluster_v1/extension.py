"""Install and upgrade operators through OLM v1, and explain how they stand.

A ClusterExtension is all there is to write; OLM v1 does the rest and reports its progress in
conditions. Its `Installed` only says that objects were applied, so the Deployments are waited
for, too. The catalog that catalogd serves is read through the API server, so that what will be
installed is known beforehand from anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from olmkit.base.diagnostics import InputError
from olmkit.base.version_constraints import VersionConstraint
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.cluster import bundle as cluster_bundle
from olmkit.jobs.cluster import read as cluster_read
from olmkit.jobs.cluster import wait as cluster_wait
from olmkit.jobs.cluster import write as cluster_write
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.jobs.cluster_v1 import extension_choice
from olmkit.jobs.cluster_v1 import state as states
from olmkit.jobs.cluster_v1.extension_choice import Offer
from olmkit.jobs.cluster_v1.state import require_olm
from olmkit.kube import objects, patches
from olmkit.kube.objects import Manifest, text
from olmkit.olm import install_objects as wanted
from olmkit.olm import kinds
from olmkit.olm.explain.explanation import Explanation
from olmkit.olm.v1 import catalogs as cluster_catalogs
from olmkit.olm.v1 import extension as v1
from olmkit.olm.v1.explain import explain
from olmkit.olm.v1.extension import ExtensionRequest
from olmkit.olm.v1.state import ExtensionState


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

    `name` is the object's, `package` what it requests. `before` is the bundle that is installed
    now, empty when there is none.
    """

    name: str
    package: str
    version: str
    before: str
    wanted: Manifest = field(repr=False)
    offer: Offer = field(repr=False)


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
    there = await reader.list(v1.CLUSTER_CATALOG) if image else ()
    name = f"{options.package}-catalog" if image else options.catalog
    request = ExtensionRequest(
        package=options.package,
        namespace=options.namespace,
        version=options.version,
        channels=(options.channel,) if options.channel else (),
        catalog=name,
        catalog_image=image,
        catalog_priority=cluster_catalogs.lowest_priority(
            one for one in there if objects.name(one) != name
        ),
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
    found = await states.find(reader, package)
    if found is None:
        said = explain(ExtensionState(name=package))
        raise InputError(said.message, hint=said.hint)
    changed: Manifest = patches.merge_patch(found, _asking(version))
    changed.pop("status", None)
    changed["metadata"] = {"name": objects.name(found)}
    return ExtensionUpgrade(
        name=objects.name(found),
        package=text(v1.asked(found).get("packageName")),
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
    return await until_ready(
        reader, made.name, target=made.offer.csv, report=report, timeouts=timeouts
    )


def _check_range(version: str) -> None:
    if version:
        VersionConstraint.parse(version)


def _asking(version: str) -> Manifest:
    return {"spec": {"source": {"catalog": {"version": version or None}}}}


async def why(reader: ClusterObjects, name: str, *, file: Path | None = None) -> Explanation:
    """How the ClusterExtension of that name or package stands, and why.

    `file` gets all objects that were read; no Secrets are among them.
    """
    await require_olm(reader)
    state = await states.read(reader, name)
    if file is not None:
        states.save(state, file)
    return explain(state)


def why_saved(file: Path, name: str) -> Explanation:
    """The same from the objects in a file. Raises `InputError` when it holds no objects."""
    return explain(states.load(file, name))


async def until_ready(
    reader: ClusterObjects, name: str, *, target: str = "", report: Report, timeouts: Timeouts
) -> Explanation:
    """Wait until its Deployments are available, or a person must act.

    `target`: the bundle that is expected, where it is known. A server that does not answer is
    waited for.
    """

    def explained(state: ExtensionState) -> Explanation:
        return explain(state, target=target)

    async def look() -> ExtensionState:
        state = await states.read(reader, name, logs=False)
        if explained(state).is_ready:
            return state
        here = await cluster_read.with_logs(reader, state.here)
        return replace(state, here=here)

    return await cluster_wait.settled(look, explained, report=report, timeouts=timeouts)
