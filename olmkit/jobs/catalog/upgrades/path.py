"""Find the upgrade path that OLM would take through a catalog.

The installed bundle is given by name or version. It need not be in the catalog any longer: an edge
may still refer to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.versions import Version
from olmkit.catalog import cluster_version
from olmkit.catalog.cluster_version import ClusterVersion, Limit
from olmkit.catalog.graph import upgrades
from olmkit.catalog.graph.upgrades import Start, UpgradePath
from olmkit.catalog.model import Catalog, Channel, Package
from olmkit.olm.v1 import version_range


@dataclass(frozen=True, slots=True, kw_only=True)
class PathOptions:
    """`start` and `goal` are bundle names or versions; without channels, OLM chooses.

    `cluster`: the path ends before a bundle that OLM v0 does not install on a cluster of this
    version.
    """

    package: str
    start: str
    goal: str = ""
    channels: tuple[str, ...] = ()
    is_v1: bool = False
    cluster: ClusterVersion | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PathResult:
    """The upgrade path through `channels`, up to the goal if there is one.

    `limits` are the bundles on the path that do not support the cluster, including the one that
    ends it.
    """

    channels: tuple[str, ...]
    upgrade_path: UpgradePath
    reaches: bool
    limits: tuple[Limit, ...] = ()


def path(catalog: Catalog, options: PathOptions) -> PathResult:
    """Return the path that OLM takes from the installed bundle, ignoring requirements.

    Raises `InputError` for a missing package, channel or goal, for a goal that OLM v1 does not
    accept and for an invalid channel, and `ConfigurationError` for contradictory options.
    """
    (package,) = catalog.chosen(options.package)
    channels = _channels(package, options)
    goal = _name(package, options.goal)
    if options.is_v1 and options.goal and options.goal not in package.bundles:
        version_range.parse(options.goal)  # like `olmkit upgrade --olm v1 --to` and the API server
    if options.goal and not any(goal in channel.entries for channel in channels):
        raise InputError(
            f"`{options.goal}` is in none of the requested channels of package `{package.name}`",
            hint=f"run `olmkit catalog list bundles` with the catalog and `{package.name}` to see "
            "all its bundles",
        )
    start = _start(package, options.start)
    names = tuple(channel.name for channel in channels)
    if options.is_v1:
        upgrade_path = upgrades.path_of_v1(package, names, start)
    else:
        upgrade_path = upgrades.upgrade_path(channels[0], start)
    found: tuple[Limit, ...] = ()
    if options.cluster is not None:
        upgrade_path, found = _limit_path(package, upgrade_path, options.cluster, options)
    if any(one.stops_v0 for one in found) and not options.is_v1:
        last = upgrade_path.last
        return PathResult(
            channels=names, upgrade_path=upgrade_path, reaches=goal == last, limits=found
        )
    if not goal:
        return PathResult(
            channels=names,
            upgrade_path=upgrade_path,
            reaches=upgrade_path.end is upgrades.End.NEWEST,
            limits=found,
        )
    passed = [hop.entry.name for hop in upgrade_path.hops]
    if goal not in passed:
        return PathResult(
            channels=names,
            upgrade_path=upgrade_path,
            reaches=start.name == goal,
            limits=found,
        )
    hops = upgrade_path.hops[: passed.index(goal) + 1]
    return PathResult(
        channels=names, upgrade_path=replace(upgrade_path, hops=hops), reaches=True, limits=found
    )


def _limit_path(
    package: Package, whole: UpgradePath, cluster: ClusterVersion, options: PathOptions
) -> tuple[UpgradePath, tuple[Limit, ...]]:
    """Return the path before a bundle that OLM v0 does not install on the cluster, and limits."""
    goal = _name(package, options.goal)
    found: list[Limit] = []
    for number, hop in enumerate(whole.hops):
        bundle = package.bundles.get(hop.entry.name)
        here = cluster_version.limits(bundle, cluster) if bundle is not None else ()
        found += here
        if any(one.stops_v0 for one in here) and not options.is_v1:
            return (
                replace(whole, hops=whole.hops[:number], end=upgrades.End.STRANDED),
                tuple(found),
            )
        if hop.entry.name == goal:
            break
    return whole, tuple(found)


def _channels(package: Package, options: PathOptions) -> tuple[Channel, ...]:
    names: Iterable[str] = options.channels
    if not names:
        names = sorted(package.channels) if options.is_v1 else (package.default_channel,)
    elif len(options.channels) > 1 and not options.is_v1:
        raise ConfigurationError("a Subscription of OLM v0 has one channel", hint="name one")
    missing = [name for name in names if name not in package.channels]
    if missing:
        available = ", ".join(f"`{name}`" for name in sorted(package.channels))
        raise InputError(
            f"package `{package.name}` has no channel `{missing[0]}`", hint=f"it has {available}"
        )
    return tuple(package.channels[name] for name in names)


def _start(package: Package, named: str) -> Start:
    entries = {
        name: one for channel in package.channels.values() for name, one in channel.entries.items()
    }
    name = _name(package, named)
    if name in entries:
        return upgrades.start_of(entries, name)
    version = Version.read(named)
    if version is not None:
        return upgrades.start_of({}, f"{package.name}.v{version}", version)
    # By convention names contain the version, which is all that is known of a removed bundle.
    return upgrades.start_of({}, named, Version.read(named.partition(".v")[2]))


def _name(package: Package, named: str) -> str:
    """Return the name of a bundle from its name or version."""
    found = package.bundle(named)
    return found.name if found is not None else named
