"""Build the index and the messages of the registry API from a valid catalog.

One message is built for each bundle, regardless of the number of its channels. Packages are
processed one after the other and blobs are read one at a time, so that a catalog of any size needs
little more memory than its text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from olmkit.base import findings
from olmkit.base.diagnostics import Diagnostic, Location
from olmkit.base.json import reader as json_reader
from olmkit.base.json import text as json_text
from olmkit.base.protobuf import message, string, struct_message
from olmkit.catalog.blobs import blob as blobs_
from olmkit.catalog.blobs import properties, shapes, wire
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.blobs.outline import BlobPlace, CustomOutline
from olmkit.catalog.blobs.shapes import Field, Object, Text
from olmkit.catalog.bundles import synthetic_csv
from olmkit.catalog.graph import links as graph
from olmkit.catalog.model import Bundle, Catalog, Channel, Package
from olmkit.catalog.serve.registry_api import NAME, NAME_WORDS
from olmkit.catalog.serve.registry_index import (
    API,
    BundleRecord,
    ChannelRecord,
    CustomRecord,
    EntryRecord,
    Index,
    PackageRecord,
)

_KIND: Final = Object(go="metav1.TypeMeta", fields=(Field("kind", Text()),))

Append = Callable[[bytes], int]
"""Stores a piece and returns its offset."""

Content = Callable[[BlobPlace, str], Blob]
"""Returns the blob with a schema at a place."""


def build(
    catalog: Catalog, content: Content, append: Append
) -> tuple[Index, tuple[Diagnostic, ...]]:
    """Return the index of a valid catalog, and why it cannot be served.

    `append` stores pieces, which are useful only if there is no such reason.
    """
    builder = _Builder(content, append)
    for custom in catalog.outlines.customs:
        builder.add_custom(custom)
    for package in catalog.packages.values():
        builder.add_package(package)
    return builder.finish(), tuple(builder.findings)


class _Builder:
    """Collects packages and custom blobs."""

    def __init__(self, content: Content, append: Append) -> None:
        self._content = content
        self._append = append
        self._packages: dict[str, PackageRecord] = {}
        self._customs: list[CustomRecord] = []
        self.findings: list[Diagnostic] = []

    def add_custom(self, custom: CustomOutline) -> None:
        """Add a blob of a schema that is not OLM's own."""
        for word, text in (("schema", custom.schema), ("package", custom.package)):
            if text and not NAME.fullmatch(text):
                self._find(
                    "SRV002",
                    f'invalid custom schema meta: invalid {word} "{text}": must match {NAME_WORDS}',
                    at=custom.place.at(word),
                    hint=f"rename the {word}, or keep the blob out of catalogs that are served",
                )
                return
        blob = self._content(custom.place, custom.schema)
        data = struct_message(blob.value)
        self._customs.append(
            CustomRecord(custom.schema, custom.package, self._append(data), len(data))
        )

    def add_package(self, package: Package) -> None:
        """Add a valid package."""
        fields = self._content(package.place, wire.PACKAGE).fields
        records = [self._bundle(bundle, fields) for bundle in package.bundles.values()]
        numbers = {record.name: number for number, record in enumerate(records)}
        self._packages[package.name] = PackageRecord(
            name=package.name,
            default_channel=package.default_channel,
            deprecation=package.deprecation,
            bundles=tuple(records),
            channels=tuple(
                _channel(channel, numbers) for _, channel in sorted(package.channels.items())
            ),
        )

    def finish(self) -> Index:
        return Index(
            packages=tuple(self._packages[name] for name in sorted(self._packages)),
            customs=tuple(self._customs),
        )

    def _bundle(self, bundle: Bundle, package: Mapping[str, Any]) -> BundleRecord:
        blob = self._content(bundle.place, wire.BUNDLE)
        fields = blob.fields
        given = fields["properties"] or []
        objects = [
            blobs_.bundle_object(blob, fields, number)
            for number, item in enumerate(given)
            if item["type"] == properties.OBJECT
        ]
        metadata = [
            (number, item["value"])
            for number, item in enumerate(given)
            if item["type"] == properties.CSV_METADATA
        ]
        if len(metadata) > 1:
            self._find(
                "SRV001",
                f'expected at most 1 property of type "{properties.CSV_METADATA}", '
                f"found {len(metadata)}",
                at=bundle.place.at("properties", metadata[1][0], "type"),
                subject=f"package `{bundle.package}`, bundle `{bundle.name}`",
                hint="keep one of them",
            )
        brief, version, provided = _brief(fields, bundle.deprecation)
        csv = next((text for text in objects if _is_csv(text)), b"")
        if not csv and metadata:
            csv = synthetic_csv.csv_text(
                metadata[0][1],
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

    def _find(self, code: str, message: str, *, at: Location, hint: str, subject: str = "") -> None:
        found = findings.create(code, message, at=at, subject=subject, hint=hint)
        self.findings.append(found)


def _channel(channel: Channel, numbers: Mapping[str, int]) -> ChannelRecord:
    head = graph.head(channel)
    return ChannelRecord(
        name=channel.name,
        head=head.name if head else "",  # a valid channel has one
        deprecation=channel.deprecation,
        entries=tuple(
            EntryRecord(
                bundle=numbers[name],
                replaces=entry.replaces,
                skips=entry.skips,
                skip_range=entry.skip_range,
            )
            for name, entry in sorted(channel.entries.items())
        ),
    )


def _brief(
    fields: Mapping[str, Any], deprecation: str | None
) -> tuple[bytes, str, tuple[API, ...]]:
    """Return the small fields of a `Bundle`, its version, and what it provides."""
    parts = [string(1, fields["name"]), string(2, fields["package"]), string(6, fields["image"])]
    provided: list[API] = []
    version = ""
    for item in fields["properties"] or ():
        kind, value = item["type"], item["value"]
        if kind in (properties.OBJECT, properties.CSV_METADATA):
            continue
        text = json_text.compact(value, escape_html=False)
        match kind:
            case "olm.package":
                version = _read(kind, value)["version"]
                parts.append(string(9, version))
            case "olm.package.required":
                wanted = _read(kind, value)
                dependency = {
                    "packageName": wanted["packageName"],
                    "version": wanted["versionRange"],
                }
                written = json_text.compact(dependency, escape_html=False, sort=False)
                parts.append(_typed_message(11, properties.PACKAGE, written))
            case "olm.gvk":
                api = _api(kind, value)
                provided.append(api)
                parts.append(message(7, _api_message(api)))
            case "olm.gvk.required":
                parts.append(message(8, _api_message(_api(kind, value))))
                parts.append(_typed_message(11, properties.GVK, text))
            case _:
                pass
        parts.append(_typed_message(12, kind, text))
    if deprecation is not None:
        parts.append(message(15, string(1, deprecation)))
    return b"".join(parts), version, tuple(provided)


def _typed_message(number: int, kind: str, text: bytes) -> bytes:
    return message(number, string(1, kind) + message(2, text))


def _read(kind: str, value: Any) -> dict[str, Any]:
    return shapes.read(properties.SHAPES[kind], value)


def _api(kind: str, value: Any) -> API:
    read = _read(kind, value)
    return read["group"], read["version"], read["kind"]


def _api_message(api: API) -> bytes:
    return b"".join(string(number, text) for number, text in enumerate(api, 1))


def _is_csv(text: bytes) -> bool:
    # Nearly all texts do not contain the word, and need not be parsed.
    if b"ClusterServiceVersion" not in text:
        return False
    found = shapes.read(_KIND, json_reader.read_doubles(text))
    return bool(found["kind"] == "ClusterServiceVersion")
