"""The menus of channels and versions of a package: one file for all its pages.

Otherwise, each page would need a list of all versions, and a package with some hundreds of them
would have a hundred times as many bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from olmkit.catalog.model import Channel, Package
from olmkit.hub import paths
from olmkit.hub.package import upgrades
from olmkit.hub.pages.operator_page import ChannelChoice, Menus
from olmkit.hub.pages.version_pages import VersionChoice

FILE: Final = "menus.js"


def build_menus(package: Package, base: str, members: Mapping[str, tuple[Channel, ...]]) -> Menus:
    """Return the menus, without channels without a head; `members`: channels by bundle."""
    channels = []
    for channel in upgrades.channels(package):
        head = upgrades.head(channel)
        if head is None or head.bundle is None:
            continue
        default = " (default)" if channel.name == package.default_channel else ""
        gone = ", deprecated" if channel.deprecation is not None else ""
        version = str(head.bundle.version or head.name)
        channels.append(
            ChannelChoice(
                name=channel.name,
                label=f"{channel.name}: {version}{default}{gone}",
                href=href(package, base, head.name, channel),
                head=head.name,
                version=version,
            )
        )
    places = {one.name: place for place, one in enumerate(channels)}
    versions = [
        VersionChoice(
            label=str(one.version or one.name),
            bundle=one.name,
            href=paths.bundle(base, package.name, one.name),
            channels=tuple(
                sorted(places[of.name] for of in members.get(one.name, ()) if of.name in places)
            ),
        )
        for one in upgrades.bundles(package)
    ]
    file = f"{paths.package(base, package.name)}{FILE}"
    return Menus(file=file, channels=tuple(channels), versions=tuple(versions))


def href(package: Package, base: str, bundle: str, channel: Channel) -> str:
    """Return the page of a bundle; with its channel, unless that is the default one."""
    path = paths.bundle(base, package.name, bundle)
    if channel.name == package.default_channel:
        return path
    return f"{path}?channel={paths.query(channel.name)}"


def script(menus: Menus) -> str:
    """Return the menus as a script, since local pages cannot fetch a file."""
    folder = menus.file.removesuffix(FILE)
    value = {
        "channels": [
            {
                "name": one.name,
                "label": one.label,
                "href": one.href.removeprefix(folder),
                "head": one.head,
                "version": one.version,
            }
            for one in menus.channels
        ],
        "versions": [
            {
                "label": one.label,
                "bundle": one.bundle,
                "href": one.href.removeprefix(folder),
                "in": one.channels,
            }
            for one in menus.versions
        ],
    }
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return "window.hubMenus = " + text.replace("<", "\\u003c") + ";\n"
