"""A package and its bundles as JSON files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from olmkit.catalog.graph import links
from olmkit.catalog.model import Package
from olmkit.hub.package import apis, fact_box, installs, stated, upgrades
from olmkit.hub.package.version_page import Shared
from olmkit.hub.records import Record
from olmkit.kube import objects

SCHEMA_VERSION: Final = 1


def package_data(package: Package, first: Record) -> Mapping[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "package": package.name,
        "displayName": stated.display_name(first, package.name),
        "defaultChannel": package.default_channel,
        "shownBundle": first.bundle.name,
        "deprecation": package.deprecation,
        "channels": [
            {
                "name": channel.name,
                "heads": list(links.heads(channel)),
                "deprecation": channel.deprecation,
                "entries": [
                    {
                        "name": entry.name,
                        "version": str(entry.bundle.version)
                        if entry.bundle is not None and entry.bundle.version is not None
                        else None,
                        "replaces": entry.replaces,
                        "skips": list(entry.skips),
                        "skipRange": entry.skip_range,
                        "deprecation": entry.bundle.deprecation if entry.bundle else None,
                    }
                    for entry in links.sort_by_version(channel.entries)
                ],
            }
            for channel in upgrades.channels(package)
        ],
    }


def bundle_data(record: Record, shared: Shared) -> Mapping[str, Any]:
    bundle = record.bundle
    return {
        "schema_version": SCHEMA_VERSION,
        "package": bundle.package,
        "bundle": bundle.name,
        "version": record.version,
        "image": bundle.image,
        "channels": [channel.name for channel in shared.members.get(bundle.name, ())],
        "deprecation": bundle.deprecation,
        "installModes": list(fact_box.modes(record)),
        "olmV1Refusal": list(installs.refusal_of_v1(record)),
        "relatedImages": [{"name": one.name, "image": one.image} for one in bundle.related_images],
        "provided": [kind._asdict() for kind in apis.kinds(record)],
        "objects": sorted(f"{objects.kind(one)}/{objects.name(one)}" for one in record.manifests)
        if record.has_manifests
        else None,
    }
