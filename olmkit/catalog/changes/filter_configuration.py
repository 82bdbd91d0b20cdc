"""What to keep of catalogs, as files of other tools say it.

An `ImageSetConfiguration` of oc-mirror names catalogs with packages, channels and lowest and
highest versions; a `FilterConfiguration` of catalog-filter is of one catalog and has ranges.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmkit.base.diagnostics import InputError
from olmkit.base.documents import Document
from olmkit.base.version_constraints import VersionConstraint
from olmkit.catalog.changes.filtering import Wanted
from olmkit.kube.objects import mapping, sequence, text

IMAGE_SET = "ImageSetConfiguration"
FILTER = "FilterConfiguration"


def read(document: Document, reference: str) -> tuple[Wanted, ...]:
    """What is wanted of the catalog `reference`; all packages are in the result.

    Raises `InputError` when the document is neither kind, says nothing of that catalog, or
    says what cannot be together.
    """
    value = document.value
    kind = mapping(value).get("kind")
    if kind == FILTER:
        packages, is_full = sequence(mapping(value).get("packages")), False
    elif kind == IMAGE_SET:
        operator = _operator(document, reference)
        packages, is_full = sequence(operator.get("packages")), operator.get("full") is True
    else:
        raise InputError(
            f"{document.at()}: this is neither {IMAGE_SET} nor {FILTER}",
            hint="give the file that oc-mirror or catalog-filter takes",
        )
    found = tuple(_wanted(mapping(one), is_full=is_full) for one in packages)
    if not found:
        raise InputError(f"{document.at()}: no packages are named")
    return found


def _operator(document: Document, reference: str) -> Mapping[str, Any]:
    """What is said of the catalog, which is the only one or has that name."""
    listed = [
        mapping(one) for one in sequence(mapping(document.value.get("mirror")).get("operators"))
    ]
    named = [one for one in listed if one.get("catalog") == reference]
    found = named or (listed if len(listed) == 1 else [])
    if not found:
        raise InputError(
            f"{document.at()}: it says nothing of `{reference}`",
            hint=f"it names {', '.join(str(one.get('catalog')) for one in listed) or 'no catalog'}",
        )
    return found[0]


def _wanted(package: Mapping[str, Any], *, is_full: bool) -> Wanted:
    name = text(package.get("name"))
    if not name:
        raise InputError("a package without a name is asked for")
    channels = {
        text(one.get("name")): _range(one, name)
        for one in map(mapping, sequence(package.get("channels")))
    }
    range_ = _range(package, name)
    if range_ is not None and any(channels.values()):
        raise InputError(f"package `{name}` has versions, and so has one of its channels")
    if is_full and (range_ is not None or any(channels.values())):
        raise InputError(f"of package `{name}` all is wanted, and versions, too")
    return Wanted(
        package=name,
        default_channel=text(package.get("defaultChannel")),
        range=range_,
        channels=channels,
        bundles=tuple(
            text(one.get("name")) for one in map(mapping, sequence(package.get("bundles")))
        ),
        is_full=is_full,
    )


def _range(value: Mapping[str, Any], package: str) -> VersionConstraint | None:
    words = text(value.get("versionRange"))
    least, most = text(value.get("minVersion")), text(value.get("maxVersion"))
    terms = [words] * bool(words) + [f">={least}"] * bool(least) + [f"<={most}"] * bool(most)
    if not terms:
        return None
    try:
        return VersionConstraint.parse(", ".join(terms))
    except InputError as error:
        raise InputError(f"package `{package}`: {error.message}") from None
