"""Build a catalog from the annotations and CSVs of several bundles.

Sources: the mode `replaces` of `opm index add`, which reads channels from annotations and edges
from CSVs, and `initializer` of operator-registry, which reads channels from package manifests.
Whether the result is a valid catalog is for the rules to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olmkit.base import findings
from olmkit.base.diagnostics import Diagnostic, InputError
from olmkit.base.versions import InvalidVersionError, Version
from olmkit.bundle import model
from olmkit.catalog.blobs import wire
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.bundles.render import RenderedBundle
from olmkit.catalog.bundles.source_bundle import SourceBundle
from olmkit.catalog.changes import addition


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A bundle as it was read, and as it is in the catalog."""

    source: SourceBundle
    rendered: RenderedBundle

    @property
    def name(self) -> str:
        return self.source.name


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledCatalog:
    """The blobs of the catalog, and the bundles that are not part of it."""

    blobs: tuple[Blob, ...] = field(repr=False)
    diagnostics: tuple[Diagnostic, ...] = ()


def assemble_bundles(members: Sequence[Member]) -> AssembledCatalog:
    """Return the catalog of bundles that name their channels; edges are those of the CSVs.

    Raises `InputError` for a bundle without a channel or a version, and for two of one name.
    """
    packages: dict[str, list[Member]] = {}
    for member in members:
        packages.setdefault(member.source.package, []).append(member)
    blobs: list[Blob] = []
    for package, found in packages.items():
        ordered = _sort_members(found)
        channels: dict[str, list[Member]] = {}
        for member in ordered:
            for name in _channels(member.source):
                channels.setdefault(name, []).append(member)
        blobs += _package(package, _default_channel(ordered), channels, described=True)
        blobs += (member.rendered.blob() for member in ordered)
    return AssembledCatalog(blobs=tuple(blobs))


def assemble_heads(
    package: str, default_channel: str, heads: Mapping[str, str], members: Sequence[Member]
) -> AssembledCatalog:
    """Return the catalog of a package whose channels are known by their newest bundles.

    A channel has the bundles that its head replaces or skips, one after the other. Bundles in none
    of them are left out. Raises `InputError` like `assemble_bundles`,
    and for a head that does not exist.
    """
    ordered = _sort_members(members)
    channels = {name: _channel_members(head, ordered) for name, head in heads.items()}
    kept = {member.name for found in channels.values() for member in found}
    return AssembledCatalog(
        blobs=(
            # As in the catalog that opm renders from the index database of the same folder.
            *_package(package, default_channel, channels, described=False),
            *(member.rendered.blob() for member in ordered if member.name in kept),
        ),
        diagnostics=tuple(_skipped_bundle(member) for member in ordered if member.name not in kept),
    )


def _sort_members(members: Iterable[Member]) -> list[Member]:
    """Return the bundles of a package by version."""
    named: dict[str, Member] = {}
    for member in members:
        other = named.setdefault(member.name, member)
        if other is not member:
            raise InputError(
                f"`{other.source.root}` and `{member.source.root}` are both bundles with the name "
                f"`{member.name}`",
                hint="keep one of the two",
            )
    return sorted(named.values(), key=lambda member: _version(member.source).key)


def _version(source: SourceBundle) -> Version:
    try:
        return Version.parse(source.version)
    except InvalidVersionError as error:
        raise InputError(
            f"`{source.name}` has no version that can be compared: {error.message}",
            hint="correct `spec.version` of its ClusterServiceVersion",
        ) from None


def _channels(source: SourceBundle) -> tuple[str, ...]:
    if not source.channels:
        raise InputError(
            f"`{source.name}` belongs to no channel: its annotations do not name one",
            hint=f"add the annotation `{model.CHANNELS}` to `metadata/annotations.yaml` in "
            f"`{source.root}`",
        )
    return tuple(dict.fromkeys(source.channels))


def _default_channel(ordered: Sequence[Member]) -> str:
    """Return the default channel of the newest bundle that names one; else its first channel."""
    named = [m.source.default_channel for m in ordered if m.source.default_channel]
    return named[-1] if named else _channels(ordered[-1].source)[0]


def _channel_members(head: str, ordered: Sequence[Member]) -> list[Member]:
    """Return the bundles of a channel by version: head, replaced and skipped bundles."""
    named = {member.name: member for member in ordered}
    if head not in named:
        raise InputError(
            f"the package has no bundle `{head}`, the head of a channel",
            hint="correct `currentCSV` of the channel, or add the version",
        )
    found: dict[str, None] = {}
    name = head
    while name in named and name not in found:
        replaces, skips = addition.csv_edges(named[name].source)
        found |= {name: None}
        found |= {skip: None for skip in skips if skip in named and skip != name}
        name = replaces
    return [member for member in ordered if member.name in found]


def _package(
    package: str,
    default_channel: str,
    channels: Mapping[str, Sequence[Member]],
    *,
    described: bool,
) -> list[Blob]:
    """Return the blobs of a package and its channels."""
    heads = channels.get(default_channel) or next(iter(channels.values()))
    return [
        addition.package_blob(heads[-1].source, package, default_channel, described=described),
        *(_channel(package, name, members) for name, members in channels.items()),
    ]


def _channel(package: str, name: str, members: Sequence[Member]) -> Blob:
    entries: list[dict[str, Any]] = []
    for member in members:
        replaces, skips = addition.csv_edges(member.source)
        entry = addition.NewEntry(
            channel=name,
            name=member.name,
            replaces=replaces,
            skips=skips,
            skip_range=addition.csv_skip_range(member.source),
        )
        entries.append(entry.value())
    return Blob.of({"schema": wire.CHANNEL, "package": package, "name": name, "entries": entries})


def _skipped_bundle(member: Member) -> Diagnostic:
    return findings.create(
        "FBC908",
        f"bundle `{member.name}` is left out: no channel leads to it",
        at=member.source.csv.at("metadata", "name"),
        hint="name it as `currentCSV` of a channel, or let a bundle of a channel replace it",
    )
