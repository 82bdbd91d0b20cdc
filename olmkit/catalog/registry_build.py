"""From a valid catalog to what the registry API serves: an index and pieces.

One message is made for each bundle, whatever the number of its channels. Packages
are taken one after the other and blobs are read one at a time, so that a catalog of
any size needs little more memory than its text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from olmkit.base import json_reader, json_text
from olmkit.base.diagnostics import Diagnostic, Severity
from olmkit.base.protobuf import message, string, struct_message
from olmkit.catalog import blobs as blobs_
from olmkit.catalog import shapes, synthetic_csv, wire
from olmkit.catalog.blobs import Blob
from olmkit.catalog.registry_api import NAME, NAME_WORDS
from olmkit.catalog.registry_index import (
    API,
    BundleRecord,
    ChannelRecord,
    CustomRecord,
    EntryRecord,
    Index,
    PackageRecord,
)
from olmkit.catalog.shapes import Field, Object, Text

Append = Callable[[bytes], int]
"""Takes a piece; gives the offset where it lies."""

_PACKAGE: Final = "olm.package"
_GVK: Final = "olm.gvk"
_OBJECT: Final = "olm.bundle.object"
_CSV_METADATA: Final = "olm.csv.metadata"

_NAMED_VERSION: Final = Object(
    go="property.Package",
    fields=(Field("packageName", Text()), Field("version", Text()), Field("release", Text())),
)
_NAMED_RANGE: Final = Object(
    go="property.PackageRequired",
    fields=(Field("packageName", Text()), Field("versionRange", Text())),
)
_API: Final = Object(
    go="property.GVK",
    fields=(Field("group", Text()), Field("version", Text()), Field("kind", Text())),
)


class Builder:
    """Collects packages and custom blobs; `append` stores the pieces of messages."""

    def __init__(self, append: Append) -> None:
        self._append = append
        self._packages: dict[str, PackageRecord] = {}
        self._customs: list[CustomRecord] = []
        self.findings: list[Diagnostic] = []

    def add_custom(self, blob: Blob) -> None:
        """A blob of a schema that is not OLM's own."""
        for word, text in (("schema", blob.schema), ("package", blob.package)):
            if text and not NAME.fullmatch(text):
                self._find(
                    blob,
                    "SRV002",
                    "unservable-name",
                    f'invalid custom schema meta: invalid {word} "{text}": must match {NAME_WORDS}',
                    f"rename the {word}, or keep the blob out of catalogs that are served",
                    word,
                )
                return
        data = struct_message(blob.value)
        self._customs.append(CustomRecord(blob.schema, blob.package, self._append(data), len(data)))

    def add_package(self, blobs: Iterable[Blob]) -> None:
        """All blobs of one package, which are valid together."""
        package: dict[str, Any] = {}
        channels: list[dict[str, Any]] = []
        bundles: list[Blob] = []
        deprecations: dict[tuple[str, str], str] = {}
        for blob in blobs:
            match blob.schema:
                case wire.PACKAGE:
                    package = blob.fields
                case wire.CHANNEL:
                    channels.append(blob.fields)
                case wire.BUNDLE:
                    bundles.append(blob)
                case wire.DEPRECATIONS:
                    for entry in blob.fields["entries"] or ():
                        reference = entry["reference"]
                        deprecations[reference["schema"], reference["name"]] = entry["message"]
                case _:
                    self.add_custom(blob)
        records = [self._bundle(blob, package, deprecations) for blob in bundles]
        numbers = {record.name: number for number, record in enumerate(records)}
        name = package["name"]
        self._packages[name] = PackageRecord(
            name=name,
            default_channel=package["defaultChannel"],
            deprecation=deprecations.get((wire.PACKAGE, "")),
            bundles=tuple(records),
            channels=tuple(
                _channel(channel, numbers, deprecations)
                for channel in sorted(channels, key=lambda channel: channel["name"])
            ),
        )

    def finish(self) -> Index:
        return Index(
            packages=tuple(self._packages[name] for name in sorted(self._packages)),
            customs=tuple(self._customs),
        )

    def _bundle(
        self,
        blob: Blob,
        package: Mapping[str, Any],
        deprecations: Mapping[tuple[str, str], str],
    ) -> BundleRecord:
        fields = blob.fields
        properties = fields["properties"] or []
        objects = [
            blobs_.bundle_object(blob, fields, number)
            for number, item in enumerate(properties)
            if item["type"] == _OBJECT
        ]
        metadata = [item["value"] for item in properties if item["type"] == _CSV_METADATA]
        if len(metadata) > 1:
            self._find(
                blob,
                "SRV001",
                "several-csv-metadata",
                f'expected at most 1 property of type "{_CSV_METADATA}", found {len(metadata)}',
                "keep one of them",
                "properties",
            )
        brief, version, provided = _brief(fields, deprecations)
        csv = next((text for text in objects if _is_csv(text)), b"")
        if not csv and metadata:
            csv = synthetic_csv.csv_text(
                metadata[0],
                name=fields["name"],
                version=version,
                package_description=package["description"],
                package_icon=package["icon"],
                related_images=fields["relatedImages"] or (),
            )
            objects = objects or [csv]
        pieces = [brief, *(message(5, text) for text in objects)]
        inlined = sum(map(len, pieces)) - len(brief)
        if csv in objects:
            before = objects.index(csv)
            start = sum(map(len, pieces[: before + 2])) - len(csv)
        else:
            start = len(brief) + inlined
            pieces.append(csv)
        data = b"".join(pieces)
        return BundleRecord(
            name=fields["name"],
            has_image=bool(fields["image"]),
            provided=provided,
            offset=self._append(data),
            brief=len(brief),
            objects=inlined,
            length=len(data),
            csv_start=start,
            csv_length=len(csv),
        )

    def _find(self, blob: Blob, rule: str, name: str, message_: str, hint: str, *keys: str) -> None:
        self.findings.append(
            Diagnostic(
                rule=rule,
                name=name,
                severity=Severity.ERROR,
                message=message_,
                at=blob.at(*keys),
                subject=blob.name,
                hint=hint,
            )
        )


