"""Install operators through OLM v1: a ClusterExtension, and what it needs.

The job creates a ClusterExtension; OLM v1 does the rest and reports its progress in conditions. The
catalog that catalogd serves is read through the API server, so that the bundle is known in advance.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.cluster import bundle as cluster_bundle
from olmkit.jobs.cluster import write as cluster_write
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.jobs.cluster_v1 import affected, extension_choice, preflight, wait
from olmkit.jobs.cluster_v1.extension_choice import ExtensionChoice
from olmkit.jobs.cluster_v1.preflight import Account
from olmkit.jobs.cluster_v1.state import require_olm
from olmkit.kube import objects
from olmkit.kube.api import Forbidden
from olmkit.kube.objects import Manifest, text
from olmkit.olm import install_objects, kinds
from olmkit.olm.explain.explanation import Explanation
from olmkit.olm.v1 import catalogs as cluster_catalogs
from olmkit.olm.v1 import extension as v1
from olmkit.olm.v1 import permissions, version_range
from olmkit.olm.v1.extension import ExtensionRequest

_DURATION = re.compile(r"(?=.)(?:(?P<hours>[0-9]{1,6})h)?(?:(?P<minutes>[0-9]{1,6})m)?")
_LONGEST_POLL = 1 << 31  # minutes; the field is an integer of 32 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionOptions:
    """The user's options; `catalog` is an image or the name of a ClusterCatalog.

    `channel` can be a list with commas.

    `create_service_account`: create it with the permissions that the bundle needs; its default name
    is derived from the package.
    """

    package: str
    namespace: str
    catalog: str = ""
    version: str = ""
    channel: str = ""
    poll_minutes: int = 0
    service_account: str = ""
    create_service_account: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionPlan:
    """The objects to create, in order."""

    request: ExtensionRequest
    objects: tuple[Manifest, ...] = field(repr=False)
    offer: ExtensionChoice = field(repr=False)


def poll_minutes(duration: str) -> int:
    """Convert a duration such as `1h30m` to whole minutes, as a ClusterCatalog needs.

    Raises `ConfigurationError`.
    """
    found = _DURATION.fullmatch(duration)
    minutes = int(found["hours"] or 0) * 60 + int(found["minutes"] or 0) if found else 0
    if not 0 < minutes < _LONGEST_POLL:
        raise ConfigurationError(
            f"`{duration}` is not a duration in whole minutes", hint="write `15m` or `1h30m`"
        )
    return minutes


async def plan(reader: ClusterObjects, options: ExtensionOptions, access: Access) -> ExtensionPlan:
    """Plan the objects to create; nothing is written.

    Raises `InputError` if OLM would not install the operator or the API server would reject an
    object, `ConfigurationError` for invalid usage, and `ClusterError`.
    """
    cluster_bundle.check_names(options.package, options.catalog)
    if options.poll_minutes and not cluster_bundle.is_image(options.catalog):
        raise ConfigurationError("OLM can poll only a catalog that is named by its image")
    if options.version:
        version_range.parse(options.version)
    await require_olm(reader)
    await _require_none(reader, options)
    is_required = await preflight.needs_account(reader)
    account = _account(options, is_required=is_required)
    image = options.catalog if cluster_bundle.is_image(options.catalog) else ""
    existing = await reader.list(v1.CLUSTER_CATALOG) if image else ()
    name = f"{options.package}-catalog" if image else options.catalog
    request = ExtensionRequest(
        package=options.package,
        namespace=options.namespace,
        version=options.version,
        channels=v1.split_channels(options.channel),
        catalog=name,
        catalog_image=image,
        catalog_priority=cluster_catalogs.lowest_priority(
            one for one in existing if objects.name(one) != name
        ),
        poll_minutes=options.poll_minutes,
        service_account=account.name,
    )
    _require_ours(existing, name)
    made: list[Manifest] = []
    has_namespace = await reader.find(kinds.NAMESPACE, options.namespace) is not None
    if not has_namespace:
        made.append(install_objects.namespace(options.namespace))
    offer = await extension_choice.choose_for_install(reader, request, access)
    _require_account(account, is_required=is_required)
    await preflight.check_account(reader, account)
    notes = (*_account_notes(account), *offer.notes)
    if offer.brings is not None:
        checked = await preflight.check_bundle(
            reader, offer.brings, extension=options.package, account=account
        )
        notes += checked.notes
    if account.is_new:
        made += await _new_account(reader, offer, account, options.package)
    if image:
        made.append(v1.cluster_catalog(request))
        notes += await affected.notes(reader, v1.cluster_catalog(request), offer.packages)
    made.append(v1.cluster_extension(request))
    await preflight.check_objects(reader, made)
    return ExtensionPlan(request=request, objects=tuple(made), offer=replace(offer, notes=notes))


async def _require_none(reader: ClusterObjects, options: ExtensionOptions) -> None:
    """Raise `InputError` if a ClusterExtension has this name or requests this package."""
    package = options.package
    try:
        existing = await reader.list(v1.CLUSTER_EXTENSION)
    except Forbidden:
        found = await reader.find(v1.CLUSTER_EXTENSION, package)
        existing = () if found is None else (found,)
    for one in existing:
        name, requested = objects.name(one), text(v1.request_of(one).get("packageName"))
        if name == package:
            raise InputError(
                f"the ClusterExtension `{name}` exists already",
                hint=_existing_hint(one, options),
                cause="already-installed",
            )
        if requested == package:
            raise InputError(
                f"the ClusterExtension `{name}` requests the package `{package}` already, and OLM "
                "v1 installs a package once in a cluster",
                hint=_existing_hint(one, options),
                cause="already-installed",
            )


def _existing_hint(extension: Manifest, options: ExtensionOptions) -> str:
    """Return the command for an existing ClusterExtension: the requested version, or its state."""
    name = objects.name(extension)
    _, installed = v1.installed_bundle(extension)
    present = text(v1.request_of(extension).get("version"))
    if options.version not in ("", installed, present):
        to = shlex.quote(options.version)
        channel = f" --channel {shlex.quote(options.channel)}" if options.channel else ""
        return f"to change its version, run `olmkit upgrade {name} --olm v1 --to {to}{channel}`"
    return (
        f"run `olmkit upgrade {name} --olm v1` to wait until it is ready, with `--to` for another "
        f"version; `olmkit why {name} --olm v1` shows its state"
    )


def _account(options: ExtensionOptions, *, is_required: bool | None) -> Account:
    """Return the service account for the install; without a name if the user named none."""
    name = options.service_account
    if options.create_service_account:
        name = name or f"{options.package}-installer"
    return Account(
        name=name,
        namespace=options.namespace,
        is_new=options.create_service_account,
        is_ignored=is_required is False,
    )


def _require_account(account: Account, *, is_required: bool | None) -> None:
    """Raise `InputError` if OLM needs a service account, and the user named none."""
    if is_required and not account.name:
        raise InputError(
            "this release of OLM v1 installs with the permissions of a service account",
            hint=f"name one of namespace `{account.namespace}` with `--service-account`, or pass "
            "`--create-service-account`",
            cause="service-account",
        )


def _account_notes(account: Account) -> Iterator[str]:
    if account.name and account.is_ignored:
        yield f"this release of OLM v1 ignores the service account `{account.name}`"


async def _new_account(
    reader: ClusterObjects, offer: ExtensionChoice, account: Account, package: str
) -> tuple[Manifest, ...]:
    if offer.brings is None or not offer.brings.manifests:
        reason = offer.unread or f"the bundle `{offer.csv}` has no manifests"
        access = offer.hint or "give this machine access to the catalog and to the image"
        raise InputError(
            f"the permissions that `{package}` needs are not known, because {reason}",
            hint=f"{access}; or pass an existing service account with `--service-account`. If the "
            "image is in a mirror, name the mirror in `registries.conf`"
            if offer.brings is None
            else "pass an existing service account with `--service-account`",
            cause="bundle-not-readable",
        )
    needs = permissions.required_permissions(
        offer.brings.manifests, extension=package, release=await preflight.release(reader)
    )
    return permissions.account_objects(
        needs, account=account.name, namespace=account.namespace, package=package
    )


def _require_ours(catalogs: Iterable[Manifest], name: str) -> None:
    """Raise `InputError` if a catalog with this name exists and olmkit did not create it."""
    for one in catalogs:
        if objects.name(one) == name and not install_objects.is_ours(one):
            raise InputError(
                f"the ClusterCatalog `{name}` exists, and olmkit did not create it",
                hint=f"use it by its name, `--catalog {name}`, or delete it",
                cause="object-owned-elsewhere",
            )


async def carry_out(
    reader: ClusterObjects,
    plan: ExtensionPlan,
    *,
    report: Report,
    timeouts: Timeouts,
    created: list[Manifest],
    undone: Report | None = None,
) -> Explanation:
    """Create the objects and wait; `created` always lists the objects created so far.

    If the operator does not become ready, they are removed and reported to `undone`; without
    `undone`, they stay.
    """
    work = _create_and_wait(reader, plan, report=report, timeouts=timeouts, created=created)
    return await cluster_write.attempt(
        work,
        lambda undone: cluster_write.take_back(created, reader.delete, report=undone),
        undone=undone,
    )


async def _create_and_wait(
    reader: ClusterObjects,
    plan: ExtensionPlan,
    *,
    report: Report,
    timeouts: Timeouts,
    created: list[Manifest],
) -> Explanation:
    for manifest in plan.objects:
        await cluster_write.create(reader, manifest, created=created, report=report)
    return await wait.wait_until_ready(
        reader, plan.request.package, report=report, timeouts=timeouts
    )
