"""Select a part of a catalog like opm's include files, with its dependencies.

Source: `alpha/declcfg/diff_include.go` and `diff.go` of operator-registry 1.24. Differences: a file
with bundles and without versions selects these bundles and their upgrades, while opm selected the
whole channel. Versions that no channel has are an error, and so is a removed default channel, which
opm still wrote. If several packages provide a required API, a package that is already selected is
chosen, else the first by name, while opm chose at random.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from olmkit.base.diagnostics import InputError
from olmkit.base.versions import InvalidRangeError, Version, VersionRange
from olmkit.catalog.changes.filtering import Part, default_channel
from olmkit.catalog.graph import links
from olmkit.catalog.model import Bundle, Catalog, Channel, Entry, Package
from olmkit.kube.objects import GVK

_Kept = dict[str, dict[str, set[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """Versions by number or by name of the bundle, or a range; all if nothing is named."""

    numbers: tuple[str, ...] = ()
    bundles: tuple[str, ...] = ()
    range: VersionRange | None = None

    @property
    def names_something(self) -> bool:
        return bool(self.numbers or self.bundles or self.range is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class IncludedPackage:
    """A package: some of its channels, or `everywhere` the channels that have the versions.

    `default_channel` replaces one that is not kept.
    """

    package: str
    channels: Mapping[str, Versions] = field(default_factory=dict)
    everywhere: Versions = Versions()
    default_channel: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inclusion:
    """The selected packages, and whether to include dependencies."""

    packages: tuple[IncludedPackage, ...]
    dependencies: bool = True


def parts(catalog: Catalog, inclusion: Inclusion) -> dict[str, Part]:
    """Return the selected bundles by package.

    Raises `InputError` with all missing packages, channels and versions.
    """
    kept: _Kept = {}
    faults: list[str] = []
    for one in inclusion.packages:
        package = catalog.packages.get(one.package)
        if package is None:
            faults.append(f"package `{one.package}` is not in the catalog")
            continue
        kept[package.name] = _channels(package, one, faults)
    if faults:
        raise InputError("; ".join(faults), hint="correct the include file")
    if inclusion.dependencies:
        _add_dependencies(catalog, kept)
    named = {one.package: one.default_channel for one in inclusion.packages}
    return {
        name: Part(
            default_channel=default_channel(catalog.packages[name], channels, named.get(name, "")),
            channels={channel: frozenset(names) for channel, names in channels.items()},
        )
        for name, channels in kept.items()
    }


def _channels(
    package: Package, included: IncludedPackage, faults: list[str]
) -> dict[str, set[str]]:
    if not included.channels and not included.everywhere.names_something:
        return {name: set(channel.entries) for name, channel in package.channels.items()}
    found: dict[str, set[str]] = {}
    for name, versions in included.channels.items():
        channel = package.channels.get(name)
        if channel is None:
            faults.append(f"package `{package.name}` has no channel `{name}`")
            continue
        taken, missing = _entries(channel, versions)
        place = f"channel `{name}` of package `{package.name}`"
        faults += [f"{place} has no {one}" for one in missing]
        found[name] = taken
    if included.everywhere.names_something:
        known: set[str] = set()
        asked: set[str] = set()
        for name, channel in package.channels.items():
            taken, missing = _entries(channel, included.everywhere)
            everything = _version_labels(included.everywhere)
            asked |= everything
            known |= everything - set(missing)
            if taken:
                found.setdefault(name, set()).update(taken)
        faults += [f"package `{package.name}` has no {one}" for one in sorted(asked - known)]
    return {name: names for name, names in found.items() if names}


def _version_labels(versions: Versions) -> set[str]:
    ranges = set() if versions.range is None else {f"version in `{versions.range}`"}
    return (
        ranges
        | {f"version {number}" for number in versions.numbers}
        | {f"bundle `{name}`" for name in versions.bundles}
    )


def _entries(channel: Channel, selected: Versions) -> tuple[set[str], list[str]]:
    """Return the selected entries of a channel, and the part of `selected` that it lacks."""
    there = [entry for entry in channel.entries.values() if entry.bundle is not None]
    if selected.range is not None:
        names = {one.name for one in there if one.version.version in selected.range}
        return names, [] if names else [f"version in `{selected.range}`"]
    if not selected.names_something:
        return set(channel.entries), []
    numbers = {str(Version.parse(number)): number for number in selected.numbers}
    by_number = {str(one.version.version): one for one in reversed(there)}
    found = [one for one in there if str(one.version.version) in numbers]
    found += [one for one in there if one.name in selected.bundles]
    missing = [f"version {text}" for number, text in numbers.items() if number not in by_number]
    missing += [f"bundle `{name}`" for name in selected.bundles if name not in channel.entries]
    return set(_with_upgrades(channel, found)), missing


def _with_upgrades(channel: Channel, entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the entries, and those on the upgrade path of each up to the head."""
    head = links.head(channel)
    above: dict[str, list[str]] = {}
    for entry in channel.entries.values():
        if entry.replaces:
            above.setdefault(entry.replaces, []).append(entry.name)
    for entry in entries:
        yield entry.name
        if head is not None and entry.name != head.name:
            yield from _between(channel, entry, head, above)


