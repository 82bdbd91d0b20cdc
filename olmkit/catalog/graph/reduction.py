"""Reduce upgrade graphs to the part that starts at a bundle.

Source: `--minimum-edge` of `opm alpha render-graph` of operator-registry 1.73.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from olmkit.base.diagnostics import InputError
from olmkit.base.versions import VersionRelease
from olmkit.catalog.graph import links
from olmkit.catalog.model import Bundle, Channel, Entry, Package


def from_bundle(packages: Iterable[Package], name: str) -> tuple[Package, ...]:
    """Return the package of the bundle `name`, without edges from older versions.

    A skip range is kept if it contains that version. Entries that lost all their edges, and
    channels without entries, are removed too. Raises `InputError` if no bundle has that name.
    """
    for package in packages:
        bundle = package.bundles.get(name)
        if bundle is not None and bundle.version is not None:
            return (_keep_newer(package, bundle, bundle.version),)
    raise InputError(
        f"no bundle `{name}` with a version is in the selected packages",
        hint="name a bundle as `olmkit catalog list bundles` prints it",
    )


def _keep_newer(package: Package, bundle: Bundle, minimum: VersionRelease) -> Package:
    channels: dict[str, Channel] = {}
    for name, channel in package.channels.items():
        kept = {
            entry.name: entry
            for one in channel.entries.values()
            if (entry := _entry(one, package.bundles, bundle.name, minimum)) is not None
        }
        if kept:
            channels[name] = replace(channel, entries=kept)
    return replace(package, channels=channels)


def _entry(
    entry: Entry, bundles: Mapping[str, Bundle], floor: str, minimum: VersionRelease
) -> Entry | None:
    if entry.name == floor:
        return replace(entry, replaces="", skips=(), skip_range="")

    def is_kept(name: str) -> bool:
        found = bundles.get(name)
        return found is not None and found.version is not None and not found.version < minimum

    wanted = links.skip_range(entry)
    has_floor = bool(entry.skip_range) and wanted is not None and minimum.version in wanted
    kept = replace(
        entry,
        replaces=entry.replaces if entry.replaces and is_kept(entry.replaces) else "",
        skips=tuple(name for name in entry.skips if is_kept(name)),
        skip_range=entry.skip_range if has_floor else "",
    )
    if kept.replaces or kept.skips or kept.skip_range:
        return kept
    never = not (entry.replaces or entry.skips or entry.skip_range)
    return kept if never and is_kept(entry.name) else None
