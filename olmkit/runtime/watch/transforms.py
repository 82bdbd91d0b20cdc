"""Predefined transforms, which remove unneeded fields from cached objects."""

from __future__ import annotations

import msgspec

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_FIELD = b'"managedFields"'


def without_managed_fields(raw: bytes) -> bytes:
    """Remove `metadata.managedFields`, which is often half of the object.

    `CacheSettings(scope=Scope(transform=without_managed_fields))` removes them from all kinds. An
    update without managed fields leaves those on the server unchanged. The bytes of other fields do
    not change.
    """
    if _FIELD not in raw:
        return raw
    found = _OBJECT.decode(raw)
    metadata = _OBJECT.decode(found.get("metadata", b"{}"))
    if metadata.pop("managedFields", None) is None:
        return raw
    found["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return msgspec.json.encode(found)
