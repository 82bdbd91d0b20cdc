"""Properties of bundles: what a bundle provides, requires and is.

A property is a type and any JSON value. The types that OLM knows are parsed into values here, with
the same errors as Go's decoder. Large values (inlined manifests, the metadata of a CSV) are checked
but not kept, so that a whole catalog needs little memory; all other values are kept as JSON text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec

from olmkit.base.documents import Key
from olmkit.base.json import reader as json_reader
from olmkit.base.json import text as json_text
from olmkit.catalog.blobs import shapes, wire
from olmkit.catalog.blobs.shapes import (
    AnyValue,
    Field,
    ListOf,
    Object,
    ShapeError,
    Text,
    TextMap,
    Truth,
    Whole,
)
from olmkit.kube import objects

PACKAGE: Final = "olm.package"
PACKAGE_REQUIRED: Final = "olm.package.required"
GVK: Final = "olm.gvk"
GVK_REQUIRED: Final = "olm.gvk.required"
OBJECT: Final = "olm.bundle.object"
CSV_METADATA: Final = "olm.csv.metadata"
CHANNEL: Final = "olm.channel"
LABEL: Final = "olm.label"
LABEL_REQUIRED: Final = "olm.label.required"
CONSTRAINT: Final = "olm.constraint"
DEPRECATED: Final = "olm.deprecated"
REQUIREMENTS: Final = (GVK_REQUIRED, PACKAGE_REQUIRED, LABEL_REQUIRED, CONSTRAINT)
MAX_OPENSHIFT: Final = "olm.maxOpenShiftVersion"


@dataclass(frozen=True, slots=True)
class Property:
    """An unparsed property: its type, its value as JSON text, and its number."""

    type: str
    text: bytes
    index: int

    @property
    def value(self) -> Any:
        return json_reader.read_doubles(self.text)


@dataclass(frozen=True, slots=True)
class PackageIdentity:
    """The package and the version of a bundle, as written.

    `index` is the number of the property.
    """

    package: str
    version: str
    release: str
    index: int


@dataclass(frozen=True, slots=True)
class PackageRequirement:
    """A required package with a range of versions."""

    package: str
    version_range: str
    index: int


@dataclass(frozen=True, slots=True)
class Fault:
    """An invalid property: its index, the path to the error, and Go's message."""

    index: int
    keys: tuple[Key, ...]
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Properties:
    """The parsed properties of one bundle. `others` are unparsed.

    `order` has the types of all properties in order, except large ones. `min_kube_version` is that
    of the metadata of the CSV; empty if there is none.
    """

    identities: tuple[PackageIdentity, ...] = ()
    required_packages: tuple[PackageRequirement, ...] = ()
    provided: tuple[objects.GVK, ...] = ()
    required: tuple[objects.GVK, ...] = ()
    others: tuple[Property, ...] = ()
    objects: int = 0
    metadata: int = 0
    min_kube_version: str = ""
    faults: tuple[Fault, ...] = ()
    order: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Yield type and value of each property, in order, except large and invalid ones."""
        parts: dict[str, Iterator[Any]] = {
            PACKAGE: map(_identity_value, self.identities),
            PACKAGE_REQUIRED: map(_requirement_value, self.required_packages),
            GVK: map(objects.GVK._asdict, self.provided),
            GVK_REQUIRED: map(objects.GVK._asdict, self.required),
        }
        others = iter(self.others)
        for type_ in self.order:
            yield type_, next(parts[type_]) if type_ in parts else next(others).value


class BrokenTextError(ValueError):
    """A value is not JSON text."""


ValueText = bytes | msgspec.Raw | None
"""Returns the JSON text of a value; None if there is none."""


def check_json(text: ValueText) -> None:
    """Refuse a value that is not JSON. Raises `ShapeError` or `BrokenTextError`."""
    _compact(text)


def check_object(text: ValueText) -> None:
    """Refuse an inlined manifest that is not base64. Raises `ShapeError`."""
    _read_exactly(OBJECT, text)


def parse(
    items: Iterable[tuple[str, ValueText]],
    *,
    check_object: Callable[[ValueText], None] = check_object,
) -> Properties:
    """Parse properties: pairs of a type and the JSON text of a value.

    `check_object` checks inlined manifests, whose content does not matter here.
    """
    identities: list[PackageIdentity] = []
    wanted: list[PackageRequirement] = []
    provided: list[objects.GVK] = []
    required: list[objects.GVK] = []
    others: list[Property] = []
    faults: list[Fault] = []
    order: list[str] = []
    objects = metadata = 0
    minimum = ""
    for index, (kind, text) in enumerate(items):
        try:
            match kind:
                case "olm.gvk":
                    provided.append(_kind(GVK, text))
                    order.append(GVK)
                case "olm.gvk.required":
                    required.append(_kind(GVK_REQUIRED, text))
                    order.append(GVK_REQUIRED)
                case "olm.package":
                    identities.append(_identity(text, index))
                    order.append(PACKAGE)
                case "olm.package.required":
                    wanted.append(_requirement(text, index))
                    order.append(PACKAGE_REQUIRED)
                case "olm.bundle.object":
                    check_object(text)
                    objects += 1
                case "olm.csv.metadata":
                    minimum = _minimum(_read(CSV_METADATA, text)) or minimum
                    metadata += 1
                case _:
                    if kind == CHANNEL:
                        _read(CHANNEL, text)
                    others.append(Property(kind, _compact(text), index))
                    order.append(kind)
        except ShapeError as error:
            faults.append(
                Fault(
                    index,
                    ("properties", index, "value", *error.keys),
                    f'parse property[{index}] of type "{kind}": {error.message}',
                )
            )
    return Properties(
        identities=tuple(identities),
        required_packages=tuple(wanted),
        provided=tuple(provided),
        required=tuple(required),
        others=tuple(others),
        objects=objects,
        metadata=metadata,
        min_kube_version=minimum,
        faults=tuple(faults),
        order=tuple(order),
    )


def _identity_value(one: PackageIdentity) -> dict[str, str]:
    release = {"release": one.release} if one.release else {}
    return {"packageName": one.package, "version": one.version, **release}


def _requirement_value(one: PackageRequirement) -> dict[str, str]:
    return {"packageName": one.package, "versionRange": one.version_range}


def _compact(text: ValueText) -> bytes:
    """Return a value of an unknown type, as the reference stores it."""
    if text is None:
        raise ShapeError("unexpected end of JSON input", ())
    try:
        value = json_reader.read_doubles(bytes(text))
    except json_reader.JsonError as error:
        raise BrokenTextError(error.message) from error
    return json_text.compact(value, escape_html=False)


def _kind(kind: str, text: ValueText) -> objects.GVK:
    group, version, name = _read_text_fields(kind, text)
    return objects.GVK(group, version, name)


def _identity(text: ValueText, index: int) -> PackageIdentity:
    package, version, release = _read_text_fields(PACKAGE, text)
    return PackageIdentity(package, version, release, index)


def _requirement(text: ValueText, index: int) -> PackageRequirement:
    package, version_range = _read_text_fields(PACKAGE_REQUIRED, text)
    return PackageRequirement(package, version_range, index)


def _read_text_fields(kind: str, text: ValueText) -> tuple[str, ...]:
    """Return the fields of a type that has only strings, in order."""
    if text is not None:
        try:
            value = _fast[kind].decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
        else:
            if value is not None:
                return tuple(item or "" for item in msgspec.structs.astuple(value))
    state = _read_exactly(kind, text)
    return tuple(state[each.name] for each in SHAPES[kind].fields)


def _read(kind: str, text: ValueText) -> Any:
    """Return the value as a struct of the fast decoder, or as a mapping."""
    if text is not None:
        try:
            return _fast[kind].decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    return _read_exactly(kind, text)


def _minimum(metadata: Any) -> str:
    """Return the `minKubeVersion` in the result of `_read`."""
    if isinstance(metadata, dict):
        return str(metadata.get("minKubeVersion") or "")
    return str(getattr(metadata, "minKubeVersion", None) or "")


def _read_exactly(kind: str, text: ValueText) -> dict[str, Any]:
    """Return the result of the slow decoder, with Go's rules for case, nulls and duplicates."""
    if text is None:
        raise ShapeError("unexpected end of JSON input", ())
    try:
        value = json_reader.read_doubles(bytes(text))
    except json_reader.JsonError as error:
        raise BrokenTextError(error.message) from error
    return shapes.read(SHAPES[kind], value)


