"""Rules about the identity of a CSV: its name and version, what it follows, and its Kubernetes.

Catalogs order bundles by these versions, and upgrade edges refer to them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from olmkit.base import names, texts
from olmkit.base.diagnostics import Fix, Related, Severity
from olmkit.base.documents import Document, Key
from olmkit.bundle.model import Bundle
from olmkit.kube import objects
from olmkit.kube.crds import field_errors
from olmkit.rules import fixes
from olmkit.rules.engine import SOUND_SUITE, Finding, rule

# The most common strict version, so that the version module is imported only for unusual ones.
_PLAIN_VERSION = re.compile(r"(0|[1-9]\d{0,8})(\.(0|[1-9]\d{0,8})){2}", re.ASCII)
# The most common ranges, for the same reason.
_PLAIN_RANGE = re.compile(
    r"(?:[<>]=?|=)?(?:0|[1-9]\d{0,8})(?:\.(?:0|[1-9]\d{0,8})){2}"
    r"(?: (?:[<>]=?|=)?(?:0|[1-9]\d{0,8})(?:\.(?:0|[1-9]\d{0,8})){2})*",
    re.ASCII,
)
# Quotes of any kind, and the `v` before a number.
_ORNAMENT = re.compile(r"[\"'‘’“”]|\bv(?=\d)")  # noqa: RUF001 - found in published bundles


@rule("CSV004", "csv-version-unreadable")
def csv_version_unreadable(bundle: Bundle) -> Iterator[Finding]:
    """The version of the CSV cannot be read.

    Why: neither OLM nor catalog tools can read the CSV. Without quotes, a version such as
    `1.0` is a number, not a string.

    Fix: write three numbers, such as `1.0.0`.
    """
    csv = bundle.csv
    value = objects.mapping(csv.value.get("spec")).get("version") if csv else None
    if csv is None or value is None or isinstance(value, list | Mapping):
        return
    if not isinstance(value, str) or not _is_tolerable(value):
        yield Finding(
            f"unable to parse CSV: `{objects.scalar_text(value)}` is not a version",
            at=csv.at("spec", "version"),
            hint="write three numbers, such as `1.0.0`",
        )


@rule("CSV005", "csv-name")
def csv_name(bundle: Bundle) -> Iterator[Finding]:
    """OLM cannot use the name of the CSV.

    Why: the name becomes the name of an object and the value of a label, so it must be a
    DNS subdomain of at most 63 characters.

    Fix: use the package, `.v` and the version, such as `memcached-operator.v1.0.0`.
    """
    csv = bundle.csv
    if csv is not None:
        for problem in _name_problems(csv.name):
            yield Finding(
                f'metadata.name "{csv.name}" is invalid: {problem}',
                at=csv.at("metadata", "name"),
                hint="name it `<package>.v<version>`",
            )


@rule("CSV006", "replaces-name")
def replaces_name(bundle: Bundle) -> Iterator[Finding]:
    """`spec.replaces` is not a valid CSV name.

    Why: no CSV can have that name, so the upgrade edge has no effect.

    Fix: write the name of the CSV that this one replaces.
    """
    csv = bundle.csv
    if csv is not None and csv.replaces:
        for problem in _name_problems(csv.replaces):
            yield Finding(
                f'spec.replaces "{csv.replaces}" is invalid: {problem}',
                at=csv.at("spec", "replaces"),
                hint="write the `metadata.name` of the previous CSV",
            )


@rule("CSV019", "no-min-kube-version", severity=Severity.WARNING)
def no_min_kube_version(bundle: Bundle) -> Iterator[Finding]:
    """The CSV does not set the minimum version of Kubernetes.

    Why: without `minKubeVersion`, OLM installs the operator into any cluster, even a very
    old one.

    Fix: write the oldest version with which you test the operator.
    """
    csv = bundle.csv
    if csv is not None and csv.spec and not csv.min_kube_version.strip():
        yield Finding(
            "csv.Spec.minKubeVersion is not informed",
            at=csv.at("spec", "minKubeVersion"),
            hint="write the oldest supported Kubernetes version: `minKubeVersion: 1.28.0`",
        )


@rule("CSV020", "min-kube-version")
def min_kube_version(bundle: Bundle) -> Iterator[Finding]:
    """`minKubeVersion` is not a valid version.

    Why: OLM compares it with the cluster's version and needs all three numbers, without
    `v`.

    Fix: write it like `1.28.0`.
    """
    csv = bundle.csv
    value = csv.min_kube_version if csv else ""
    if csv is not None and value.strip() and not is_strict_version(value):
        yield Finding(
            f"csv.Spec.MinKubeVersion has an invalid value: {texts.shorten(value)}",
            at=csv.at("spec", "minKubeVersion"),
            hint="write three numbers without `v`, such as `1.28.0`",
            fix=_plain_version_fix(csv.document, ("spec", "minKubeVersion"), value),
        )


@rule("CSV033", "csv-name-version", severity=Severity.WARNING, suite=SOUND_SUITE)
def csv_name_version(bundle: Bundle) -> Iterator[Finding]:
    """The name of the CSV and its version differ.

    Why: people and scripts read the version from the name.

    Fix: end the name in `.v` and the version.
    """
    csv = bundle.csv
    if csv is None or not csv.version or csv.version == "0.0.0":
        return
    wanted = csv.version + (f"-{csv.release}" if csv.release else "")
    name = csv.name
    if name and not name.endswith((wanted, wanted.replace("+", "-"), wanted.replace("+", "."))):
        yield Finding(
            f"name `{name}` does not end in version `{wanted}`",
            at=csv.at("metadata", "name"),
            hint=f"name it `<package>.v{wanted}`",
            related=(Related(csv.at("spec", "version"), "the version is here"),),
        )


@rule("CSV034", "replaces-itself", suite=SOUND_SUITE)
def replaces_itself(bundle: Bundle) -> Iterator[Finding]:
    """The CSV replaces or skips itself.

    Why: the upgrade graph gets a cycle, and catalogs reject it.

    Fix: write the name of the previous CSV.
    """
    csv = bundle.csv
    if csv is None or not csv.name:
        return
    if csv.replaces == csv.name:
        yield Finding(
            f"`{csv.name}` replaces itself",
            at=csv.at("spec", "replaces"),
            hint="name the previous CSV, or remove `replaces`",
        )
    for index, name in enumerate(csv.skips):
        if name == csv.name:
            yield Finding(f"`{csv.name}` skips itself", at=csv.at("spec", "skips", index))


@rule("CSV035", "skips-name", suite=SOUND_SUITE)
def skips_name(bundle: Bundle) -> Iterator[Finding]:
    """`spec.skips` contains an invalid CSV name.

    Why: no CSV can have that name, so the entry has no effect.

    Fix: write names of CSVs, not versions.
    """
    csv = bundle.csv
    for index, name in enumerate(csv.skips if csv else ()):
        if csv is not None and any(_name_problems(name)):
            yield Finding(
                f"`{name}` in `spec.skips` is not a CSV name",
                at=csv.at("spec", "skips", index),
                hint="write the `metadata.name` of the CSV that is skipped",
            )


@rule("CSV036", "skip-range", suite=SOUND_SUITE)
def skip_range(bundle: Bundle) -> Iterator[Finding]:
    """The skip range is not a version range.

    Why: OLM ignores a range that it cannot read, and skips no version. The finding is a
    warning if only a `v` or quotes are the problem.

    Fix: write it like `>=1.0.0 <1.2.0`.
    """
    csv = bundle.csv
    if csv is None or not csv.skip_range.strip() or _PLAIN_RANGE.fullmatch(csv.skip_range):
        return
    from olmkit.base.versions import InvalidRangeError, VersionRange

    try:
        VersionRange.parse(csv.skip_range)
    except InvalidRangeError:
        plain = _without_ornaments(csv.skip_range)
        yield Finding(
            f"`{csv.skip_range}` is not a version range",
            at=csv.at("metadata", "annotations", "olm.skipRange"),
            hint=f"write `{plain}`" if plain else "write it like `>=1.0.0 <1.2.0`",
            severity=Severity.WARNING if plain else None,
            fix=fixes.replace_value(
                csv.document, ("metadata", "annotations", "olm.skipRange"), plain
            )
            if plain
            else None,
        )


@rule("CSV037", "csv-version-missing", suite=SOUND_SUITE, also=("operatorhub",))
def csv_version_missing(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has no version, or the version 0.0.0.

    Why: catalogs order bundles by their version. A missing version counts as 0.0.0.

    Fix: write `spec.version`.
    """
    csv = bundle.csv
    if csv is not None and csv.spec and csv.version in ("", "0.0.0"):
        value = objects.mapping(csv.value.get("spec")).get("version")
        if value is None or value == "0.0.0":
            yield Finding(
                "the CSV has no version" if value is None else "the version of the CSV is 0.0.0",
                at=csv.at("spec", "version"),
                hint="write `version: 0.1.0` below `spec`",
            )


