"""Rules for bundles of a catalog: their data, and where they belong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from olmkit.base.diagnostics import Location, Related, Severity
from olmkit.base.documents import Key
from olmkit.base.quoting import quote
from olmkit.base.versions import (
    BuildRelease,
    InvalidRangeError,
    InvalidVersionError,
    Version,
    VersionRange,
)
from olmkit.bundle import constraints
from olmkit.bundle.constraints import ConstraintStage
from olmkit.catalog.blobs import properties
from olmkit.catalog.blobs.outline import BundleOutline
from olmkit.catalog.blobs.properties import PackageIdentity, Property
from olmkit.catalog.model import Catalog, Package
from olmkit.oci.reference import InvalidReferenceError, Reference
from olmkit.rules.catalogs import find_repeated, within
from olmkit.rules.engine import CATALOG, SOUND_SUITE, Finding, rule


@rule("FBC030", "bundle-without-package", subject=CATALOG)
def bundle_without_package(catalog: Catalog) -> Iterator[Finding]:
    """A bundle does not name its package.

    Why: tools find a bundle only through its package.

    Fix: set `package`.
    """
    for bundle in catalog.outlines.bundles:
        if not bundle.package:
            yield Finding(
                f"package name must be set for bundle {quote(bundle.name)}",
                at=bundle.place.at("package"),
                hint="set `package` to the name of its `olm.package`",
            )


@rule("FBC031", "bundle-of-unknown-package", subject=CATALOG)
def bundle_of_unknown_package(catalog: Catalog) -> Iterator[Finding]:
    """A bundle belongs to a package that is not in the catalog.

    Why: OLM cannot install the bundle.

    Fix: add the `olm.package`, or correct the `package` of the bundle.
    """
    for bundle in catalog.outlines.bundles:
        if bundle.package and bundle.package not in catalog.packages:
            yield Finding(
                f"unknown package {quote(bundle.package)} for bundle {quote(bundle.name)}",
                at=bundle.place.at("package"),
                hint="add an `olm.package` of that name, or correct `package`",
            )


@rule("FBC032", "duplicate-bundle", subject=CATALOG)
def duplicate_bundle(catalog: Catalog) -> Iterator[Finding]:
    """Two bundles of a package have the same name.

    Why: entries that refer to this name are ambiguous.

    Fix: keep one of them. Several channels can list the same bundle.
    """
    known = (bundle for bundle in catalog.outlines.bundles if bundle.package in catalog.packages)
    for bundle, first in find_repeated(known, lambda bundle: (bundle.package, bundle.name)):
        yield Finding(
            f"package {quote(bundle.package)} has duplicate bundle {quote(bundle.name)}",
            at=bundle.place.at("name"),
            hint="keep one `olm.bundle` for each bundle",
            related=(Related(first.place.at("name"), "first here"),),
        )


@rule("FBC033", "malformed-property", subject=CATALOG)
def malformed_property(catalog: Catalog) -> Iterator[Finding]:
    """A property has no value, or a value of the wrong type.

    Why: OLM decodes the property types that it knows, and rejects the catalog.

    Fix: correct the value; `null` counts as empty.
    """
    for bundle in catalog.outlines.bundles:
        for fault in bundle.properties.faults:
            yield Finding(
                f"parse properties for bundle {quote(bundle.name)}: {fault.message}",
                at=bundle.place.at(*fault.keys),
                hint="correct the type of the value",
                subject=_subject(bundle),
            )


@rule("FBC034", "package-property-count", subject=CATALOG)
def package_property_count(catalog: Catalog) -> Iterator[Finding]:
    """A bundle has no `olm.package` property, or several.

    Why: that property contains the version of the bundle.

    Fix: keep exactly one, with `packageName` and `version`.
    """
    for bundle in catalog.outlines.bundles:
        count = len(bundle.properties.identities)
        # A rule for malformed properties reports an invalid one.
        if count != 1 and not bundle.properties.faults:
            yield Finding(
                f"package {quote(bundle.package)} bundle {quote(bundle.name)} must have exactly "
                f'1 "olm.package" property, found {count}',
                at=bundle.place.at("properties"),
                hint="keep exactly one `olm.package` property, with `packageName` and `version`",
                subject=_subject(bundle),
            )


@rule("FBC035", "package-property-mismatch", subject=CATALOG)
def package_property_mismatch(catalog: Catalog) -> Iterator[Finding]:
    """The `olm.package` property of a bundle names another package.

    Why: OLM v0 finds packages by the property, other tools by the field.

    Fix: make `packageName` and `package` equal.
    """
    for bundle, identity in _identified(catalog):
        if bundle.package and bundle.package != identity.package:
            yield Finding(
                f'package {quote(bundle.package)} does not match "olm.package" property '
                f"{quote(identity.package)}",
                at=_at_identity(bundle, "packageName"),
                hint=f"set `packageName` to `{bundle.package}`",
                subject=_subject(bundle),
            )


@rule("FBC036", "invalid-image", subject=CATALOG)
def invalid_image(catalog: Catalog) -> Iterator[Finding]:
    """The image of a bundle is not an image reference.

    Why: OLM cannot pull it.

    Fix: write `registry/repository@digest` or `registry/repository:tag`, without a scheme.
    """
    for bundle in catalog.outlines.bundles:
        reason = _image_complaint(bundle.image)
        if reason:
            yield Finding(
                f"package {quote(bundle.package)} bundle {quote(bundle.name)} image: invalid "
                f"image pull spec {quote(bundle.image)}: {reason}",
                at=bundle.place.at("image"),
                hint="write `registry/repository@digest`, in lower case and without a scheme",
                subject=_subject(bundle),
            )


@rule("FBC037", "invalid-related-image", subject=CATALOG)
def invalid_related_image(catalog: Catalog) -> Iterator[Finding]:
    """A related image of a bundle is not an image reference.

    Why: mirroring a catalog copies these images, and stops at an invalid one.

    Fix: write `registry/repository@digest` or `registry/repository:tag`, without a scheme.
    """
    for bundle in catalog.outlines.bundles:
        for index, related in enumerate(bundle.related_images):
            reason = _image_complaint(related.image)
            if reason:
                yield Finding(
                    f"package {quote(bundle.package)} bundle {quote(bundle.name)} "
                    f"relatedImages[{index}].image: invalid image pull spec "
                    f"{quote(related.image)}: {reason}",
                    at=bundle.place.at("relatedImages", index, "image"),
                    hint="write `registry/repository@digest`, in lower case and without a scheme",
                    subject=_subject(bundle),
                )


@rule("FBC038", "invalid-version", subject=CATALOG)
def invalid_version(catalog: Catalog) -> Iterator[Finding]:
    """The version of a bundle is not a semantic version.

    Why: OLM orders bundles by version, and compares versions with ranges.

    Fix: write three numbers without leading zeros or `v`, such as `1.2.3` or `1.2.3-rc.1`.
    In YAML, put a version that looks like a number in quotes.
    """
    for bundle, identity in _identified(catalog):
        try:
            Version.parse(identity.version)
        except InvalidVersionError as error:
            yield Finding(
                f"error parsing bundle {quote(bundle.name)} version {quote(identity.version)}: "
                f"{error.reason}",
                at=_at_identity(bundle, "version"),
                hint=error.hint,
                subject=_subject(bundle),
            )


@rule("FBC039", "invalid-release", subject=CATALOG)
def invalid_release(catalog: Catalog) -> Iterator[Finding]:
    """The release of a bundle is malformed.

    Why: OLM orders bundles of one version by release.

    Fix: write at most 20 letters, digits, dashes and dots, and numbers without leading
    zeros. Preferably, use a plain number.
    """
    for bundle, identity in _identified(catalog):
        if not identity.release:
            continue
        try:
            BuildRelease.parse(identity.release)
        except InvalidVersionError as error:
            yield Finding(
                f"error parsing bundle {quote(bundle.name)} release version "
                f"{quote(identity.release)}: {error.reason}",
                at=_at_identity(bundle, "release"),
                hint=error.hint,
                subject=_subject(bundle),
            )


@rule("FBC040", "bundle-in-no-channel", subject=CATALOG)
def bundle_in_no_channel(catalog: Catalog) -> Iterator[Finding]:
    """No channel lists a bundle.

    Why: OLM cannot install the bundle.

    Fix: add an entry to a channel of its package, or remove the bundle.
    """
    listed = catalog.entries_of
    for bundle in catalog.outlines.bundles:
        if bundle.package in catalog.packages and (bundle.package, bundle.name) not in listed:
            yield Finding(
                f"package {quote(bundle.package)}, bundle {quote(bundle.name)} not found in any "
                "channel entries",
                at=bundle.place.at("name"),
                hint="add an entry to a channel of its package, or remove the bundle",
                subject=_subject(bundle),
            )


@rule("FBC041", "unnamed-bundle", subject=CATALOG)
def unnamed_bundle(catalog: Catalog) -> Iterator[Finding]:
    """A bundle that a channel lists has no name.

    Why: entries and installed operators refer to bundles by name.

    Fix: set `name` to the name of the CSV, in the bundle and in the entry.
    """
    for package in catalog.packages.values():
        bundle = package.bundles.get("")
        if bundle is not None and (package.name, "") in catalog.entries_of:
            yield Finding(
                "name must be set",
                at=bundle.place.at("name"),
                hint="set `name` to that of the CSV",
                subject=within(package.name),
            )


@rule("FBC042", "bundle-name-of-release", subject=CATALOG)
def bundle_name_of_release(catalog: Catalog) -> Iterator[Finding]:
    """The name of a bundle with a release does not match package, version and release.

    Why: that name distinguishes two builds of one version.

    Fix: name the bundle `<package>-v<version>-<release>`.
    """
    for package in catalog.packages.values():
        for bundle in package.bundles.values():
            if bundle.version is None or bundle.version.release is None:
                continue
            wanted = f"{package.name}-v{bundle.version}"
            if bundle.name != wanted:
                yield Finding(
                    f"name {quote(bundle.name)} does not match normalized name {quote(wanted)}",
                    at=bundle.place.at("name"),
                    hint=f"name the bundle `{wanted}`",
                    subject=within(package.name, bundle=bundle.name),
                )


@rule("FBC043", "missing-image", subject=CATALOG)
def missing_image(catalog: Catalog) -> Iterator[Finding]:
    """A bundle has neither an image nor inlined manifests.

    Why: there is nothing to install.

    Fix: set `image` to the bundle image.
    """
    for package in catalog.packages.values():
        for bundle in package.bundles.values():
            if not bundle.image and not bundle.properties.objects:
                yield Finding(
                    "bundle image must be set",
                    at=bundle.place.at("image"),
                    hint="set `image` to the bundle image, by digest",
                    subject=within(package.name, bundle=bundle.name),
                )


@rule("FBC044", "build-metadata-with-release", subject=CATALOG)
def build_metadata_with_release(catalog: Catalog) -> Iterator[Finding]:
    """A bundle has a release, and build metadata in its version.

    Why: older catalogs use build metadata as the release, so it is ambiguous which one
    applies.

    Fix: remove one of the two.
    """
    for bundle, identity in _identified(catalog):
        if bundle.package not in catalog.packages or not identity.release:
            continue
        version = _version(catalog.packages[bundle.package], bundle.name)
        if version is not None and version.build:
            yield Finding(
                "cannot use build metadata in version with a release version",
                at=_at_identity(bundle, "version"),
                hint=f"make the version `{version.without_build}`",
                subject=_subject(bundle),
            )


@rule(
    "FBC045",
    "invalid-required-range",
    subject=CATALOG,
    severity=Severity.WARNING,
    suite=SOUND_SUITE,
)
def invalid_required_range(catalog: Catalog) -> Iterator[Finding]:
    """A bundle requires another package with a malformed version range.

    Why: no catalog tool checks this, but OLM cannot resolve the bundle.

    Fix: write terms such as `>=1.0.0 <2.0.0`, and separate alternatives with ` || `.
    Carets, tildes and commas are not supported.
    """
    for bundle in catalog.outlines.bundles:
        for wanted in bundle.properties.required_packages:
            try:
                VersionRange.parse(wanted.version_range)
            except InvalidRangeError as error:
                yield Finding(
                    f"invalid range {quote(wanted.version_range)} of required package "
                    f"{quote(wanted.package)}: {error.reason}",
                    at=bundle.place.at("properties", wanted.index, "value", "versionRange"),
                    hint=error.hint,
                    subject=_subject(bundle),
                )


@rule(
    "FBC047", "unreadable-requirement", subject=CATALOG,
    severity=Severity.WARNING, suite=SOUND_SUITE,
)  # fmt: skip
def unreadable_requirement(catalog: Catalog) -> Iterator[Finding]:
    """OLM cannot read an `olm.constraint` or an `olm.label.required` of a bundle.

    Why: no catalog tool checks these values. OLM decodes them when it resolves, and one that it
    cannot read stops every Subscription that might select the bundle.

    Fix: correct the value at the reported position.
    """
    for bundle in catalog.outlines.bundles:
        for one in bundle.properties.others:
            for keys, problem, hint in _problems(one):
                yield Finding(
                    f"OLM cannot read the property {quote(one.type)} of bundle "
                    f"{quote(bundle.name)}: {problem}",
                    at=bundle.place.at("properties", one.index, "value", *keys),
                    hint=hint,
                    subject=_subject(bundle),
                )


def _problems(one: Property) -> Iterator[tuple[tuple[Key, ...], str, str]]:
    if one.type == properties.LABEL_REQUIRED:
        value = one.value
        label = value.get("label") if isinstance(value, Mapping) else value
        if not isinstance(label, str):
            yield (), "`label` must be a string", "write it like `label: large`"
    elif one.type == properties.CONSTRAINT:
        value = one.value
        for problem in constraints.read(value).problems:
            if problem.stage is not ConstraintStage.SENSE:
                yield problem.keys, problem.message, problem.hint
        for keys, words in constraints.rule_problems(value):
            yield keys, words, "correct the CEL rule, whose result must be true or false"


@rule(
    "FBC046", "repeated-csv-metadata", subject=CATALOG, severity=Severity.WARNING, suite=SOUND_SUITE
)
def repeated_csv_metadata(catalog: Catalog) -> Iterator[Finding]:
    """A bundle has more than one `olm.csv.metadata` property.

    Why: the catalog is valid, but the server of OLM v0 does not start with it.

    Fix: keep one.
    """
    for bundle in catalog.outlines.bundles:
        if bundle.properties.metadata > 1:
            yield Finding(
                f"bundle has {bundle.properties.metadata} `olm.csv.metadata` properties, and "
                "servers take one",
                at=bundle.place.at("properties"),
                hint="keep one `olm.csv.metadata` property",
                subject=_subject(bundle),
            )


def _identified(catalog: Catalog) -> Iterator[tuple[BundleOutline, PackageIdentity]]:
    for bundle in catalog.outlines.bundles:
        if len(bundle.properties.identities) == 1:
            yield bundle, bundle.properties.identities[0]


def _version(package: Package, name: str) -> Version | None:
    bundle = package.bundles[name]
    return bundle.version.version if bundle.version else None


def _image_complaint(text: str) -> str:
    """Return why `text` is not an image reference; empty if it is one, or if it is empty."""
    if not text:
        return ""
    try:
        Reference.parse(text)
    except InvalidReferenceError as error:
        return error.reason
    return ""


def _at_identity(bundle: BundleOutline, field: str) -> Location:
    index = bundle.properties.identities[0].index
    return bundle.place.at("properties", index, "value", field)


def _subject(bundle: BundleOutline) -> str:
    return within(bundle.package, bundle=bundle.name)
