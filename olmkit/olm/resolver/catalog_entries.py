"""Convert a catalog to entries of the resolver."""

from __future__ import annotations

from collections.abc import Iterator

from olmkit.base.versions import Version
from olmkit.catalog.blobs import properties
from olmkit.catalog.graph import links as graph
from olmkit.catalog.model import Bundle, Catalog
from olmkit.olm.resolver.resolution import CatalogKey, ResolverEntry, ResolverProperty


def catalog_entries(catalog: Catalog, key: CatalogKey) -> Iterator[ResolverEntry]:
    """Yield each bundle in each of its channels; entries with a missing bundle are left out."""
    by_bundle = {
        id(bundle): bundle_properties(bundle)
        for package in catalog.packages.values()
        for bundle in package.bundles.values()
    }
    for package in catalog.packages.values():
        for channel in package.channels.values():
            for entry in channel.entries.values():
                if entry.bundle is None:
                    continue
                yield ResolverEntry(
                    catalog=key,
                    package=package.name,
                    channel=channel.name,
                    name=entry.name,
                    is_default=channel.name == package.default_channel,
                    version=version_of(entry.bundle),
                    replaces=entry.replaces,
                    skips=entry.skips,
                    skip_range=graph.skip_range(entry),
                    properties=by_bundle[id(entry.bundle)],
                )


def bundle_properties(bundle: Bundle) -> tuple[ResolverProperty, ...]:
    """Return the properties of a bundle; a missing package property is derived."""
    found = [ResolverProperty(type_, value) for type_, value in bundle.properties]
    if not bundle.properties.identities:
        version = str(bundle.version.version) if bundle.version else ""
        value = {"packageName": bundle.package, "version": version}
        found.append(ResolverProperty(properties.PACKAGE, value))
    return tuple(found)


def version_of(bundle: Bundle) -> Version | None:
    """Return the version of a bundle, read tolerantly as OLM does."""
    if bundle.version is not None:
        return bundle.version.version
    read = (Version.read(one.version) for one in bundle.properties.identities)
    return next((version for version in read if version is not None), None)