@rule("CSV038", "csv-version", suite=SOUND_SUITE)
def csv_version(bundle: Bundle) -> Iterator[Finding]:
    """The version of the CSV is not a strict semantic version.

    Why: tools can read the CSV, but catalogs reject the bundle: they require exactly three
    numbers without leading zeros and without `v`.

    Fix: write it like `1.0.0`.
    """
    csv = bundle.csv
    value = objects.mapping(csv.value.get("spec")).get("version") if csv else None
    if csv is None or not isinstance(value, str):
        return
    if _is_tolerable(value) and not is_strict_version(value):
        yield Finding(
            f"version `{value}` is not a semantic version",
            at=csv.at("spec", "version"),
            hint="write three numbers, without `v` and leading zeros, such as `1.0.0`",
            fix=_plain_version_fix(csv.document, ("spec", "version"), value),
        )


@rule("CSV046", "release", suite=SOUND_SUITE)
def release(bundle: Bundle) -> Iterator[Finding]:
    """The release of the CSV is malformed, or not in its name.

    Why: catalogs distinguish builds of one version by their release. The name of the bundle
    must be the package, `-v`, the version, `-` and the release.

    Fix: rename the CSV, or remove `spec.release`.
    """
    csv = bundle.csv
    if csv is None or not csv.release:
        return
    from olmkit.base.versions import BuildRelease, InvalidVersionError

    try:
        BuildRelease.parse(csv.release)
    except InvalidVersionError as error:
        yield Finding(
            f"release `{csv.release}` is not valid: {error.reason or error.message}",
            at=csv.at("spec", "release"),
        )
        return
    wanted = f"{bundle.package}-v{csv.version}-{csv.release}"
    if bundle.package and csv.name != wanted:
        yield Finding(
            f"a CSV with a release must be named `{wanted}`, not `{csv.name}`",
            at=csv.at("metadata", "name"),
            related=(Related(csv.at("spec", "release"), "the release is here"),),
        )
    if csv.annotations.get("olm.substitutesFor"):
        yield Finding(
            "a CSV has either a release or `olm.substitutesFor`, not both",
            at=csv.at("metadata", "annotations", "olm.substitutesFor"),
        )


