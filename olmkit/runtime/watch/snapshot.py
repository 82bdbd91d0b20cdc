"""One object as the API server sent it: its bytes, and its metadata parsed.

A cache keeps thousands of objects, most of which are only ever looked at by
their metadata. Bytes and a small record need a quarter of the memory of nested
dictionaries, and each reader of the object gets a separate copy.
"""

from __future__ import annotations

from typing import Any

import msgspec

from olmkit.runtime.work.reconcile import Request


class OwnerReference(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """`metadata.ownerReferences[]`."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    controller: bool = False
    block_owner_deletion: bool = False

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]


class Metadata(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The part of `metadata` that a runtime reasons about."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[OwnerReference] | None = None


class _Envelope(msgspec.Struct, frozen=True, gc=False):
    metadata: Metadata | None = None


_DECODER = msgspec.json.Decoder(_Envelope)
_EMPTY = Metadata()


def _metadata(raw: bytes) -> Metadata:
    try:
        return _DECODER.decode(raw).metadata or _EMPTY
    except msgspec.ValidationError:
        # A null or a wrong type in one field must not lose the object.
        return _lenient(msgspec.json.decode(raw))


def _lenient(value: Any) -> Metadata:
    found = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(found, dict):
        raise msgspec.ValidationError("no object with metadata")
    fields: dict[str, Any] = {}
    for field in msgspec.structs.fields(Metadata):
        try:
            fields[field.name] = msgspec.convert(found[field.encode_name], field.type)
        except (KeyError, msgspec.ValidationError):
            continue
    return Metadata(**fields)


_UNREAD = Metadata()


class Snapshot(msgspec.Struct, frozen=True, eq=False, gc=False):
    """Immutable; equal when the bytes are.

    Made of `raw` alone, it raises `msgspec.DecodeError` when that is not an object with
    metadata of the right types.
    """

    # A struct that the garbage collector does not visit: a full collection would look at
    # each of a hundred thousand objects, and hold the event loop meanwhile.
    raw: bytes
    metadata: Metadata = _UNREAD

    def __post_init__(self) -> None:
        if self.metadata is _UNREAD:
            msgspec.structs.force_setattr(self, "metadata", _metadata(self.raw))

    @classmethod
    def of(cls, manifest: Any) -> Snapshot:
        """The snapshot of a manifest that is at hand as data."""
        return cls(msgspec.json.encode(manifest))

    @property
    def key(self) -> Request:
        """Namespace and name, as a reconciler gets them."""
        return Request(self.metadata.name, self.metadata.namespace)

    def manifest(self) -> dict[str, Any]:
        """The whole object, decoded again for each caller, who may change it."""
        decoded: dict[str, Any] = msgspec.json.decode(self.raw)
        return decoded

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.raw)

    def __repr__(self) -> str:
        return f"Snapshot({self.key}, resource_version={self.metadata.resource_version!r})"
