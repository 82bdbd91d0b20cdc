"""Create a ClusterServiceVersion from the data in a catalog about a bundle.

A bundle without inlined manifests has one `olm.csv.metadata` property. Readers of
`PackageManifest`s parse a whole ClusterServiceVersion, so one is created from that property: text
with the same order and the same empty fields as Go's types, because clients compare it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from olmkit.base.json import text as json_text


class _Field(NamedTuple):
    """A field of one of Go's types. `keep`: it is written even if it is empty."""

    name: str
    kind: str
    keep: bool = False


# Kinds: `s` string, `b` boolean, `i` integer, `v` any value, `[]X` a list, `{}s` a map of strings,
# else the name of a type below. The order of fields is the order of writing.
_DESCRIPTOR: Final = (
    _Field("path", "s", keep=True),
    _Field("displayName", "s"),
    _Field("description", "s"),
    _Field("x-descriptors", "[]s"),
    _Field("value", "v"),
)
_DESCRIBED: Final = (
    _Field("displayName", "s"),
    _Field("description", "s"),
    _Field("resources", "[]resource"),
    _Field("statusDescriptors", "[]descriptor"),
    _Field("specDescriptors", "[]descriptor"),
    _Field("actionDescriptors", "[]descriptor"),
)
_TYPES: Final[Mapping[str, tuple[_Field, ...]]] = {
    "descriptor": _DESCRIPTOR,
    "resource": (
        _Field("name", "s", keep=True),
        _Field("kind", "s", keep=True),
        _Field("version", "s", keep=True),
    ),
    "crd": (
        _Field("name", "s", keep=True),
        _Field("version", "s", keep=True),
        _Field("kind", "s", keep=True),
        *_DESCRIBED,
    ),
    "crds": (_Field("owned", "[]crd"), _Field("required", "[]crd")),
    "apiservice": (
        _Field("name", "s", keep=True),
        _Field("group", "s", keep=True),
        _Field("version", "s", keep=True),
        _Field("kind", "s", keep=True),
        _Field("deploymentName", "s"),
        _Field("containerPort", "i"),
        *_DESCRIBED,
    ),
    "apiservices": (_Field("owned", "[]apiservice"), _Field("required", "[]apiservice")),
    "gvk": (
        _Field("group", "s", keep=True),
        _Field("version", "s", keep=True),
        _Field("kind", "s", keep=True),
    ),
    "maintainer": (_Field("name", "s"), _Field("email", "s")),
    "link": (_Field("name", "s"), _Field("url", "s")),
    "mode": (_Field("type", "s", keep=True), _Field("supported", "b", keep=True)),
    "metadata": (
        _Field("annotations", "{}s"),
        _Field("apiServiceDefinitions", "apiservices", keep=True),
        _Field("crdDescriptions", "crds", keep=True),
        _Field("description", "s"),
        _Field("displayName", "s", keep=True),
        _Field("installModes", "[]mode"),
        _Field("keywords", "[]s"),
        _Field("labels", "{}s"),
        _Field("links", "[]link"),
        _Field("maintainers", "[]maintainer"),
        _Field("maturity", "s"),
        _Field("minKubeVersion", "s"),
        _Field("nativeAPIs", "[]gvk"),
        _Field("provider", "link", keep=True),
    ),
}
_NAMES: Final = {name: {field.name for field in fields} for name, fields in _TYPES.items()}
_ZERO: Final[Mapping[str, Any]] = {"s": "", "b": False, "i": 0}


def csv_text(
    metadata: Any,
    *,
    name: str,
    version: str,
    package_description: str,
    package_icon: Mapping[str, Any] | None,
    related_images: Sequence[Mapping[str, Any]],
) -> bytes:
    """Return the JSON text of the ClusterServiceVersion.

    `metadata` is the value of the `olm.csv.metadata` property. Values of a wrong type, which
    validation refuses, count as empty.
    """
    given = _read_shape(metadata, "metadata")
    description = given.get("description") or package_description
    spec = {
        "install": {"strategy": "deployment", "spec": {"deployments": None}},
        "version": version,
        **_select(given, "maturity"),
        "customresourcedefinitions": given["crdDescriptions"],
        "apiservicedefinitions": given["apiServiceDefinitions"],
        **_select(given, "nativeAPIs", "minKubeVersion"),
        "displayName": given["displayName"],
        **({"description": description} if description else {}),
        **_select(given, "keywords", "maintainers"),
        "provider": given["provider"],
        **_select(given, "links"),
        **({"icon": [_icon(package_icon)]} if package_icon is not None else {}),
        **_select(given, "installModes"),
        "cleanup": {"enabled": False},
    }
    if related_images:
        spec["relatedImages"] = [
            {"name": _text(image.get("name")), "image": _text(image.get("image"))}
            for image in related_images
        ]
    csv = {
        "kind": "ClusterServiceVersion",
        "apiVersion": "operators.coreos.com/v1alpha1",
        "metadata": {"name": name, **_select(given, "labels", "annotations")},
        "spec": spec,
        "status": {"cleanup": {}},
    }
    return json_text.compact(csv, sort=False)


def dump_metadata(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of an `olm.csv.metadata` property, with its known fields in order."""
    shaped = _read_shape(dict(value), "metadata")
    if not shaped["displayName"]:
        del shaped["displayName"]
    return shaped


def _icon(icon: Mapping[str, Any]) -> dict[str, str]:
    data = _text(icon.get("base64data"))
    try:
        data = base64.b64encode(base64.b64decode(data)).decode()
    except (binascii.Error, ValueError):
        data = ""
    return {"base64data": data, "mediatype": _text(icon.get("mediatype"))}


def _select(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def _read_shape(value: Any, type_name: str) -> dict[str, Any]:
    given = value if isinstance(value, dict) else {}
    fields = _TYPES[type_name]
    names = _NAMES[type_name]
    if not names.issuperset(given):
        # Go finds fields regardless of case, and prefers the exact name.
        folded = {name.casefold(): name for name in names}
        found = {folded.get(key.casefold(), key): item for key, item in given.items()}
        given = {**found, **{key: item for key, item in given.items() if key in names}}
    shaped: dict[str, Any] = {}
    for name, kind, keep in fields:
        if name not in given:
            if keep:
                shaped[name] = _read_type(None, kind)
        elif kind == "v":
            shaped[name] = _sort_keys(given[name])
        else:
            item = _read_type(given[name], kind)
            if item or keep:
                shaped[name] = item
    return shaped


def _read_type(value: Any, kind: str) -> Any:
    zero = _ZERO.get(kind)
    if zero is not None:
        return value if type(value) is type(zero) else zero
    if kind.startswith("[]"):
        return [_read_type(item, kind[2:]) for item in value] if isinstance(value, list) else []
    if kind == "{}s":
        given = value if isinstance(value, dict) else {}
        return {key: _text(item) for key, item in sorted(given.items())}
    return _read_shape(value, kind)


def _sort_keys(value: Any) -> Any:
    """Return `value` with sorted keys in all mappings, as catalogs are read."""
    if isinstance(value, dict):
        return {key: _sort_keys(item) for key, item in sorted(value.items())}
    if isinstance(value, list):
        return [_sort_keys(item) for item in value]
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
