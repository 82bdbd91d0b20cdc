"""Ready-made transforms: what of an object a cache need not keep."""

from __future__ import annotations

import msgspec

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_FIELD = b'"managedFields"'


def without_managed_fields(raw: bytes) -> bytes:
    """The object without `metadata.managedFields`, which is often half of it.

    `CacheSettings(scope=Scope(transform=without_managed_fields))` keeps no kind's. They are not
    sent back: an update without them leaves them as they are. Other fields keep their bytes.
    """
    if _FIELD not in raw:
        return raw
    found = _OBJECT.decode(raw)
    metadata = _OBJECT.decode(found.get("metadata", b"{}"))
    if metadata.pop("managedFields", None) is None:
        return raw
    found["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return msgspec.json.encode(found)
