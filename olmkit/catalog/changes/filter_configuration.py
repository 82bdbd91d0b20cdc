"""The parts of catalogs to keep, from the configuration files of other tools.

An `ImageSetConfiguration` of oc-mirror names catalogs with packages, channels and lowest and
highest versions; a `FilterConfiguration` of catalog-filter describes one catalog and has ranges.
Both are read as oc-mirror reads its own: keys in any case, unknown keys refused. Their keys:
oc-mirror's types `mirror.openshift.io/v1alpha2` and `v2alpha1`, catalog-filter's types
`olm.operatorframework.io/filter/mirror/v1alpha1`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from olmkit.base import configuration
from olmkit.base.diagnostics import InputError
from olmkit.base.documents import Document
from olmkit.base.version_constraints import VersionConstraint
from olmkit.base.versions import Version
from olmkit.catalog.changes.filtering import PackageSelection
from olmkit.kube.objects import mapping, sequence, text

IMAGE_SET = "ImageSetConfiguration"
FILTER = "FilterConfiguration"

_VERSIONS: Final = {
    IMAGE_SET: ("mirror.openshift.io/v1alpha2", "mirror.openshift.io/v2alpha1"),
    FILTER: ("olm.operatorframework.io/filter/mirror/v1alpha1",),
}
_HEAD: Final = {"apiVersion": str, "kind": str}
_BOUNDS: Final = {"name": str, "minVersion": str, "maxVersion": str, "minBundle": str}
_OPERATOR: Final = {
    "catalog": str,
    "packages": [
        {**_BOUNDS, "defaultChannel": str, "channels": [_BOUNDS], "bundles": [{"name": str}]}
    ],
    "full": bool,
    "targetName": str,
    "targetCatalog": str,
    "targetTag": str,
    "targetCatalogSourceTemplate": str,
    "originalRef": str,
    "skipDependencies": bool,
    "platforms": [object],
}
_SHAPES: Final = {
    IMAGE_SET: {
        **_HEAD,
        "mirror": {
            "platform": object,
            "operators": [_OPERATOR],
            "additionalImages": [object],
            "helm": object,
            "blockedImages": [object],
            "samples": [object],
        },
        "archiveSize": int,
        "storageConfig": object,
    },
    FILTER: {
        **_HEAD,
        "packages": [
            {
                "name": str,
                "defaultChannel": str,
                "versionRange": str,
                "channels": [{"name": str, "versionRange": str}],
                "bundles": [{"name": str}],
            }
        ],
    },
}


def read(document: Document, reference: str) -> tuple[PackageSelection, ...]:
    """Return the parts of the catalog to keep; a part without a package applies to all.

    Raises `InputError` if the document has another kind, an unknown key or a wrong type, does not
    name that catalog, or contradicts itself.
    """
    kind = next(
        (one for key, one in mapping(document.value).items() if str(key).lower() == "kind"), None
    )
    if kind not in _SHAPES:
        raise InputError(
            f"{document.at()}: expected {IMAGE_SET} or {FILTER}",
            hint="pass a configuration file of oc-mirror or catalog-filter",
        )
    value = configuration.read(document, _SHAPES[kind])
    version = value.get("apiVersion", _VERSIONS[kind][0])
    if version not in _VERSIONS[kind]:
        raise InputError(
            f"{document.at('apiVersion')}: unknown version `{version}` of {kind}",
            hint=f"use one of {', '.join(f'`{one}`' for one in _VERSIONS[kind])}",
        )
    if kind == FILTER:
        found = _parse_selections(sequence(value.get("packages")), is_full=False)
        if not found:
            raise InputError(f"{document.at()}: no packages are named")
        return found
    operator = _operator(
        document, sequence(mapping(value.get("mirror")).get("operators")), reference
    )
    is_full = operator.get("full") is True
    packages = sequence(operator.get("packages"))
    return _parse_selections(packages, is_full=is_full) or (
        PackageSelection(package="", is_full=is_full),
    )


def _operator(
    document: Document, listed: Sequence[Mapping[str, Any]], reference: str
) -> Mapping[str, Any]:
    """Return the entry for the catalog: the only one, or the one with that name."""
    named = [one for one in listed if one.get("catalog") == reference]
    if len(named) > 1:
        raise InputError(f"{document.at()}: catalog `{reference}` is listed more than once")
    found = named or (listed if len(listed) == 1 else [])
    if not found:
        names = ", ".join(f"`{one.get('catalog', '')}`" for one in listed)
        raise InputError(
            f"{document.at()}: the file does not name the catalog `{reference}`",
            hint=f"it names {names or 'no catalog'}",
        )
    return found[0]


def _parse_selections(packages: Sequence[Any], *, is_full: bool) -> tuple[PackageSelection, ...]:
    found = tuple(_parse_selection(mapping(one), is_full=is_full) for one in packages)
    check_once([one.package for one in found], "package")
    return found


def _parse_selection(package: Mapping[str, Any], *, is_full: bool) -> PackageSelection:
    name = text(package.get("name"))
    if not name:
        raise InputError("a package has no name")
    listed = [mapping(one) for one in sequence(package.get("channels"))]
    names = [text(one.get("name")) for one in listed]
    if "" in names:
        raise InputError(f"a channel of package `{name}` has no name")
    check_once(names, f"package `{name}`: channel")
    channels = {text(one.get("name")): _range(one, name) for one in listed}
    range_ = _range(package, name)
    if range_ is not None and any(channels.values()):
        raise InputError(f"package `{name}` has versions, and so has one of its channels")
    if is_full and (range_ is not None or any(channels.values())):
        raise InputError(f"package `{name}` has versions, and the catalog is `full`")
    return PackageSelection(
        package=name,
        default_channel=text(package.get("defaultChannel")),
        range=range_,
        channels=channels,
        bundles=tuple(
            text(one.get("name")) for one in map(mapping, sequence(package.get("bundles")))
        ),
        is_full=is_full,
    )


def check_once(names: Sequence[str], noun: str) -> None:
    """Raise `InputError` for a name that is listed twice."""
    twice = next((one for one in names if names.count(one) > 1), "")
    if twice:
        raise InputError(f"{noun} `{twice}` is listed more than once")


def _range(value: Mapping[str, Any], package: str) -> VersionConstraint | None:
    if value.get("minBundle"):
        raise InputError(
            f"package `{package}`: `minBundle` is not supported",
            hint="write the version of that bundle as `minVersion`",
        )
    words = text(value.get("versionRange"))
    ends = [
        (sign, text(value.get(key))) for sign, key in ((">=", "minVersion"), ("<=", "maxVersion"))
    ]
    for _, version in ends:
        if version and Version.read(version.removeprefix("v")) is None:
            raise InputError(f"package `{package}`: `{version}` is not a semantic version")
    terms = [words] * bool(words) + [f"{sign}{version}" for sign, version in ends if version]
    if not terms:
        return None
    try:
        return VersionConstraint.parse(", ".join(terms))
    except InputError as error:
        raise InputError(f"package `{package}`: {error.message}") from None
