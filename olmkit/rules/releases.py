"""Rules for a new state of a catalog: whether every installed version can still upgrade.

They follow the upgrade path of OLM v0 from each version that may be installed: the current entries
of a channel, and the earlier ones. Dependencies of the bundles are assumed to exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from olmkit.base.diagnostics import InputError, Location, Severity
from olmkit.catalog.graph import shadows, upgrades
from olmkit.catalog.graph.links import EdgeKind
from olmkit.catalog.graph.shadows import Shadow
from olmkit.catalog.graph.upgrades import BrokenChannelError, End, UpgradePath
from olmkit.catalog.model import Catalog, Channel
from olmkit.rules.catalogs import within
from olmkit.rules.engine import RELEASE, Finding, rule

_MOST_NAMES = 5
_MOST_CHANGES = 3


class CatalogRelease(NamedTuple):
    """A catalog and its earlier state, which is None if unknown.

    `conflicts` has the facts for which OLM v0 cannot install the head of a channel from this
    catalog, by package and channel; `blocked` the new upgrades that CRDs block. `refused` has the
    reasons why OLM v1 does not install a bundle, by package and bundle.
    """

    new: Catalog
    old: Catalog | None = None
    conflicts: Mapping[tuple[str, str], InstallConflict] = MappingProxyType({})
    blocked: tuple[BlockedUpgrade, ...] = ()
    refused: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType({})


class InstallConflict(NamedTuple):
    """A bundle that cannot be installed, and the facts that contradict each other."""

    bundle: str
    facts: tuple[str, ...]


class BlockedUpgrade(NamedTuple):
    """An upgrade from one bundle to the next that the changes of a CRD block."""

    package: str
    channel: str
    before: str
    after: str
    crd: str
    olm: tuple[str, ...]
    changes: tuple[str, ...]


@rule("UPG001", "stranded-version", subject=RELEASE)
def stranded_version(release: CatalogRelease) -> Iterator[Finding]:
    """A version that users can have installed has no upgrade path to the head of a channel.

    Why: clusters with that version get no more upgrades, and OLM does not report it: the
    Subscription shows `AtLatestKnown`. This includes versions that are no longer in the
    catalog.

    Fix: let the head replace or skip the version, or include it in the `skipRange` of the
    head.
    """
    for channel, head, upgrade_paths in _upgrade_paths(release):
        lost: dict[str, list[str]] = {}
        for found in upgrade_paths:
            if found.end is End.STRANDED:
                blocked = str(found.obstacles[0]) if found.obstacles else ""
                lost.setdefault(blocked, []).append(found.start.name)
        for blocked, names in lost.items():
            them = "it" if len(names) == 1 else "them"
            yield Finding(
                f"no upgrade leads to `{head}` from {_list_names(names)}"
                + (f": {blocked}" if blocked else ""),
                at=channel.place.at("entries"),
                hint=f"let `{head}` skip {them}, or cover {them} with its `skipRange`",
                subject=within(channel.package, channel.name),
            )


@rule("UPG002", "endless-upgrade", subject=RELEASE)
def endless_upgrade(release: CatalogRelease) -> Iterator[Finding]:
    """Upgrades in a channel form a cycle.

    Why: if an entry below the head replaces the installed version, OLM upgrades to that
    entry, and then upgrades again, without end.

    Fix: end each `skipRange` with `<` and the version of its entry.
    """
    for channel, head, upgrade_paths in _upgrade_paths(release):
        lost = [
            upgrade_path.start.name
            for upgrade_path in upgrade_paths
            if upgrade_path.end is End.CIRCLE
        ]
        if lost:
            yield Finding(
                f"upgrades form a cycle and never end at `{head}` from {_list_names(lost)}",
                at=channel.place.at("entries"),
                hint="no entry below the head may replace, skip or cover what is above it",
                subject=within(channel.package, channel.name),
            )


@rule("UPG003", "channel-without-order", subject=RELEASE)
def channel_without_order(release: CatalogRelease) -> Iterator[Finding]:
    """OLM v0 cannot determine the newest entry of a channel.

    Why: resolution fails in every namespace with a Subscription to the channel.

    Fix: let one entry be the head, and let it replace or skip all others, directly or
    through a chain.
    """
    for channel in _channels(release.new):
        try:
            upgrades.order(channel)
        except BrokenChannelError as error:
            yield Finding(
                error.message,
                at=channel.place.at("entries"),
                hint=error.hint or "let one entry be the head, and replace or skip all others",
                subject=within(channel.package, channel.name),
            )


@rule("UPG004", "package-gone", subject=RELEASE)
def package_gone(release: CatalogRelease) -> Iterator[Finding]:
    """A package is no longer in the catalog.

    Why: Subscriptions to it fail to resolve, and with them all others in their namespaces.

    Fix: keep the package, and deprecate it with an `olm.deprecations`.
    """
    if release.old is None:
        return
    for name in sorted(release.old.packages):
        if name not in release.new.packages:
            yield Finding(
                f"package `{name}` was removed",
                hint="keep it, and deprecate it",
                subject=within(name),
            )


@rule("UPG005", "channel-gone", subject=RELEASE)
def channel_gone(release: CatalogRelease) -> Iterator[Finding]:
    """A channel is no longer in its package.

    Why: Subscriptions to it fail to resolve, and with them all others in their namespaces.

    Fix: keep the channel, and deprecate it with an `olm.deprecations`.
    """
    for channel in _channels(release.old) if release.old else ():
        package = release.new.packages.get(channel.package)
        if package is not None and channel.name not in package.channels:
            yield Finding(
                f"channel `{channel.name}` of package `{channel.package}` was removed",
                at=package.place.at("name"),
                hint="keep it, and deprecate it",
                subject=within(channel.package, channel.name),
            )


@rule("UPG006", "bundle-changed", subject=RELEASE, severity=Severity.WARNING)
def bundle_changed(release: CatalogRelease) -> Iterator[Finding]:
    """A bundle of the same name has a different image than before.

    Why: clusters with that bundle never get the new image, because OLM installs each name
    only once.

    Fix: publish it as a new version.
    """
    for package in release.old.packages.values() if release.old else ():
        now = release.new.packages.get(package.name)
        for name, bundle in sorted(package.bundles.items()):
            found = now.bundles.get(name) if now else None
            if found is not None and found.image != bundle.image:
                yield Finding(
                    f"bundle `{name}` had the image `{bundle.image}` before",
                    at=found.place.at("image"),
                    hint="publish what has changed as a new version",
                    subject=within(package.name, "", name),
                )


@rule("UPG007", "head-not-installable", subject=RELEASE, severity=Severity.WARNING)
def head_not_installable(release: CatalogRelease) -> Iterator[Finding]:
    """OLM v0 cannot install the head of a channel from this catalog alone.

    Why: a dependency of the bundle is not in the catalog, or cannot be installed together
    with it. OLM then installs nothing, unless another catalog of the cluster provides the
    dependency.

    Fix: add the required bundles, or change the dependencies.
    """
    for (package, channel), conflict in sorted(release.conflicts.items()):
        found = release.new.packages[package].channels[channel]
        detail = ", and ".join(conflict.facts)
        yield Finding(
            f"`{conflict.bundle}` cannot be installed from this catalog: {detail}",
            at=found.place.at("entries"),
            hint="add what it needs to the catalog, or change its dependencies",
            subject=within(package, channel, conflict.bundle),
        )


@rule("UPG008", "stranded-version-of-v1", subject=RELEASE, severity=Severity.WARNING)
def stranded_version_of_v1(release: CatalogRelease) -> Iterator[Finding]:
    """OLM v1 has no upgrade path from an installed version to the newest version of a channel.

    Why: OLM v1 installs the highest version that replaces or skips the installed one. It
    never installs a lower version, or the same version with another name. If UPG001 or
    UPG002 reports a version for OLM v0, this rule does not repeat it.

    Fix: let the newest version replace or skip the installed one, or include it in its
    `skipRange`.
    """
    for channel, _, upgrade_paths in _upgrade_paths(release):
        package = release.new.packages[channel.package]
        lost: dict[str, list[str]] = {}
        starts = [one.start for one in upgrade_paths if one.end is End.NEWEST]
        try:
            paths = upgrades.paths_of_v1(package, (channel.name,), starts)
        except InputError:  # the bundles of the channel are missing, which other rules report
            continue
        for found in paths:
            if found.end is not End.NEWEST:
                lost.setdefault(found.newest, []).append(found.start.name)
        for newest, names in lost.items():
            them = "it" if len(names) == 1 else "them"
            yield Finding(
                f"no upgrade of OLM v1 leads to `{newest}` from {_list_names(names)}",
                at=channel.place.at("entries"),
                hint=f"let `{newest}` skip {them}, or cover {them} with its `skipRange`",
                subject=within(channel.package, channel.name),
            )


@rule("UPG009", "upgrade-blocked-by-crd", subject=RELEASE)
def upgrade_blocked_by_crd(release: CatalogRelease) -> Iterator[Finding]:
    """A new upgrade in the catalog changes a CRD in a way that OLM rejects.

    Why: OLM v0 fails if an object in the cluster does not match the new schema, or if the
    CRD no longer has a stored version. OLM v1 rejects every change that is not known to be
    safe. The rule compares the CRDs like `olmkit bundle diff`, if the catalog contains the
    objects of both bundles, or with `--pull-bundles`.

    Fix: keep the CRD compatible: add a new version with a conversion webhook, keep stored
    versions, and relax the schema.
    """
    for one in release.blocked:
        channel = release.new.packages[one.package].channels[one.channel]
        generations = " and ".join(f"OLM {name}" for name in one.olm)
        detail = "; ".join(one.changes[:_MOST_CHANGES])
        more = len(one.changes) - _MOST_CHANGES
        yield Finding(
            f"{generations} can refuse the upgrade from `{one.before}` to `{one.after}` because of "
            f"the CustomResourceDefinition `{one.crd}`: {detail}"
            + (f"; and {more} more" if more > 0 else ""),
            at=_entry_place(channel, one.after),
            hint="keep the CRD compatible; `olmkit bundle diff` shows all changes",
            subject=within(one.package, one.channel, one.after),
        )


@rule("UPG010", "shadowed-entries", subject=RELEASE, severity=Severity.INFO)
def shadowed_entries(release: CatalogRelease) -> Iterator[Finding]:
    """OLM v0 upgrades past some entries of a channel and never installs them.

    Why: OLM v0 installs the entry nearest to the head that replaces or skips the installed
    version, and never an entry that another one skips. If only the skipped version performs
    a task, such as a migration, clusters that upgrade do not run it. You can still install
    the version first, with `startingCSV`.

    Fix: none, if upgrades can skip these versions. Otherwise, remove them from `skips`, and
    start the `skipRange` of later entries at their version.
    """
    for channel, _, upgrade_paths in _upgrade_paths(release):
        found = shadows.find_shadows(channel, upgrade_paths)
        for some in (
            [one for one in found if one.is_skipped],
            [one for one in found if not one.is_skipped],
        ):
            if not some:
                continue
            detail, fix = _shadow_words(some)
            yield Finding(
                f"no upgrade of OLM v0 stops at "
                f"{_list_names([one.entry.name for one in some], most=3)}: {detail}",
                at=channel.place.at("entries", some[0].entry.index, "name"),
                hint=f"if clusters must pass through {_them(some)}, {fix}",
                subject=within(channel.package, channel.name),
            )


@rule("UPG011", "not-installable-by-v1", subject=RELEASE, severity=Severity.WARNING)
def not_installable_by_v1(release: CatalogRelease) -> Iterator[Finding]:
    """OLM v1 chooses a bundle that it does not install.

    Why: OLM v1 chooses the highest version that a ClusterExtension allows, and only then
    checks the install modes, dependencies and objects of the bundle. It does not continue
    with another version. The rule only runs with `--olm v1`.

    Fix: support the install mode `AllNamespaces`, and leave out dependencies and APIServices.
    Or keep the bundle out of the catalogs for OLM v1.
    """
    for (package, name), reasons in sorted(release.refused.items()):
        yield Finding(
            f"OLM v1 does not install `{name}`. {' '.join(reasons)}",
            at=release.new.packages[package].bundles[name].place.at("name"),
            hint="correct the bundle, or filter it out of the catalogs for OLM v1",
            subject=within(package, "", name),
        )


def _shadow_words(some: list[Shadow]) -> tuple[str, str]:
    """Describe the obstacle before the entries, with a hint."""
    others = list(dict.fromkeys(name for one in some for name in one.by))
    one, listed, them = len(others) == 1, _list_names(others, most=2), _them(some)
    if some[0].is_skipped:
        return (
            f"{listed} {'skips' if one else 'skip'} {them}",
            f"remove {them} from the `skips` of {listed}",
        )
    is_range = {kind for shadow in some for kind in shadow.kinds} == {EdgeKind.SKIP_RANGE}
    fields = "`skipRange`" if is_range else "`replaces`, `skips` and `skipRange`"
    return (
        f"{listed} {'follows' if one else 'follow'} every version that leads to {them}"
        + (", by `skipRange`" if is_range else ""),
        f"change {fields} of {listed} so that earlier versions are not covered",
    )


def _them(some: list[Shadow]) -> str:
    return "it" if len(some) == 1 else "them"


def _entry_place(channel: Channel, name: str) -> Location | None:
    entry = channel.entries.get(name)
    return (
        channel.place.at("entries", entry.index, "name") if entry else channel.place.at("entries")
    )


def _channels(catalog: Catalog) -> Iterator[Channel]:
    for _, package in sorted(catalog.packages.items()):
        yield from (channel for _, channel in sorted(package.channels.items()))


def _upgrade_paths(release: CatalogRelease) -> Iterator[tuple[Channel, str, list[UpgradePath]]]:
    """Yield each valid channel with its head and the paths from all installable entries."""
    for channel in _channels(release.new):
        entries = dict(channel.entries)
        package = release.old.packages.get(channel.package) if release.old else None
        before = package.channels.get(channel.name) if package else None
        entries = {**(before.entries if before else {}), **entries}
        try:
            starts = [upgrades.start_of(entries, name) for name in entries]
            upgrade_paths = upgrades.upgrade_paths(channel, starts)
        except BrokenChannelError:
            continue
        if upgrade_paths and upgrade_paths[0].newest:
            yield channel, upgrade_paths[0].newest, upgrade_paths


def _list_names(names: list[str], *, most: int = _MOST_NAMES) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:most])
    more = len(names) - most
    return shown if more <= 0 else f"{shown} and {more} more"
