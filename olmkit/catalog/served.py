"""A catalog as its server lists it over `api.Registry`, read back into the model.

OLM's resolver sees exactly the contents of these responses: packages with their default channels,
and one bundle for each entry of a channel, with its edges.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from olmkit.catalog import model
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.model import Catalog

Answer = Mapping[str, Any]

_LEFT_OUT = ("olm.package", "olm.bundle.object", "olm.csv.metadata")


def catalog(packages: Iterable[Answer], bundles: Iterable[Answer]) -> Catalog:
    """Return the catalog from the responses of `GetPackage` and `ListBundles`, as protobuf JSON.

    Raises `InputError` if the responses do not match.
    """
    return model.from_blobs(Blob.of(value) for value in blobs(list(packages), list(bundles)))


def blobs(packages: Iterable[Answer], bundles: Iterable[Answer]) -> Iterator[dict[str, Any]]:
    """Yield the values of the catalog's blobs, from the same responses."""
    for answer in packages:
        yield {
            "schema": "olm.package",
            "name": _text(answer, "name"),
            "defaultChannel": _text(answer, "defaultChannelName"),
        }
    channels: dict[tuple[str, str], list[dict[str, Any]]] = {}
    versions: dict[tuple[str, str], Answer] = {}
    for bundle in bundles:
        package, name = _text(bundle, "packageName"), _text(bundle, "csvName")
        versions.setdefault((package, name), bundle)
        channels.setdefault((package, _text(bundle, "channelName")), []).append(_entry(bundle))
    for (package, name), entries in channels.items():
        yield {"schema": "olm.channel", "package": package, "name": name, "entries": entries}
    for (package, name), bundle in versions.items():
        own = {"packageName": package, "version": _text(bundle, "version")}
        yield {
            "schema": "olm.bundle",
            "package": package,
            "name": name,
            "image": _text(bundle, "bundlePath"),
            "properties": [{"type": "olm.package", "value": own}, *_properties(bundle)],
        }


def _properties(bundle: Answer) -> Iterator[dict[str, Any]]:
    """Yield the properties of a bundle, without its own package and its objects.

    The value of a property is JSON in a string. One that is not JSON stays a string, which the
    resolver reports.
    """
    for one in bundle.get("properties") or ():
        kind, value = _text(one, "type"), _text(one, "value")
        if kind not in ("", *_LEFT_OUT):
            with contextlib.suppress(ValueError, RecursionError):
                value = json.loads(value)
            yield {"type": kind, "value": value}


def _entry(bundle: Answer) -> dict[str, Any]:
    found: dict[str, Any] = {"name": _text(bundle, "csvName")}
    for field, key in (("replaces", "replaces"), ("skipRange", "skipRange")):
        if bundle.get(field):
            found[key] = str(bundle[field])
    if bundle.get("skips"):
        found["skips"] = [str(name) for name in bundle["skips"]]
    return found


def _text(answer: Answer, field: str) -> str:
    return str(answer.get(field, ""))