def _between(
    channel: Channel, start: Entry, head: Entry, above: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield the entries above the one where the paths from `start` and `head` meet."""
    own = list(_down(channel, start))
    crossing = next((name for name in _down(channel, head) if name in own), "")
    if not crossing:
        return  # only skips lead from `start` to the head
    below = set(own[1 : own.index(crossing)]) if crossing in own else set()
    todo = list(above.get(crossing, ()))
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += above.get(name, ())
    yield from seen - below
    yield head.name


def _down(channel: Channel, entry: Entry) -> Iterator[str]:
    """Yield the names down the chain of `replaces`; the last one need not be an entry."""
    seen: set[str] = set()
    name = entry.name
    while name and name not in seen:
        yield name
        seen.add(name)
        below = channel.entries.get(name)
        name = below.replaces if below else ""


# Dependencies


@dataclass(frozen=True, slots=True)
class _Provider:
    """A bundle in the channel through which it is installed."""

    channel: Channel
    entry: Entry
    is_default: bool

    @property
    def rank(self) -> tuple[object, ...]:
        return (self.entry.version.key, self.is_default, self.channel.name)


def _add_dependencies(catalog: Catalog, kept: _Kept) -> None:
    """Add the newest bundles that the selected ones require, and their requirements."""
    todo = [
        bundle
        for package, channels in kept.items()
        for name in sorted({name for names in channels.values() for name in names})
        if (bundle := catalog.packages[package].bundles.get(name)) is not None
    ]
    seen = {(bundle.package, bundle.name) for bundle in todo}
    while todo:
        bundle = todo.pop(0)
        for provider in _providers(catalog, bundle, kept):
            channel = provider.channel
            names = kept.setdefault(channel.package, {}).setdefault(channel.name, set())
            if provider.entry.name in names:
                continue
            new = set(_with_upgrades(channel, [provider.entry])) - names
            names |= new
            for name in sorted(new):
                found = catalog.packages[channel.package].bundles.get(name)
                if found is not None and (found.package, found.name) not in seen:
                    seen.add((found.package, found.name))
                    todo.append(found)


def _providers(catalog: Catalog, bundle: Bundle, kept: _Kept) -> Iterator[_Provider]:
    order = sorted(catalog.packages.values(), key=lambda one: (one.name not in kept, one.name))
    for gvk in bundle.properties.required:
        newest = (_newest(package, _find_providers_in(package, gvk)) for package in order)
        yield from itertools.islice(filter(None, newest), 1)
    for requirement in bundle.properties.required_packages:
        package = catalog.packages.get(requirement.package)
        if package is not None:
            found = _newest(package, _find_versions_in(package, requirement.version_range))
            yield from filter(None, [found])


def _find_providers_in(package: Package, gvk: GVK) -> frozenset[str]:
    return frozenset(
        name for name, one in package.bundles.items() if gvk in one.properties.provided
    )


def _find_versions_in(package: Package, text: str) -> frozenset[str]:
    wanted = _range(text)
    return frozenset(
        name
        for name, one in package.bundles.items()
        if one.version is not None and (wanted is None or one.version.version in wanted)
    )


def _range(text: str) -> VersionRange | None:
    """Return the range of a requirement; an empty or invalid one matches any version."""
    try:
        return VersionRange.parse(text) if text else None
    except InvalidRangeError:
        return None


def _newest(package: Package, names: frozenset[str]) -> _Provider | None:
    found = [
        _Provider(channel, entry, channel.name == package.default_channel)
        for channel in package.channels.values()
        for entry in channel.entries.values()
        if entry.name in names
    ]
    return max(found, key=lambda one: one.rank, default=None)
