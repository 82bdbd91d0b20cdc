"""One object as the API server sent it: its bytes, and its metadata parsed.

A cache holds thousands of objects, and only the metadata of most of them is used. Bytes and a small
record need a quarter of the memory of nested dictionaries, and each reader gets a separate copy.
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
    """The fields of `metadata` that the runtime uses."""

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
        # null or a wrong type in one field must not drop the object.
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
    """An immutable object of the API; snapshots are equal if their bytes are.

    Without `metadata`, the constructor decodes `raw`, and raises `msgspec.DecodeError` if it is not
    an object with valid metadata.
    """

    # A struct that the garbage collector skips: a full collection would visit
    # a hundred thousand objects, and block the event loop.
    raw: bytes
    metadata: Metadata = _UNREAD

    def __post_init__(self) -> None:
        if self.metadata is _UNREAD:
            msgspec.structs.force_setattr(self, "metadata", _metadata(self.raw))

    @classmethod
    def of(cls, manifest: Any) -> Snapshot:
        """Return the snapshot of a manifest."""
        return cls(msgspec.json.encode(manifest))

    @property
    def key(self) -> Request:
        """Return namespace and name as a request."""
        return Request(self.metadata.name, self.metadata.namespace)

    def manifest(self) -> dict[str, Any]:
        """Return the whole object as a new copy, which the caller may change."""
        decoded: dict[str, Any] = msgspec.json.decode(self.raw)
        return decoded

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.raw)

    def __repr__(self) -> str:
        return f"Snapshot({self.key}, resource_version={self.metadata.resource_version!r})"
