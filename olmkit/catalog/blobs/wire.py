"""The fields of OLM's four schemas, with their order and types.

Their meaning is in `olmkit.catalog.model`. A blob of any other schema has no shape and is kept
unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from olmkit.catalog.blobs.shapes import AnyValue, Bytes, Field, ListOf, Object, Text

PACKAGE: Final = "olm.package"
CHANNEL: Final = "olm.channel"
BUNDLE: Final = "olm.bundle"
DEPRECATIONS: Final = "olm.deprecations"

_TEXT: Final = Text()
_PROPERTIES: Final = ListOf(
    Object(go="property.Property", fields=(Field("type", _TEXT), Field("value", AnyValue()))),
    "[]property.Property",
)
_ICON: Final = Object(
    go="declcfg.Icon",
    fields=(Field("base64data", Bytes()), Field("mediatype", _TEXT)),
    optional=True,
)
_ENTRY: Final = Object(
    go="declcfg.ChannelEntry",
    fields=(
        Field("name", _TEXT),
        Field("replaces", _TEXT, omit=True),
        Field("skips", ListOf(_TEXT, "[]string"), omit=True),
        Field("skipRange", _TEXT, omit=True),
    ),
)
RELATED_IMAGE: Final = Object(
    go="declcfg.RelatedImage", fields=(Field("name", _TEXT), Field("image", _TEXT))
)
_REFERENCE: Final = Object(
    go="declcfg.PackageScopedReference",
    fields=(Field("schema", _TEXT), Field("name", _TEXT, omit=True)),
)
_DEPRECATION_ENTRY: Final = Object(
    go="declcfg.DeprecationEntry",
    fields=(Field("reference", _REFERENCE), Field("message", _TEXT)),
)

SHAPES: Final[Mapping[str, Object]] = {
    PACKAGE: Object(
        go="declcfg.Package",
        fields=(
            Field("schema", _TEXT),
            Field("name", _TEXT),
            Field("defaultChannel", _TEXT),
            Field("icon", _ICON, omit=True),
            Field("description", _TEXT, omit=True),
            Field("properties", _PROPERTIES, omit=True),
        ),
    ),
    CHANNEL: Object(
        go="declcfg.Channel",
        fields=(
            Field("schema", _TEXT),
            Field("name", _TEXT),
            Field("package", _TEXT),
            Field("entries", ListOf(_ENTRY, "[]declcfg.ChannelEntry")),
            Field("properties", _PROPERTIES, omit=True),
        ),
    ),
    BUNDLE: Object(
        go="declcfg.Bundle",
        fields=(
            Field("schema", _TEXT),
            Field("name", _TEXT, omit=True),
            Field("package", _TEXT, omit=True),
            Field("image", _TEXT),
            Field("properties", _PROPERTIES, omit=True),
            Field("relatedImages", ListOf(RELATED_IMAGE, "[]declcfg.RelatedImage"), omit=True),
        ),
    ),
    DEPRECATIONS: Object(
        go="declcfg.Deprecation",
        fields=(
            Field("schema", _TEXT),
            Field("package", _TEXT),
            Field("entries", ListOf(_DEPRECATION_ENTRY, "[]declcfg.DeprecationEntry")),
        ),
    ),
}

BUNDLE_OBJECT: Final = Object(go="property.BundleObject", fields=(Field("data", Bytes()),))

# The names of these types in the reference's messages.
PARSED_AS: Final[Mapping[str, str]] = {
    PACKAGE: "package",
    CHANNEL: "channel",
    BUNDLE: "bundle",
    DEPRECATIONS: "deprecation",
}