def _channel(
    channel: Mapping[str, Any],
    numbers: Mapping[str, int],
    deprecations: Mapping[tuple[str, str], str],
) -> ChannelRecord:
    entries = sorted(channel["entries"] or (), key=lambda entry: entry["name"])
    replaced = {entry["replaces"] for entry in entries}
    replaced.update(name for entry in entries for name in entry["skips"] or ())
    name = channel["name"]
    return ChannelRecord(
        name=name,
        # A valid channel has exactly one.
        head=next(entry["name"] for entry in entries if entry["name"] not in replaced),
        deprecation=deprecations.get((wire.CHANNEL, name)),
        entries=tuple(
            EntryRecord(
                bundle=numbers[entry["name"]],
                replaces=entry["replaces"],
                skips=tuple(entry["skips"] or ()),
                skip_range=entry["skipRange"],
            )
            for entry in entries
        ),
    )


def _brief(
    fields: Mapping[str, Any], deprecations: Mapping[tuple[str, str], str]
) -> tuple[bytes, str, tuple[API, ...]]:
    """The small fields of a `Bundle`; its version; what it provides."""
    parts = [string(1, fields["name"]), string(2, fields["package"]), string(6, fields["image"])]
    provided: list[API] = []
    version = ""
    for item in fields["properties"] or ():
        kind, value = item["type"], item["value"]
        if kind in (_OBJECT, _CSV_METADATA):
            continue
        text = json_text.compact(value, escape_html=False)
        match kind:
            case "olm.package":
                version = shapes.read(_NAMED_VERSION, value)["version"]
                parts.append(string(9, version))
            case "olm.package.required":
                wanted = shapes.read(_NAMED_RANGE, value)
                dependency = {
                    "packageName": wanted["packageName"],
                    "version": wanted["versionRange"],
                }
                written = json_text.compact(dependency, escape_html=False, sort=False)
                parts.append(_typed(11, _PACKAGE, written))
            case "olm.gvk":
                api = _api(value)
                provided.append(api)
                parts.append(message(7, _api_message(api)))
            case "olm.gvk.required":
                parts.append(message(8, _api_message(_api(value))))
                parts.append(_typed(11, _GVK, text))
            case _:
                pass
        parts.append(_typed(12, kind, text))
    words = deprecations.get((wire.BUNDLE, fields["name"]))
    if words is not None:
        parts.append(message(15, string(1, words)))
    return b"".join(parts), version, tuple(provided)


def _typed(number: int, kind: str, text: bytes) -> bytes:
    return message(number, string(1, kind) + message(2, text))


def _api(value: Any) -> API:
    read = shapes.read(_API, value)
    return read["group"], read["version"], read["kind"]


def _api_message(api: API) -> bytes:
    return b"".join(string(number, text) for number, text in enumerate(api, 1))


def _is_csv(text: bytes) -> bool:
    # Nearly all texts do without the word, and need not be read.
    if b"ClusterServiceVersion" not in text:
        return False
    found = shapes.read(_KIND, json_reader.read_doubles(text))
    return bool(found["kind"] == "ClusterServiceVersion")


_KIND: Final = Object(go="metav1.TypeMeta", fields=(Field("kind", Text()),))
