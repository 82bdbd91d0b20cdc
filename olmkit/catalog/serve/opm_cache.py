"""The cache that `opm serve` reads: its JSON form, which every release since 1.26 accepts.

opm does not parse a cache to check it: it compares the file `digest` with a checksum of the
catalog's files and the cache's files, including modes
(https://github.com/operator-framework/operator-registry/tree/master/pkg/cache). So the checksum is
that of the files as `olmkit.oci.layer` writes them: 0644 or 0755, folders 0755.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, Final

from olmkit.base.diagnostics import InputError
from olmkit.base.json import text as json_text
from olmkit.base.protobuf import fields
from olmkit.base.tree import Tree
from olmkit.catalog.blobs import wire
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.serve import go_archive
from olmkit.catalog.serve.registry_api import RegistryApi
from olmkit.catalog.serve.registry_index import ChannelRecord, PackageRecord

FOLDER: Final = "cache"
"""The folder in the cache folder that has the files."""

_MAX_NAME: Final = 255  # maximum number of bytes in a file name on Linux
_OLM: Final = (wire.PACKAGE, wire.CHANNEL, wire.BUNDLE, wire.DEPRECATIONS)
_API: Final = {1: "group", 2: "version", 3: "kind", 4: "plural"}
_TYPED: Final = {1: "type", 2: "value"}
# Number of a field of `Bundle` → its name, and the fields of its message; lists are in `_LISTS`.
_BUNDLE: Final[dict[int, tuple[str, dict[int, str] | None]]] = {
    1: ("csvName", None),
    2: ("packageName", None),
    3: ("channelName", None),
    4: ("csvJson", None),
    5: ("object", None),
    6: ("bundlePath", None),
    7: ("providedApis", _API),
    8: ("requiredApis", _API),
    9: ("version", None),
    10: ("skipRange", None),
    11: ("dependencies", _TYPED),
    12: ("properties", _TYPED),
    13: ("replaces", None),
    14: ("skips", None),
    15: ("deprecation", {1: "message"}),
}
_LISTS: Final = frozenset({5, 7, 8, 11, 12, 14})


def build(
    catalog: Tree, packages: Iterable[PackageRecord], registry: RegistryApi, blobs: Iterable[Blob]
) -> Tree:
    """Return the files of the cache folder for the files of a valid catalog.

    `packages`, `registry` and `blobs` are from the same catalog. Raises `InputError` for names that
    opm cannot use as file names.
    """
    files: dict[str, bytes] = {}
    details: dict[str, dict[str, Any]] = {}
    for blob in blobs:
        if blob.schema == wire.PACKAGE:
            details[blob.name] = blob.fields
        elif blob.schema not in _OLM:
            checksum = go_archive.checksum([blob.raw])
            place = "/".join(part for part in ("metas", blob.schema, blob.package) if part)
            # Without leading zeros, unlike the digest of all files.
            files[f"{place}/{checksum:x}.json"] = blob.raw
    index = {record.name: _package(record, details[record.name]) for record in packages}
    files["packages.json"] = json_text.compact(dict(sorted(index.items())), sort=False)
    for package, channel, name, data in registry.full_bundles():
        path = f"{package}_{channel}_{name}.json"
        if "/" in path or len(path.encode()) > _MAX_NAME:
            raise InputError(
                f"opm cannot cache bundle `{name}` of channel `{channel}`: "
                f"`{path}` cannot be the name of a file",
                hint="rename the channel or the bundle, or omit the cache",
            )
        if path in files:
            raise InputError(
                f"opm cannot cache bundle `{name}` of channel `{channel}`: "
                f"another bundle of package `{package}` has the file `{path}` too",
                hint="rename the channel or the bundle, or omit the cache",
            )
        files[path] = json_text.compact(_bundle(data), sort=False)
    cache = Tree(files)
    archives = (piece for tree in (catalog, cache) for piece in go_archive.write(tree))
    digest = f"{go_archive.checksum(archives):016x}"
    return cache.at(FOLDER).merge({"digest": digest.encode()})


def _bundle(data: bytes) -> dict[str, Any]:
    """Return a `Bundle` message as Go writes it: fields by number, without empty ones."""
    found: dict[int, Any] = {}
    for number, value in fields(data):
        _, inner = _BUNDLE[number]
        decoded = _text(value) if inner is None else _inner(value, inner)
        if number in _LISTS:
            found.setdefault(number, []).append(decoded)
        else:
            found[number] = decoded
    return {_BUNDLE[number][0]: value for number, value in sorted(found.items())}


def _inner(value: int | bytes, names: dict[int, str]) -> dict[str, str]:
    assert isinstance(value, bytes)  # noqa: S101 - such fields have no other kind
    return {names[number]: _text(part) for number, part in sorted(fields(value)) if part}


def _text(value: int | bytes) -> str:
    assert isinstance(value, bytes)  # noqa: S101 - the API has texts alone
    return value.decode()


def _package(record: PackageRecord, details: dict[str, Any]) -> dict[str, Any]:
    icon = details["icon"]
    if icon is not None:
        data = icon["base64data"] or b""
        icon = {
            "base64data": base64.b64encode(data).decode() if isinstance(data, bytes) else data,
            "mediatype": icon["mediatype"] or "",
        }
    return {
        "name": record.name,
        "description": details["description"] or "",
        "icon": icon,
        "defaultChannel": record.default_channel,
        "Channels": {channel.name: _channel(record, channel) for channel in record.channels},
        **_deprecation(record.deprecation),
    }


def _channel(package: PackageRecord, channel: ChannelRecord) -> dict[str, Any]:
    names = ((package.bundles[entry.bundle].name, entry) for entry in channel.entries)
    return {
        "Name": channel.name,
        "Head": channel.head,
        "Bundles": {
            name: {
                "package": package.name,
                "channel": channel.name,
                "name": name,
                "replaces": entry.replaces,
                "skips": list(entry.skips) or None,
            }
            for name, entry in sorted(names, key=lambda pair: pair[0])
        },
        **_deprecation(channel.deprecation),
    }


def _deprecation(text: str | None) -> dict[str, Any]:
    return {} if text is None else {"deprecation": {"message": text}}
