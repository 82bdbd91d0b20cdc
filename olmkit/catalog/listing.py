"""Tables of what a catalog holds: packages, channels, bundles.

The rows and their order are those of `opm alpha list`, whose text scripts read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from olmkit.catalog.blobs import blob as blobs_
from olmkit.catalog.blobs import outline, properties
from olmkit.catalog.graph import links as graph
from olmkit.catalog.model import Bundle, Catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageRow:
    """`display_name` is that of the default channel's head, as far as the catalog inlines it."""

    name: str
    display_name: str
    default_channel: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRow:
    package: str
    channel: str
    head: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleRow:
    package: str
    channel: str
    bundle: str
    replaces: str
    skips: tuple[str, ...]
    skip_range: str
    image: str


def packages(catalog: Catalog, name: str = "") -> Iterator[PackageRow]:
    """Each package, by name; only that of `name` when there is one."""
    for package in catalog.chosen(name):
        channel = package.channels.get(package.default_channel)
        head = graph.head(channel) if channel else None
        yield PackageRow(
            name=package.name,
            display_name=_display_name(head.bundle) if head and head.bundle else "",
            default_channel=package.default_channel,
        )


def channels(catalog: Catalog, package: str = "") -> Iterator[ChannelRow]:
    """Each channel, by package and name."""
    for found in catalog.chosen(package):
        for name, channel in sorted(found.channels.items()):
            head = graph.head(channel)
            yield ChannelRow(package=found.name, channel=name, head=head.name if head else "")


def bundles(catalog: Catalog, package: str = "") -> Iterator[BundleRow]:
    """Each entry of each channel, by package, channel and bundle."""
    for found in catalog.chosen(package):
        for name, channel in sorted(found.channels.items()):
            for _, entry in sorted(channel.entries.items()):
                yield BundleRow(
                    package=found.name,
                    channel=name,
                    bundle=entry.name,
                    replaces=entry.replaces,
                    skips=entry.skips,
                    skip_range=entry.skip_range,
                    image=entry.bundle.image if entry.bundle else "",
                )


def text(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Columns two spaces apart, the last one ragged."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) + 2 for column in range(len(header) - 1)]
    return "".join(
        "".join(f"{cell:<{width}}" for cell, width in zip(line, (*widths, 0), strict=True)) + "\n"
        for line in lines
    )


def _display_name(bundle: Bundle) -> str:
    """The display name of the CSV that is inlined in a bundle; empty when none is."""
    if not bundle.properties.objects:
        return ""
    blob = outline.blob_at(bundle.place)
    fields = blob.fields
    for index, item in enumerate(fields["properties"] or ()):
        if item["type"] != properties.OBJECT:
            continue
        manifest = _json(blobs_.bundle_object(blob, fields, index))
        if isinstance(manifest, dict) and manifest.get("kind") == "ClusterServiceVersion":
            spec = manifest.get("spec")
            name = spec.get("displayName") if isinstance(spec, dict) else None
            return name if isinstance(name, str) else ""
    return ""


def _json(data: bytes) -> object:
    try:
        return json.loads(data)
    except ValueError:  # it begins like JSON, and it was not read so far
        return None
