"""Decode JSON into Go's types, keeping raw parts unchanged.

Catalogs keep a property's value as the text in its file, with its order of keys, spelling of
numbers and escapes. So the functions here convert text to text. Keys match case-insensitively. If a
field occurs with several spellings, every value must fit, and the last one counts. `lenient` is the
mode for YAML, where numbers and booleans count as strings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from olmkit.base.go import floats
from olmkit.base.json import reader as json_reader
from olmkit.catalog.blobs.shapes import fold


class MisfitError(ValueError):
    """A JSON value of a wrong type."""


@dataclass(frozen=True, slots=True)
class Member:
    """A `{type, value}` with the text of its value, which is empty if there is none."""

    type: str
    value: bytes


Parts = Sequence[bytes]
"""The strings of all values of one field, in order."""


def fields(text: bytes) -> Mapping[str, Parts]:
    """Return the parts of an object by folded name. `null` counts as empty."""
    found: dict[str, msgspec.Raw] | None = _decode(text, dict[str, msgspec.Raw] | None)
    parts: dict[str, list[bytes]] = {}
    for key, value in (found or {}).items():
        parts.setdefault(fold(key), []).append(bytes(value))
    return parts


def read_texts(parts: Parts, names: Sequence[str], *, lenient: bool = False) -> dict[str, str]:
    """Return the fields `names` of an object of strings; missing ones are empty."""
    found = dict.fromkeys(names, "")
    for part in parts:
        given = fields(part)
        for name in names:
            found[name] = read_text(given.get(fold(name), ()), found[name], lenient=lenient)
    return found


def read_text(parts: Parts, old: str = "", *, lenient: bool = False) -> str:
    """Return a string; null keeps the old one."""
    for part in parts:
        if lenient and part[:1] not in (b'"', b"{", b"[", b"n"):
            old = _scalar_text(json_reader.read(part))
        else:
            found: str | None = _decode(part, str | None)
            old = old if found is None else found
    return old


def entries(parts: Parts, *, lenient: bool = False) -> tuple[Member, ...]:
    """Return a list of `{type, value}`; null is an empty one."""
    found: tuple[Member, ...] = ()
    for part in parts:
        found = tuple(_entry(item, lenient=lenient) for item in _members(part))
    return found


def entries_that_fit(text: bytes) -> tuple[tuple[Member, ...], str]:
    """Return the valid items of a list of `{type, value}`, and the errors of the others.

    An invalid value leaves its field, or its entry, empty; text that is not JSON results in no
    items.
    """
    try:
        items = _members(text)
    except MisfitError as error:
        return (), str(error)
    found: list[Member] = []
    wrong = ""
    for item in items:
        try:
            found.append(_entry(item))
        except MisfitError as error:
            wrong = wrong or str(error)
            found.append(_remains(item))
    return tuple(found), wrong


def _entry(text: bytes, *, lenient: bool = False) -> Member:
    parts = fields(text)
    return Member(read_text(parts.get("type", ()), lenient=lenient), _last(parts.get("value", ())))


def _remains(text: bytes) -> Member:
    try:
        return Member("", _last(fields(text).get("value", ())))
    except MisfitError:
        return Member("", b"")


def _last(parts: Parts) -> bytes:
    return parts[-1] if parts else b""


def _members(text: bytes) -> list[bytes]:
    found: list[msgspec.Raw] | None = _decode(text, list[msgspec.Raw] | None)
    return [bytes(item) for item in found or ()]


def _scalar_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) or not -(2**63) <= value < 2**64:
        return floats.key_text(float(value))
    return str(value)


def _decode(text: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MisfitError(str(error).partition(" - at ")[0].lower()) from None
