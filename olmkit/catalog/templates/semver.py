"""The semver template: channels and upgrade edges from the versions of the bundles.

Source: the semver template of operator-registry 1.61 and later; for older ones see `opm_release`.
Channels are `<archetype>-v<major>`
and `<archetype>-v<major>.<minor>`. In each, the highest patch of a minor version replaces the
highest patch of the minor version before, and skips everything older of its major version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any, Final

from olmkit.base import findings
from olmkit.base.diagnostics import Location
from olmkit.base.versions import InvalidVersionError, Version
from olmkit.catalog.blobs import wire
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.bundles import migrate
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.bundles.render import RenderedBundle
from olmkit.catalog.templates import identity
from olmkit.catalog.templates.findings import FORM, IMAGE, ORDER, refuse_all
from olmkit.catalog.templates.opm_release import CURRENT, Edges, OpmRelease
from olmkit.catalog.templates.source import Template

ARCHETYPES: Final = ("candidate", "fast", "stable")
MAJOR: Final = "major"
MINOR: Final = "minor"


@dataclass(frozen=True, slots=True)
class _Member:
    """A bundle of an archetype, with its place in the template."""

    name: str
    version: Version
    bundle: RenderedBundle
    at: Location


@dataclass(slots=True)
class _Node:
    """An entry of a channel that is being built."""

    archetype: int
    kind: str
    channel: str
    name: str
    version: Version
    replaces: str = ""
    skips: list[str] = field(default_factory=list)

    @property
    def stream(self) -> tuple[int, str, int]:
        """What edges do not cross: the archetype, the kind of channel, the major version."""
        return self.archetype, self.kind, self.version.major


@dataclass(frozen=True, slots=True)
class _Default:
    archetype: int
    version: Version
    kind: str
    channel: str


def images(template: Template) -> Iterator[tuple[str, Location]]:
    """Return the images of the bundles with their places, or raise `InputError`."""
    _preference(template)
    some = False
    for archetype, index, image in _list_images(template):
        some = True
        yield image, template.at(archetype, "bundles", index, "image")
    if not some:
        raise findings.error(
            FORM,
            "the template does not list bundles",
            at=template.at(),
            hint="list images under `candidate`, `fast` or `stable`, in `bundles`",
        )


def render(
    template: Template,
    bundles: Mapping[str, RenderedBundle],
    level: Level,
    release: OpmRelease = CURRENT,
) -> Iterator[Blob]:
    """Return the package, its channels and its bundles, or raise `InputError`."""
    package = ""
    archetypes: list[list[_Member]] = []
    for archetype in ARCHETYPES:
        members, package = _members(template, archetype, bundles, package)
        archetypes.append(sorted(members, key=lambda member: member.version.key))
    _check_order(archetypes)
    nodes, default = _nodes(template, archetypes)
    channels: dict[str, list[_Node]] = {}
    for node in nodes:
        channels.setdefault(node.channel, []).append(node)
    if release.edges is Edges.MAJOR:
        _link(nodes)
    else:
        for members_of_channel in channels.values():
            _link_channel(members_of_channel, release.edges)
    last = next(
        member.bundle
        for members in archetypes
        for member in members
        if member.name == channels[default][-1].name
    )
    yield Blob.of(_package(package, default, last if release.has_presentation else None))
    for name, entries in channels.items():
        yield Blob.of(_channel(package, name, entries))
    for bundle in dict.fromkeys(bundles.values()):
        yield migrate.migrate(bundle, level).blob()


def _list_images(template: Template) -> Iterator[tuple[str, int, str]]:
    for archetype in ARCHETYPES:
        for index, item in enumerate(template.fields[archetype]["bundles"] or ()):
            yield archetype, index, item["image"]


def _kinds(template: Template) -> tuple[str, ...]:
    """Return the kinds of channels, in the order of filling; minor channels by default."""
    major = template.fields["generateMajorChannels"]
    minor = template.fields["generateMinorChannels"] or not major
    return (*(MAJOR,) * major, *(MINOR,) * minor)


def _preference(template: Template) -> str:
    """Return the preferred kind of default channel."""
    kinds = _kinds(template)
    preferred: str = template.fields["defaultChannelTypePreference"]
    if not preferred:
        return kinds[-1]
    at = template.at("defaultChannelTypePreference")
    if preferred not in (MAJOR, MINOR):
        raise findings.error(
            FORM,
            f"unknown `defaultChannelTypePreference` `{preferred[:100]}`",
            at=at,
            hint="use `major` or `minor`",
        )
    if preferred not in kinds:
        raise findings.error(
            FORM,
            f"`defaultChannelTypePreference` is `{preferred}`, but the template generates no "
            f"{preferred}-version channels",
            at=at,
            hint=f"set `generate{preferred.capitalize()}Channels: true`, or remove the preference",
        )
    return preferred


def _members(
    template: Template, archetype: str, bundles: Mapping[str, RenderedBundle], package: str
) -> tuple[list[_Member], str]:
    """Return the bundles of one archetype, and the package that they all belong to."""
    members: dict[str, _Member] = {}
    for index, item in enumerate(template.fields[archetype]["bundles"] or ()):
        bundle = bundles[item["image"]]
        at = template.at(archetype, "bundles", index, "image")
        named, version = _identity(bundle, at)
        package = package or named
        if named != package:
            raise findings.error(
                IMAGE,
                f"bundle `{bundle.name}` belongs to package `{named}`, not to `{package}`",
                at=at,
                hint="use a separate template for each package",
            )
        if bundle.name in members:
            raise findings.error(
                IMAGE,
                f'duplicate bundle name "{bundle.name}" in `{archetype}`',
                at=at,
                hint=f"it is also the name of `{members[bundle.name].bundle.image}`: "
                "keep one of the two images",
            )
        members[bundle.name] = _Member(bundle.name, version, bundle, at)
    return list(members.values()), package


def _identity(bundle: RenderedBundle, at: Location) -> tuple[str, Version]:
    identities = identity.identities(bundle)
    if len(identities) != 1:
        raise findings.error(
            IMAGE,
            f"bundle `{bundle.name}` has {len(identities)} `olm.package` properties, expected 1",
            at=at,
        )
    text = identities[0]["version"]
    try:
        return identities[0]["packageName"], Version.parse(text)
    except InvalidVersionError as error:
        raise findings.error(
            IMAGE,
            f"bundle `{bundle.name}` has the invalid version `{text}`: {error.reason}",
            at=at,
            hint="give the bundle a semantic version, such as `1.2.3`",
        ) from None


def _check_order(archetypes: Sequence[Sequence[_Member]]) -> None:
    """Refuse versions that only differ in build metadata, because they have no order."""
    refuse_all(
        [
            findings.create(
                ORDER,
                f"the versions `{before.version}` of `{before.name}` and `{after.version}` of "
                f"`{after.name}` cannot be ordered: they differ only in build metadata",
                at=after.at,
                hint="keep one of the two bundles",
            )
            for members in archetypes
            for before, after in pairwise(members)
            if before.version == after.version
        ]
    )


def _nodes(template: Template, archetypes: Sequence[Sequence[_Member]]) -> tuple[list[_Node], str]:
    """Return the entries of all channels in linking order, and the default channel."""
    kinds, preferred = _kinds(template), _preference(template)
    nodes: list[_Node] = []
    channels: set[str] = set()
    best: _Default | None = None
    for rank, members in enumerate(archetypes):
        for member in members:
            for kind in kinds:
                node = _node(rank, kind, member)
                nodes.append(node)
                if node.channel not in channels:
                    channels.add(node.channel)
                    created = _Default(rank, member.version, kind, node.channel)
                    if best is None or _is_better(created, best, preferred):
                        best = created
    nodes.sort(key=lambda node: (node.archetype, node.kind, node.version.key))
    assert best is not None  # noqa: S101 - `images` refuses a template without bundles
    return nodes, best.channel


def _node(rank: int, kind: str, member: _Member) -> _Node:
    version = member.version
    number = f"{version.major}" if kind == MAJOR else f"{version.major}.{version.minor}"
    return _Node(rank, kind, f"{ARCHETYPES[rank]}-v{number}", member.name, version)


def _is_better(new: _Default, best: _Default, preferred: str) -> bool:
    if new.archetype != best.archetype:
        return new.archetype > best.archetype
    if new.version != best.version:
        return new.version > best.version
    return new.kind != best.kind and new.kind == preferred


def _link(nodes: Sequence[_Node]) -> None:
    """Set the edges of the highest patch of each minor version."""
    highest, skips = "", set[str]()
    for node, following in zip(nodes, (*nodes[1:], None), strict=True):
        ends = following is None or following.stream != node.stream
        ends_minor = following is None or following.version.minor != node.version.minor
        if ends or ends_minor:
            node.replaces = highest
            node.skips = sorted(skips - {highest})
        if ends:
            highest, skips = "", set()
            continue
        if ends_minor:
            highest = node.name
        skips.add(node.name)


def _link_channel(nodes: Sequence[_Node], edges: Edges) -> None:
    """Set the edges of the highest patch of each minor version in one channel."""
    replaced = ""
    for _, found in groupby(nodes, key=lambda node: node.version.minor):
        *older, highest = found
        highest.replaces = replaced
        highest.skips = [node.name for node in older]
        if replaced and edges is Edges.CHANNEL_WITH_REPLACED:
            highest.skips.insert(0, replaced)
        replaced = highest.name


def _package(name: str, default: str, last: RenderedBundle | None) -> dict[str, Any]:
    value: dict[str, Any] = {"schema": wire.PACKAGE, "name": name, "defaultChannel": default}
    return {**value, **(identity.presentation(last) if last else {})}


def _channel(package: str, name: str, nodes: Sequence[_Node]) -> dict[str, Any]:
    entries: list[dict[str, Any]] = []
    for node in nodes:
        entry: dict[str, Any] = {"name": node.name}
        if node.replaces:
            entry["replaces"] = node.replaces
        if node.skips:
            entry["skips"] = node.skips
        entries.append(entry)
    return {"schema": wire.CHANNEL, "package": package, "name": name, "entries": entries}
