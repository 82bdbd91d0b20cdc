"""Add a new version of a package to a catalog.

The new version upgrades from the requested versions, or those in its CSV, or else the head of the
channel. Rules check whether the result is a valid catalog before it is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.base.versions import InvalidVersionError, Version
from olmkit.catalog import model
from olmkit.catalog.blobs import fbc, wire
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.bundles.render import RenderedBundle
from olmkit.catalog.bundles.source_bundle import SourceBundle
from olmkit.catalog.changes import edit
from olmkit.catalog.graph import links as graph
from olmkit.catalog.model import Channel, Package


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The requested addition. Without channels, those of the bundle are used.

    Without edges, those of the CSV are used, else the bundle replaces the head.
    `overwrite` replaces a bundle of the same name, for a version that is not yet in any cluster.
    """

    channels: tuple[str, ...] = ()
    replaces: str = ""
    skips: tuple[str, ...] = ()
    skip_range: str = ""
    overwrite: bool = False

    @property
    def has_edges(self) -> bool:
        return bool(self.replaces or self.skips or self.skip_range)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    """The bundle in one channel, and its upgrade edges."""

    channel: str
    name: str
    replaces: str = ""
    skips: tuple[str, ...] = ()
    skip_range: str = ""

    def value(self) -> dict[str, Any]:
        """Return the entry as it is written, without empty fields."""
        fields = {
            "name": self.name,
            "replaces": self.replaces,
            "skips": list(self.skips),
            "skipRange": self.skip_range,
        }
        return {key: item for key, item in fields.items() if item}


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """The files with the new version, and its place."""

    tree: Tree = field(repr=False)
    entries: tuple[NewEntry, ...]


def add(
    tree: Tree,
    source: SourceBundle,
    bundle: RenderedBundle,
    placement: Placement,
    *,
    file: str = "",
) -> Addition:
    """Return the catalog in `tree` with the added bundle. New blobs go to `file` or where they fit.

    An existing bundle with the same content and edges changes nothing. Raises `InputError` if they
    differ, or if it is unclear which bundle the new one follows.
    """
    blobs = list(fbc.load(tree))
    package = model.from_blobs(blobs).packages.get(bundle.package)
    entries = tuple(
        _entry(source, package, name, placement) for name in _channels(source, placement)
    )
    new: list[Blob] = []
    changed: dict[int, Blob] = {}
    default_channel = source.default_channel or entries[0].channel
    if package is None:
        new.append(package_blob(source, source.package, default_channel))
    elif not package.default_channel and not package.channels:
        at, old = _find(blobs, wire.PACKAGE, "", bundle.package)
        changed[at] = _with_default_channel(old, default_channel)
    for entry in entries:
        if _present(package, entry.channel, entry.name) == entry:
            continue
        if package and entry.channel in package.channels:
            at, old = _find(blobs, wire.CHANNEL, bundle.package, entry.channel)
            changed[at] = _with_entry(old, entry)
        else:
            new.append(_new_channel(bundle.package, entry))
    # As read back from the file, so that the file can be written again next time.
    written = Blob(schema=wire.BUNDLE, package=bundle.package, name=bundle.name, data=bundle.text())
    place = _place(blobs, bundle, overwrite=placement.overwrite)
    if place is None:
        new.append(written)
    elif blobs[place] != bundle.blob():
        changed[place] = written
    home = file or _package_file(blobs, bundle.package)
    paths = {blobs[at].path for at in changed} | ({home} if new else set())
    files = {
        path: edit.edit_file(
            tree.data(path) if path in tree else b"",
            path,
            [(blob, changed.get(at)) for at, blob in enumerate(blobs) if blob.path == path],
            new if path == home else (),
        )
        for path in paths
    }
    return Addition(tree=tree.merge(files), entries=entries)


# The graph


def _channels(source: SourceBundle, placement: Placement) -> tuple[str, ...]:
    channels = tuple(dict.fromkeys(placement.channels or source.channels))
    if not channels:
        raise InputError(
            f"`{source.name}` belongs to no channel: its annotations do not name one",
            hint="name one with `--channel`",
        )
    return channels


def _entry(
    source: SourceBundle, package: Package | None, name: str, placement: Placement
) -> NewEntry:
    channel = package.channels.get(name) if package else None
    present = _present(package, name, source.name)
    if placement.has_edges:
        requested = NewEntry(
            channel=name,
            name=source.name,
            replaces=placement.replaces,
            skips=placement.skips,
            skip_range=placement.skip_range,
        )
    else:
        replaces, skips = csv_edges(source)
        if not replaces and not skips and present:
            return present
        if not replaces and not skips and channel:
            replaces = _find_replaced_head(source, channel)
        requested = NewEntry(
            channel=name,
            name=source.name,
            replaces=replaces,
            skips=skips,
            skip_range=csv_skip_range(source),
        )
    if present and present != requested:
        raise InputError(
            f"`{source.name}` is in the channel `{name}` of `{source.package}` already, "
            "with other upgrade edges",
            hint="change the entry in the catalog's file, or give the new bundle another version",
        )
    return requested