_TEXT: Final = Text()
_TEXTS: Final = ListOf(_TEXT, "[]string")
_LINK: Final = Object(go="v1alpha1.AppLink", fields=(Field("name", _TEXT), Field("url", _TEXT)))


def _kind_shape(go: str) -> Object:
    return Object(go=go, fields=tuple(Field(name, _TEXT) for name in ("group", "version", "kind")))


def _list_of(item: Object) -> ListOf:
    return ListOf(item, f"[]{item.go}")


def _descriptors(go: str) -> ListOf:
    return _list_of(
        Object(
            go=f"v1alpha1.{go}",
            fields=(
                Field("path", _TEXT),
                Field("displayName", _TEXT),
                Field("description", _TEXT),
                Field("x-descriptors", _TEXTS),
                Field("value", AnyValue()),
            ),
        )
    )


_DESCRIBED: Final = (
    Field("displayName", _TEXT),
    Field("description", _TEXT),
    Field(
        "resources",
        _list_of(
            Object(
                go="v1alpha1.APIResourceReference",
                fields=(Field("name", _TEXT), Field("kind", _TEXT), Field("version", _TEXT)),
            )
        ),
    ),
    Field("statusDescriptors", _descriptors("StatusDescriptor")),
    Field("specDescriptors", _descriptors("SpecDescriptor")),
    Field("actionDescriptors", _descriptors("ActionDescriptor")),
)


