"""Read the include files of opm's catalog differences.

Source: `opm alpha diff --include-file` of operator-registry 1.18 to 1.35. A file lists packages,
which may have channels, and each may have versions, bundles or a range. `defaultChannel` is an
addition of olmkit, which opm ignores.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from olmkit.base import configuration
from olmkit.base.diagnostics import InputError
from olmkit.base.documents import Document
from olmkit.base.versions import InvalidRangeError, InvalidVersionError, Version, VersionRange
from olmkit.catalog.changes.filter_configuration import check_once
from olmkit.catalog.changes.inclusion import IncludedPackage, Inclusion, Versions
from olmkit.kube.objects import mapping, sequence, text

_VERSIONS: Final = {"name": str, "versions": [str], "bundles": [str], "range": str}
_SHAPE: Final = {"packages": [{**_VERSIONS, "channels": [_VERSIONS], "defaultChannel": str}]}


def read(document: Document) -> Inclusion:
    """Return the packages that the file lists, or raise `InputError`."""
    value = configuration.read(document, _SHAPE)
    packages = [mapping(one) for one in sequence(value.get("packages"))]
    if not packages:
        raise InputError(f"{document.at()}: no packages are named")
    check_once([_name(one, "a package") for one in packages], "package")
    return Inclusion(packages=tuple(map(_parse_package, packages)))


def _parse_package(package: Mapping[str, Any]) -> IncludedPackage:
    name = text(package.get("name"))
    place = f"package `{name}`"
    channels = [mapping(one) for one in sequence(package.get("channels"))]
    check_once([_name(one, f"a channel of {place}") for one in channels], f"{place}: channel")
    everywhere = _versions(package, place)
    listed = {
        (own := text(one.get("name"))): _versions(one, f"{place}, channel `{own}`")
        for one in channels
    }
    if everywhere.range is not None and any(one.range is not None for one in listed.values()):
        raise InputError(f"{place} has a range, and so has one of its channels")
    if everywhere.range is not None and listed:
        raise InputError(
            f"{place} has a range and channels",
            hint="write the range into each channel that it applies to",
        )
    return IncludedPackage(
        package=name,
        channels=listed,
        everywhere=everywhere,
        default_channel=text(package.get("defaultChannel")),
    )


def _versions(value: Mapping[str, Any], place: str) -> Versions:
    numbers = [text(one) for one in sequence(value.get("versions"))]
    bundles = tuple(text(one) for one in sequence(value.get("bundles")))
    written = text(value.get("range"))
    if written and (numbers or bundles):
        raise InputError(f"{place} has a range, which excludes versions and bundles")
    for number in numbers:
        try:
            Version.parse(number)
        except InvalidVersionError:
            raise InputError(f"{place}: `{number}` is not a semantic version") from None
    try:
        range_ = VersionRange.parse(written) if written else None
    except InvalidRangeError as error:
        raise InputError(f"{place}: {error.message}", error.hint) from None
    return Versions(numbers=tuple(numbers), bundles=bundles, range=range_)


def _name(value: Mapping[str, Any], noun: str) -> str:
    name = text(value.get("name"))
    if not name:
        raise InputError(f"{noun} has no name")
    return name
