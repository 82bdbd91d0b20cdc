"""Rules for deprecations: that each refers to something in the catalog, only once."""

from __future__ import annotations

from collections.abc import Iterator

from olmkit.base.diagnostics import Related
from olmkit.base.quoting import quote
from olmkit.catalog.blobs import wire
from olmkit.catalog.blobs.outline import DeprecationOutline, DeprecationsOutline
from olmkit.catalog.model import Catalog, Package
from olmkit.rules.catalogs import find_repeated, within
from olmkit.rules.engine import CATALOG, Finding, rule

_SCHEMAS = (wire.PACKAGE, wire.CHANNEL, wire.BUNDLE)


@rule("FBC050", "deprecations-without-package", subject=CATALOG)
def deprecations_without_package(catalog: Catalog) -> Iterator[Finding]:
    """An `olm.deprecations` does not name its package.

    Why: it deprecates nothing.

    Fix: set `package`.
    """
    for index, blob in enumerate(catalog.outlines.deprecations):
        if not blob.package:
            yield Finding(
                f"package name must be set for deprecation item {index}",
                at=blob.place.at("package"),
                hint="set `package` to the name of an `olm.package`",
            )


@rule("FBC051", "deprecations-of-unknown-package", subject=CATALOG)
def deprecations_of_unknown_package(catalog: Catalog) -> Iterator[Finding]:
    """An `olm.deprecations` names a package that is not in the catalog.

    Why: it deprecates nothing.

    Fix: correct the name, or remove the blob.
    """
    for blob in catalog.outlines.deprecations:
        if blob.package and blob.package not in catalog.packages:
            yield Finding(
                f"cannot apply deprecations to an unknown package {quote(blob.package)}",
                at=blob.place.at("package"),
                hint="correct the name, or remove the deprecations",
            )


@rule("FBC052", "repeated-deprecations", subject=CATALOG)
def repeated_deprecations(catalog: Catalog) -> Iterator[Finding]:
    """Two `olm.deprecations` name the same package.

    Why: tools read only one for each package.

    Fix: merge the entries of both.
    """
    known = (blob for blob in catalog.outlines.deprecations if blob.package in catalog.packages)
    for blob, first in find_repeated(known, lambda blob: blob.package):
        yield Finding(
            f"expected a maximum of one deprecation per package: {quote(blob.package)}",
            at=blob.place.at("package"),
            hint="put the entries of both into one `olm.deprecations`",
            related=(Related(first.place.at("package"), "first here"),),
        )


@rule("FBC053", "deprecation-without-schema", subject=CATALOG)
def deprecation_without_schema(catalog: Catalog) -> Iterator[Finding]:
    """A deprecation does not contain the schema of its target.

    Why: a package, a channel and a bundle can have the same name.

    Fix: set `reference.schema` to `olm.package`, `olm.channel` or `olm.bundle`.
    """
    for _, blob, index, entry in _entries(catalog):
        if not entry.schema:
            yield Finding(
                f"schema must be set for deprecation entry [{index}] for package "
                f"{quote(blob.package)}",
                at=blob.place.at("entries", index, "reference"),
                hint=f"set `schema` to one of {', '.join(f'`{name}`' for name in _SCHEMAS)}",
            )


@rule("FBC054", "repeated-deprecation", subject=CATALOG)
def repeated_deprecation(catalog: Catalog) -> Iterator[Finding]:
    """The same package, channel or bundle is deprecated twice.

    Why: it is ambiguous which message applies.

    Fix: keep one entry.
    """
    for blob in catalog.outlines.deprecations:
        numbered = [item for item in enumerate(blob.entries) if item[1].schema]
        for (index, entry), (first, _) in find_repeated(
            numbered, lambda item: (item[1].schema, item[1].name)
        ):
            yield Finding(
                f"duplicate deprecation entry {_reference(entry)} for package "
                f"{quote(blob.package)}",
                at=blob.place.at("entries", index, "reference"),
                hint="keep one of the two",
                related=(Related(blob.place.at("entries", first, "reference"), "first here"),),
            )