def is_strict_version(text: str) -> bool:
    """Return whether `text` is a semantic version in the strict sense."""
    if _PLAIN_VERSION.fullmatch(text):
        return True
    from olmkit.base.versions import InvalidVersionError, Version

    try:
        Version.parse(text)
    except InvalidVersionError:
        return False
    return True


def _plain_version_fix(document: Document, keys: tuple[Key, ...], text: str) -> Fix | None:
    """Return the strict version that a tolerant parser reads from `text`, if only form differs."""
    from olmkit.base.versions import Version

    found = Version.read(text)
    if found is None or text.strip().count(".") < 2:  # a missing number would be a guess
        return None
    return fixes.replace_value(document, keys, str(found))


def _is_tolerable(text: str) -> bool:
    """Return whether a tolerant parser accepts `text` as a version."""
    if _PLAIN_VERSION.fullmatch(text):
        return True
    from olmkit.base.versions import InvalidVersionError, Version

    try:
        Version.parse_tolerantly(text)
    except InvalidVersionError:
        return False
    return True


def _without_ornaments(text: str) -> str:
    """Return `text` without quotes and `v`s if that makes it a range, else an empty string."""
    from olmkit.base.versions import InvalidRangeError, VersionRange

    plain = _ORNAMENT.sub("", text).strip()
    try:
        VersionRange.parse(plain)
    except InvalidRangeError:
        return ""
    return plain


def _name_problems(name: str) -> Iterator[str]:
    if not names.is_subdomain(name):
        yield field_errors.SUBDOMAIN
    elif len(name) > names.MAX_LABEL:
        yield f"must be no more than {names.MAX_LABEL} characters"
