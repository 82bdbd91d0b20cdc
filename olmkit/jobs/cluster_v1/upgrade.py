"""Upgrade operators through OLM v1 by changing the range or channel of a ClusterExtension.

If the catalogs offer nothing newer, the job waits until catalogd serves their current images.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from olmkit.base.diagnostics import InputError
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.cluster import write as cluster_write
from olmkit.jobs.cluster.read import or_default
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.jobs.cluster_v1 import catalog_age, extension_choice, preflight, wait
from olmkit.jobs.cluster_v1 import state as states
from olmkit.jobs.cluster_v1.catalog_age import Age
from olmkit.jobs.cluster_v1.extension_choice import (
    ChannelMissingError,
    ExtensionChoice,
    NotOfferedError,
)
from olmkit.jobs.cluster_v1.state import require_olm
from olmkit.kube import objects, patches
from olmkit.kube.objects import Manifest, text
from olmkit.olm.explain.explanation import Explanation
from olmkit.olm.v1 import crd_upgrades, version_range
from olmkit.olm.v1 import extension as v1


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionUpgrade:
    """The change of a ClusterExtension to another version range or channel.

    `name` is that of the object, `package` the requested package. `before` is the installed bundle,
    or empty. `granting` are roles and bindings for its service account.
    """

    name: str
    package: str
    version: str
    channel: str = ""
    before: str
    desired: Manifest = field(repr=False)
    offer: ExtensionChoice = field(repr=False)
    granting: tuple[Manifest, ...] = field(default=(), repr=False)


async def plan_when_read(
    reader: ClusterObjects,
    name: str,
    version: str,
    access: Access,
    *,
    report: Report,
    timeouts: Timeouts,
    channel: str = "",
    extends_account: bool = False,
    waits: bool = True,
) -> ExtensionUpgrade | Explanation:
    """Plan an upgrade after catalogd serves the current images of the catalogs.

    It waits only if the served catalogs offer nothing newer. Returns an explanation with the
    outdated catalog at the time limit, or if catalogd does not poll its image. Without `waits`, an
    outdated catalog is a note, or part of the error.
    """
    if version:
        version_range.parse(version)
    found = await _require(reader, name)
    age = await or_default(catalog_age.read(reader, found, access), Age())
    outdated = await catalog_age.explain_outdated(reader, age)
    made: ExtensionUpgrade | None = None

    async def planned() -> ExtensionUpgrade:
        return await plan(
            reader, name, version, access, channel=channel, extends_account=extends_account
        )

    try:
        made = await planned()
    except NotOfferedError as error:
        if outdated is None:
            raise
        if not waits:
            hint = outdated.hint or "without `--dry-run`, the command waits for the newer image"
            raise NotOfferedError(
                f"{error.message}; {outdated.message}", hint=hint, cause="catalog-outdated"
            ) from error
    is_found = outdated is None or (made is not None and made.offer.csv not in ("", made.before))
    if made is not None and (is_found or not waits):
        is_newest = made.offer.csv == made.before
        notes = (outdated.message,) if outdated is not None else age.notes if is_newest else ()
        return replace(made, offer=replace(made.offer, notes=(*made.offer.notes, *notes)))
    said = await catalog_age.wait_until_current(reader, age, report=report, timeouts=timeouts)
    return await planned() if said.is_ready else said


async def _require(reader: ClusterObjects, name: str) -> Manifest:
    """Return the ClusterExtension with this name or package, or raise `InputError`."""
    await require_olm(reader)
    found = await states.find(reader, name)
    if found is None:
        every = await or_default(reader.list(v1.CLUSTER_CATALOG), ())
        error = await states.not_found_error(reader, name, command="olmkit upgrade", catalogs=every)
        raise InputError(error.message, hint=error.hint, cause=error.cause)
    return found


async def plan(
    reader: ClusterObjects,
    name: str,
    version: str,
    access: Access,
    *,
    channel: str = "",
    extends_account: bool = False,
) -> ExtensionUpgrade:
    """Plan an upgrade to a version range and channels; the current ones stay if they are empty.

    Nothing is written. `name` is that of the ClusterExtension or of its package. `extends_account`:
    grant missing permissions to a service account that olmkit created. Raises `InputError` if the
    ClusterExtension does not exist, if the version is not a range, and if OLM would not install the
    bundle.
    """
    if version:
        version_range.parse(version)
    found = await _require(reader, name)
    asked = v1.request_of(found)
    present = text(asked.get("version"))
    following = patches.merge_patch(found, _request_patch("", channel))
    with _name_range(present if channel and not version else ""):
        offer = await extension_choice.choose_for_upgrade(
            reader, following, version, access, is_changed=bool(channel)
        )
    notes = [*_channel_note(asked, channel), *_range_note(present, version), *offer.notes]
    before, _ = v1.installed_bundle(found)
    granting: tuple[Manifest, ...] = ()
    account = await preflight.account_of(reader, found)
    if version or channel or offer.csv not in ("", before):
        await preflight.check_account(
            reader,
            account,
            hint=f"run `kubectl create serviceaccount {account.name} -n {account.namespace}`; "
            "`olmkit upgrade` then prints the permissions that it lacks",
        )
    bundle = offer.brings if offer.csv != before else offer.has
    if bundle is not None:
        if extends_account and not account.is_ignored:
            await preflight.require_ours(reader, account)
            account = replace(account, is_extended=True)
        checked = await preflight.check_bundle(
            reader,
            bundle,
            extension=objects.name(found),
            account=account,
            is_enforced=crd_upgrades.is_enforced(found),
        )
        notes += checked.notes
        granting = checked.granting
    patch = _request_patch(version, channel)
    changed: Manifest = patches.merge_patch(found, patch)
    changed.pop("status", None)
    changed["metadata"] = {"name": objects.name(found)}
    if patch:
        await preflight.check_change(reader, changed, patch)
    return ExtensionUpgrade(
        name=objects.name(found),
        package=text(asked.get("packageName")),
        version=version,
        channel=channel,
        before=before,
        desired=changed,
        granting=granting,
        offer=replace(offer, notes=tuple(notes)),
    )


@contextmanager
def _name_range(present: str) -> Iterator[None]:
    """Add the requested range to the error if a new channel has no version of it."""
    try:
        yield
    except NotOfferedError as error:
        if present and not isinstance(error, ChannelMissingError):
            error.hint = f"`--to` changes the requested range `{present}`; {error.hint}"
        raise


def _range_note(present: str, version: str) -> Iterator[str]:
    """Return a note about the change of the version range."""
    if present and not version:
        yield f"the requested range `{present}` stays; `--to` changes it"
    elif present and version != present:
        yield f"the requested range changes from `{present}` to `{version}`"


def _channel_note(asked: Mapping[str, Any], channel: str) -> Iterator[str]:
    """Return a note about the change of the channels."""
    present = [text(one) for one in objects.sequence(asked.get("channels"))]
    following = v1.split_channels(channel)
    if following and present != [*following]:
        before = f" from {_listed(present)}" if present else ""
        yield f"the channel changes{before} to {_listed(following)}"


def _listed(channels: Iterable[str]) -> str:
    return ", ".join(f"`{one}`" for one in channels)


async def carry_out(
    reader: ClusterObjects, upgrade: ExtensionUpgrade, *, report: Report, timeouts: Timeouts
) -> Explanation:
    """Grant the service account missing permissions, change the request, and wait."""
    for manifest in upgrade.granting:
        await cluster_write.create(reader, manifest, created=[], report=report)
    patch = _request_patch(upgrade.version, upgrade.channel)
    if patch:
        await reader.merge(upgrade.desired, patch)
        channel = f"channel {upgrade.channel}" if upgrade.channel else ""
        report(f"requested {', '.join(filter(None, (upgrade.version, channel)))}")
    return await wait.wait_until_ready(
        reader, upgrade.name, target=upgrade.offer.csv, report=report, timeouts=timeouts
    )


def _request_patch(version: str, channel: str) -> Manifest:
    """Return the patch of a ClusterExtension; empty if nothing changes."""
    changed: Manifest = {"version": version} if version else {}
    if v1.split_channels(channel):
        changed["channels"] = list(v1.split_channels(channel))
    return {"spec": {"source": {"catalog": changed}}} if changed else {}