@rule("FBC055", "deprecation-of-unknown-bundle", subject=CATALOG)
def deprecation_of_unknown_bundle(catalog: Catalog) -> Iterator[Finding]:
    """A deprecated bundle is not in the package.

    Why: the entry deprecates nothing.

    Fix: correct the name, or remove the entry.
    """
    for package, blob, index, entry in _entries(catalog):
        if entry.schema == wire.BUNDLE and entry.name not in package.bundles:
            yield Finding(
                f"cannot deprecate bundle {quote(entry.name)} for package "
                f"{quote(blob.package)}: bundle not found",
                at=blob.place.at("entries", index, "reference", "name"),
                hint="correct the name, or remove the entry",
            )


@rule("FBC056", "deprecation-of-unknown-channel", subject=CATALOG)
def deprecation_of_unknown_channel(catalog: Catalog) -> Iterator[Finding]:
    """A deprecated channel is not in the package.

    Why: the entry deprecates nothing.

    Fix: correct the name, or remove the entry.
    """
    for package, blob, index, entry in _entries(catalog):
        if entry.schema != wire.CHANNEL or entry.name in package.channels:
            continue
        # A default channel that does not exist counts as an empty one.
        if not entry.name or entry.name != package.default_channel:
            yield Finding(
                f"cannot deprecate channel {quote(entry.name)} for package "
                f"{quote(blob.package)}: channel not found",
                at=blob.place.at("entries", index, "reference", "name"),
                hint="correct the name, or remove the entry",
            )


@rule("FBC057", "deprecation-of-named-package", subject=CATALOG)
def deprecation_of_named_package(catalog: Catalog) -> Iterator[Finding]:
    """The deprecation of a package has a name.

    Why: the blob already contains the name of the package, and a different name would
    contradict it.

    Fix: remove `name`.
    """
    for _, blob, index, entry in _entries(catalog):
        if entry.schema == wire.PACKAGE and entry.name:
            yield Finding(
                f"package name must be empty for deprecated package {quote(blob.package)} "
                f"(specified {quote(entry.name)})",
                at=blob.place.at("entries", index, "reference", "name"),
                hint="leave out `name`",
            )


@rule("FBC058", "deprecation-of-unknown-schema", subject=CATALOG)
def deprecation_of_unknown_schema(catalog: Catalog) -> Iterator[Finding]:
    """The target of a deprecation is not a package, channel or bundle.

    Why: no tool can use the deprecation.

    Fix: set `reference.schema` to `olm.package`, `olm.channel` or `olm.bundle`.
    """
    for _, blob, index, entry in _entries(catalog):
        if entry.schema and entry.schema not in _SCHEMAS:
            yield Finding(
                f"cannot deprecate object {_reference(entry)} referenced by entry {index} for "
                f"package {quote(blob.package)}: object schema unknown",
                at=blob.place.at("entries", index, "reference", "schema"),
                hint=f"set `schema` to one of {', '.join(f'`{name}`' for name in _SCHEMAS)}",
            )


@rule("FBC059", "deprecation-without-message", subject=CATALOG)
def deprecation_without_message(catalog: Catalog) -> Iterator[Finding]:
    """A deprecation has no message.

    Why: users of the operator see only the message.

    Fix: tell users what to do instead, for example which channel to switch to.
    """
    for package, blob, index, entry in _entries(catalog):
        if not entry.message and _is_known(package, entry):
            names = {"channel": "", "bundle": ""}
            names[entry.schema.removeprefix("olm.")] = entry.name
            yield Finding(
                "invalid deprecation: message must be set",
                at=blob.place.at("entries", index),
                hint="describe what users should do instead",
                subject=within(package.name, names["channel"], names["bundle"]),
            )


def _is_known(package: Package, entry: DeprecationOutline) -> bool:
    match entry.schema:
        case wire.PACKAGE:
            return True
        case wire.CHANNEL:
            return entry.name in package.channels or entry.name == package.default_channel
        case wire.BUNDLE:
            return entry.name in package.bundles
        case _:
            return False


def _entries(
    catalog: Catalog,
) -> Iterator[tuple[Package, DeprecationsOutline, int, DeprecationOutline]]:
    """Yield the entries of deprecations whose package is known."""
    for blob in catalog.outlines.deprecations:
        package = catalog.packages.get(blob.package)
        if blob.package and package is not None:
            for index, entry in enumerate(blob.entries):
                yield package, blob, index, entry


def _reference(entry: DeprecationOutline) -> str:
    return (
        f"declcfg.PackageScopedReference{{Schema:{quote(entry.schema)}, Name:{quote(entry.name)}}}"
    )