def _description_list(go: str, *fields: Field) -> ListOf:
    named = tuple(Field(name, _TEXT) for name in ("name", "version", "kind"))
    return _list_of(Object(go=f"v1alpha1.{go}", fields=(*named, *fields, *_DESCRIBED)))


def _definitions(go: str, item: ListOf) -> Object:
    return Object(go=f"v1alpha1.{go}", fields=(Field("owned", item), Field("required", item)))


SHAPES: Final = {
    PACKAGE: Object(
        go="property.Package",
        fields=(Field("packageName", _TEXT), Field("version", _TEXT), Field("release", _TEXT)),
    ),
    PACKAGE_REQUIRED: Object(
        go="property.PackageRequired",
        fields=(Field("packageName", _TEXT), Field("versionRange", _TEXT)),
    ),
    GVK: _kind_shape("property.GVK"),
    GVK_REQUIRED: _kind_shape("property.GVKRequired"),
    OBJECT: wire.BUNDLE_OBJECT,
    CHANNEL: Object(
        go="property.Channel",
        fields=(Field("channelName", _TEXT), Field("priority", Whole("int", 64))),
    ),
    CSV_METADATA: Object(
        go="property.CSVMetadata",
        fields=(
            Field("annotations", TextMap()),
            Field(
                "apiServiceDefinitions",
                _definitions(
                    "APIServiceDefinitions",
                    _description_list(
                        "APIServiceDescription",
                        Field("group", _TEXT),
                        Field("deploymentName", _TEXT),
                        Field("containerPort", Whole("int32", 32)),
                    ),
                ),
            ),
            Field(
                "crdDescriptions",
                _definitions("CustomResourceDefinitions", _description_list("CRDDescription")),
            ),
            Field("description", _TEXT),
            Field("displayName", _TEXT),
            Field(
                "installModes",
                _list_of(
                    Object(
                        go="v1alpha1.InstallMode",
                        fields=(
                            Field("type", Text("v1alpha1.InstallModeType")),
                            Field("supported", Truth()),
                        ),
                    )
                ),
            ),
            Field("keywords", _TEXTS),
            Field("labels", TextMap()),
            Field("links", _list_of(_LINK)),
            Field(
                "maintainers",
                _list_of(
                    Object(
                        go="v1alpha1.Maintainer",
                        fields=(Field("name", _TEXT), Field("email", _TEXT)),
                    )
                ),
            ),
            Field("maturity", _TEXT),
            Field("minKubeVersion", _TEXT),
            Field("nativeAPIs", _list_of(_kind_shape("v1.GroupVersionKind"))),
            Field("provider", _LINK),
        ),
    ),
}


def _fast_type(shape: shapes.Shape) -> Any:
    """Return a type for the fast decoder that accepts what the shape accepts, or less."""
    match shape:
        case Text():
            return str | None
        case Truth():
            return bool | None
        case Whole():
            limit = 2 ** (shape.bits - 1)
            return Annotated[int, msgspec.Meta(ge=-limit, le=limit - 1)] | None
        case TextMap():
            return dict[str, str | None] | None
        case ListOf():
            return list[_fast_type(shape.item)] | None  # type: ignore[misc]
        case Object():
            return _fast_struct(shape) | None
        case _:
            return Any


def _fast_struct(shape: Object) -> Any:
    return msgspec.defstruct(
        shape.go.rpartition(".")[2],
        [
            (each.name.replace("-", "_"), _fast_type(each.shape), msgspec.field(default=None))
            for each in shape.fields
        ],
        rename={each.name.replace("-", "_"): each.name for each in shape.fields},
        forbid_unknown_fields=True,
        gc=False,
    )


_fast: Final = {
    kind: msgspec.json.Decoder(_fast_type(shape))
    for kind, shape in SHAPES.items()
    if kind != OBJECT
}