def _present(package: Package | None, channel: str, name: str) -> NewEntry | None:
    """Return the channel's existing entry with that name."""
    found = package.channels.get(channel) if package else None
    entry = found.entries.get(name) if found else None
    if entry is None:
        return None
    return NewEntry(
        channel=channel,
        name=name,
        replaces=entry.replaces,
        skips=entry.skips,
        skip_range=entry.skip_range,
    )


def csv_edges(source: SourceBundle) -> tuple[str, tuple[str, ...]]:
    """Return the bundles that the CSV replaces and skips."""
    return _text(source.spec.get("replaces")), _texts(source.spec.get("skips"))


def csv_skip_range(source: SourceBundle) -> str:
    """Return the range of versions that the CSV skips."""
    return source.csv_annotations.get("olm.skipRange", "")


def _find_replaced_head(source: SourceBundle, channel: Channel) -> str:
    """Return the head of the channel, which an upgrade replaces."""
    head = graph.head(channel)
    if head is None:
        return ""
    try:
        version = Version.parse(source.version)
    except InvalidVersionError as error:
        raise InputError(
            f"`{source.name}` has no version that can be compared: {error.message}",
            hint="correct `spec.version` of its ClusterServiceVersion",
        ) from None
    if any(one.replaces == source.name for one in channel.entries.values()):
        return ""  # an older version, which a later one already replaces
    if not head.version.version < version:
        raise InputError(
            f"`{source.name}` is not an upgrade of `{head.name}`, the head of the channel "
            f"`{channel.name}`",
            hint="pass the bundle that it follows with `--replaces`, `--skips` or `--skip-range`",
        )
    return head.name


# Blobs


def package_blob(
    source: SourceBundle, package: str, default_channel: str, *, described: bool = True
) -> Blob:
    """Return a package with the icon, and if `described` the description, of one of its bundles."""
    value: dict[str, Any] = {
        "schema": wire.PACKAGE,
        "name": package,
        "defaultChannel": default_channel,
    }
    icons = source.spec.get("icon")
    icon = icons[0] if isinstance(icons, list) and icons else None
    if isinstance(icon, Mapping) and _text(icon.get("base64data")):
        value["icon"] = {
            "base64data": _text(icon.get("base64data")),
            "mediatype": _text(icon.get("mediatype")),
        }
    if described and (description := _text(source.spec.get("description"))):
        value["description"] = description
    return Blob.of(value)


def _new_channel(package: str, entry: NewEntry) -> Blob:
    return Blob.of(
        {
            "schema": wire.CHANNEL,
            "package": package,
            "name": entry.channel,
            "entries": [entry.value()],
        }
    )


def _find(blobs: Sequence[Blob], schema: str, package: str, name: str) -> tuple[int, Blob]:
    return next(
        (at, blob)
        for at, blob in enumerate(blobs)
        if (blob.schema, blob.package, blob.name) == (schema, package, name)
    )


def _with_default_channel(package: Blob, name: str) -> Blob:
    value = package.value
    key = next((key for key in value if key.casefold() == "defaultchannel"), "defaultChannel")
    value[key] = name
    return Blob.of(value)


def _with_entry(channel: Blob, entry: NewEntry) -> Blob:
    value = channel.value
    key = next((key for key in value if key.casefold() == "entries"), "entries")
    value[key] = [*(value.get(key) or ()), entry.value()]
    return Blob.of(value)


def _place(blobs: Sequence[Blob], bundle: RenderedBundle, *, overwrite: bool) -> int | None:
    """Return the place of the bundle in the catalog; None if it is not there.

    Raises `InputError` if another bundle has its name, unless the request is to overwrite it.
    """
    for at, blob in enumerate(blobs):
        if (blob.schema, blob.package, blob.name) == (wire.BUNDLE, bundle.package, bundle.name):
            if overwrite or blob == bundle.blob():
                return at
            raise InputError(
                f"another bundle `{bundle.name}` is in the catalog already",
                hint="give the new bundle another version: clusters do not notice a change under "
                "the same name; for a version that is not published, pass `--overwrite`",
            )
    return None


def _package_file(blobs: Sequence[Blob], package: str) -> str:
    """Return the file where new blobs of the package belong."""
    for schema in (wire.BUNDLE, wire.CHANNEL):
        paths = [b.path for b in blobs if (b.schema, b.package) == (schema, package)]
        if paths:
            return paths[-1]
    return next(
        (b.path for b in blobs if (b.schema, b.name) == (wire.PACKAGE, package)),
        f"{package}/catalog.yaml",
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
