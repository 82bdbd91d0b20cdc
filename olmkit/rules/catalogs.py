"""Rules for packages and channels of a catalog: names, links, and required parts.

The messages are those of `opm validate`, because people search for them; that tool stops at the
first error, while these rules find all. Bundles, deprecations and upgrade graphs have their own
modules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from olmkit.base import texts
from olmkit.base.diagnostics import Related, Severity
from olmkit.base.names import MAX_LABEL, similar_package
from olmkit.base.quoting import quote
from olmkit.catalog.blobs import wire
from olmkit.catalog.model import NO_VERSION, Catalog, Channel, Package
from olmkit.catalog.serve.registry_api import NAME, NAME_WORDS
from olmkit.catalog.templates import source
from olmkit.rules.engine import CATALOG, SOUND_SUITE, Finding, rule

T = TypeVar("T")

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_WORDS = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "
    "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_OLM_SCHEMAS = (wire.PACKAGE, wire.CHANNEL, wire.BUNDLE, wire.DEPRECATIONS)
_SHOWN_MEDIA_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/svg+xml"})


def within(package: str, channel: str = "", bundle: str = "") -> str:
    """Return the subject of a finding, which is printed below its place."""
    parts = [("package", package), ("channel", channel), ("bundle", bundle)]
    return ", ".join(f"{kind} `{name}`" for kind, name in parts if name)


def find_repeated(items: Iterable[T], key: Callable[[T], Hashable]) -> Iterator[tuple[T, T]]:
    """Yield each item whose key occurred before, with the first item that had it."""
    first: dict[Hashable, T] = {}
    for item in items:
        known = first.setdefault(key(item), item)
        if known is not item:
            yield item, known


@rule("FBC010", "unnamed-package", subject=CATALOG)
def unnamed_package(catalog: Catalog) -> Iterator[Finding]:
    """An `olm.package` has no name.

    Why: channels and bundles refer to a package by its name, and so does a Subscription.

    Fix: give the package the `name` that its channels have as `package`.
    """
    for package in catalog.outlines.packages:
        if not package.name:
            yield Finding(
                "config contains package with no name",
                at=package.place.at("name"),
                hint="set `name` to what the channels of the package have as `package`",
            )


@rule("FBC011", "duplicate-package", subject=CATALOG)
def duplicate_package(catalog: Catalog) -> Iterator[Finding]:
    """Two `olm.package` blobs have the same name.

    Why: the default channel is ambiguous. A common cause is two catalogs with the same
    package in one directory.

    Fix: keep one of the two, with the channels and bundles of both.
    """
    named = (package for package in catalog.outlines.packages if package.name)
    for package, first in find_repeated(named, lambda package: package.name):
        yield Finding(
            f"duplicate package {quote(package.name)}",
            at=package.place.at("name"),
            hint="keep one `olm.package` for each package",
            related=(Related(first.place.at("name"), "first here"),),
        )


@rule("FBC012", "invalid-package-name", subject=CATALOG)
def invalid_package_name(catalog: Catalog) -> Iterator[Finding]:
    """The name of a package is not a DNS label.

    Why: the name becomes part of names of Kubernetes objects and of labels.

    Fix: use at most 63 lowercase letters, digits and dashes, with a letter or digit at each
    end. If you rename a published package, its users get no more upgrades.
    """
    for package in catalog.outlines.packages:
        reasons = []
        if len(package.name.encode()) > MAX_LABEL:
            reasons.append(f"must be no more than {MAX_LABEL} characters")
        if not _LABEL.fullmatch(package.name):
            with_dots = all(_LABEL.fullmatch(part) for part in package.name.split("."))
            reasons.append("must not contain dots" if with_dots else _LABEL_WORDS)
        if package.name and reasons:
            yield Finding(
                f"invalid package name {quote(package.name)}: [{' '.join(reasons)}]",
                at=package.place.at("name"),
                hint="use lower-case letters, digits and dashes only, at most 63",
            )


@rule("FBC013", "no-default-channel", subject=CATALOG)
def no_default_channel(catalog: Catalog) -> Iterator[Finding]:
    """A package names no default channel.

    Why: a Subscription without a channel uses the default channel.

    Fix: set `defaultChannel` to a channel of the package.
    """
    for package in catalog.packages.values():
        if not package.default_channel:
            yield Finding(
                "default channel must be set",
                at=package.place.at("defaultChannel"),
                hint=_default_hint(package),
                subject=within(package.name),
            )


@rule("FBC014", "unknown-default-channel", subject=CATALOG)
def unknown_default_channel(catalog: Catalog) -> Iterator[Finding]:
    """The default channel of a package does not exist.

    Why: a Subscription without a channel would find nothing. The message mentions an empty
    channel, because other tools create one with that name.

    Fix: correct the name, or add the channel.
    """
    for package in catalog.packages.values():
        name = package.default_channel
        if name and name not in package.channels:
            yield Finding(
                "channel must contain at least one bundle",
                at=package.place.at("defaultChannel"),
                hint=f"there is no channel `{name}`: {_default_hint(package)}",
                subject=within(package.name, name),
            )


def _default_hint(package: Package) -> str:
    names = sorted(name for name in package.channels if name)
    if not names:
        return "add a channel, and name it in `defaultChannel`"
    return f"set `defaultChannel` to one of {', '.join(f'`{name}`' for name in names[:5])}"


@rule("FBC015", "package-without-channels", subject=CATALOG)
def package_without_channels(catalog: Catalog) -> Iterator[Finding]:
    """A package has no channels.

    Why: OLM can install nothing from it.

    Fix: add an `olm.channel` with the name of this package as its `package`.
    """
    for package in catalog.packages.values():
        # The default channel would be created, and another rule reports it.
        if not package.channels and not package.default_channel:
            yield Finding(
                "package must contain at least one channel",
                at=package.place.at("name"),
                hint=f"add an `olm.channel` with `package: {package.name}`",
                subject=within(package.name),
            )


@rule("FBC016", "duplicate-versions", subject=CATALOG)
def duplicate_versions(catalog: Catalog) -> Iterator[Finding]:
    """Two bundles of a package have the same version.

    Why: a reference to that version is ambiguous, and so is the order of the two bundles.

    Fix: give each bundle a different version. For a rebuild of the same version, set a
    `release`.
    """
    for package in catalog.packages.values():
        names: dict[str, set[str]] = {}
        for channel in package.channels.values():
            for entry in channel.entries.values():
                # Another rule reports an invalid version; once is enough.
                if entry.bundle is None or entry.bundle.version is not None:
                    names.setdefault(str(entry.version), set()).add(entry.name)
        twice = {version: sorted(found) for version, found in names.items() if len(found) > 1}
        missing = str(NO_VERSION)
        if missing in twice and not any(name in package.bundles for name in twice[missing]):
            del twice[missing]
        if not twice:
            continue
        listed = " ".join(
            f"{{{version}: [{', '.join(twice[version])}]}}" for version in sorted(twice)
        )
        one, *others = [
            package.bundles[name]
            for version in sorted(twice)
            for name in twice[version]
            if name in package.bundles
        ]
        yield Finding(
            f"duplicate versions found in bundles: [{listed}]",
            at=one.place.at("properties"),
            hint="give each bundle a different version, or a `release`",
            subject=within(package.name),
            related=tuple(Related(other.place.at("properties"), "also") for other in others[:5]),
        )


@rule("FBC017", "unfit-icon", subject=CATALOG, severity=Severity.WARNING, suite=SOUND_SUITE)
def unfit_icon(catalog: Catalog) -> Iterator[Finding]:
    """The icon of a package is empty, not an image, or does not have the declared type.

    Why: no tool rejects it, but consoles show a broken image.

    Fix: embed a PNG, JPEG, GIF or SVG image as base64, and set `mediatype` to its type.
    """
    for package in catalog.outlines.packages:
        icon = package.icon
        if icon is None:
            continue
        if not icon.size:
            message, field = "icon data must be set if icon is defined", "base64data"
        elif not icon.media_type:
            message, field = "icon mediatype must be set if icon is defined", "mediatype"
        elif not icon.detected:
            message, field = "icon data is not an image", "base64data"
        elif icon.detected != icon.media_type:
            message = (
                f"icon media type {quote(icon.media_type)} does not match detected media type "
                f"{quote(icon.detected)}"
            )
            field = "mediatype"
        elif icon.detected not in _SHOWN_MEDIA_TYPES:
            message, field = f"icons of type {quote(icon.detected)} are not shown", "mediatype"
        else:
            continue
        yield Finding(
            message,
            at=package.place.at("icon", field),
            hint="embed a PNG, JPEG, GIF or SVG image and set its type in `mediatype`",
            subject=within(package.name),
        )


@rule(
    "FBC018",
    "unservable-custom-blob",
    subject=CATALOG,
    severity=Severity.WARNING,
    suite=SOUND_SUITE,
)
def unservable_custom_blob(catalog: Catalog) -> Iterator[Finding]:
    """The schema or package of a custom blob has a name that servers reject.

    Why: the catalog is valid, but the server of OLM v0 does not start with it.

    Fix: use letters, digits, dots, dashes and underscores, and start with a letter or
    digit.
    """
    for blob in catalog.outlines.customs:
        for field, text in (("schema", blob.schema), ("package", blob.package)):
            if text and not NAME.fullmatch(text):
                yield Finding(
                    f"invalid custom schema meta: invalid {field} {quote(text)}: must match "
                    f"{NAME_WORDS}",
                    at=blob.place.at(field),
                    hint="use letters, digits, dots, dashes and underscores only",
                )


@rule(
    "FBC019",
    "unknown-olm-schema",
    subject=CATALOG,
    severity=Severity.WARNING,
    suite=SOUND_SUITE,
)
def unknown_olm_schema(catalog: Catalog) -> Iterator[Finding]:
    """The schema of a blob begins with `olm.`, but OLM does not read it.

    Why: OLM treats the blob as data of another program and ignores it. For example, a
    misspelled `olm.deprecations` deprecates nothing, and a template provides no bundles.

    Fix: correct the schema. If the file is a template, render it with
    `olmkit catalog render-template`.
    """
    import difflib

    for blob in catalog.outlines.customs:
        if not blob.schema.lower().startswith("olm."):
            continue
        hint = "use your own prefix for schemas that OLM does not read"
        if blob.schema in source.SCHEMAS.values():
            hint = "render the template first, with `olmkit catalog render-template`"
        elif close := difflib.get_close_matches(blob.schema.lower(), _OLM_SCHEMAS, n=1):
            hint = f"write `{close[0]}`"
        yield Finding(
            f"OLM does not read the schema {quote(blob.schema)}",
            at=blob.place.at("schema"),
            hint=hint,
        )


@rule("FBC020", "channel-of-unknown-package", subject=CATALOG)
def channel_of_unknown_package(catalog: Catalog) -> Iterator[Finding]:
    """A channel belongs to a package that is not in the catalog.

    Why: no Subscription can use it.

    Fix: add the `olm.package`, or correct the `package` of the channel.
    """
    for channel in catalog.outlines.channels:
        if channel.package not in catalog.packages:
            yield Finding(
                f"unknown package {quote(channel.package)} for channel {quote(channel.name)}",
                at=channel.place.at("package"),
                hint=_package_hint(channel.package, catalog),
            )


def _package_hint(name: str, catalog: Catalog) -> str:
    near = similar_package(name, catalog.packages) if name else ""
    if near:
        return f"did you mean `{near}`?"
    return "add an `olm.package` of that name, or correct `package`"


@rule("FBC021", "unnamed-channel", subject=CATALOG)
def unnamed_channel(catalog: Catalog) -> Iterator[Finding]:
    """A channel has no name.

    Why: Subscriptions request a channel by its name.

    Fix: give it a `name`, such as `stable`.
    """
    for channel in catalog.outlines.channels:
        if not channel.name:
            yield Finding(
                f"package {quote(channel.package)} contains channel with no name",
                at=channel.place.at("name"),
                hint="set `name`",
            )


@rule("FBC022", "duplicate-channel", subject=CATALOG)
def duplicate_channel(catalog: Catalog) -> Iterator[Finding]:
    """Two channels of a package have the same name.

    Why: it is ambiguous which entries apply.

    Fix: merge the entries of both into one `olm.channel`.
    """
    named = (channel for channel in catalog.outlines.channels if channel.name)
    for channel, first in find_repeated(named, lambda channel: (channel.package, channel.name)):
        yield Finding(
            f"package {quote(channel.package)} has duplicate channel {quote(channel.name)}",
            at=channel.place.at("name"),
            hint="put the entries of both into one channel",
            related=(Related(first.place.at("name"), "first here"),),
        )


@rule("FBC023", "duplicate-entry", subject=CATALOG)
def duplicate_entry(catalog: Catalog) -> Iterator[Finding]:
    """A channel lists a bundle twice.

    Why: it is ambiguous which `replaces`, `skips` and `skipRange` apply.

    Fix: keep one entry for each bundle.
    """
    for channel in catalog.outlines.channels:
        numbered = enumerate(channel.entries)
        for (index, entry), (first, _) in find_repeated(numbered, lambda item: item[1].name):
            yield Finding(
                f"invalid package {quote(channel.package)}, channel {quote(channel.name)}: "
                f"duplicate entry {quote(entry.name)}",
                at=channel.place.at("entries", index, "name"),
                hint="keep one entry for each bundle",
                related=(Related(channel.place.at("entries", first, "name"), "first here"),),
            )


@rule("FBC024", "entry-without-bundle", subject=CATALOG)
def entry_without_bundle(catalog: Catalog) -> Iterator[Finding]:
    """A channel lists a bundle that is not in the catalog.

    Why: the upgrade graph would contain a version that OLM cannot install.

    Fix: add the `olm.bundle`, or remove the entry. `replaces` and `skips` can still name a
    removed bundle.
    """
    for channel in _channels(catalog):
        missing = [entry for entry in channel.entries.values() if entry.bundle is None]
        if missing:
            names = " ".join(sorted(texts.shorten(entry.name) for entry in missing))
            yield Finding(
                f"no olm.bundle blobs found in package {quote(channel.package)} for olm.channel "
                f"entries [{names}]",
                at=channel.place.at("entries", missing[0].index, "name"),
                hint="add an `olm.bundle` for each entry, or remove the entry",
                subject=within(channel.package, channel.name),
                related=tuple(
                    Related(channel.place.at("entries", entry.index, "name"), "also")
                    for entry in missing[1:6]
                ),
            )


def _channels(catalog: Catalog) -> Iterator[Channel]:
    for package in catalog.packages.values():
        yield from package.channels.values()
