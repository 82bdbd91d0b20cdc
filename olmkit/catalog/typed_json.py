"""JSON text read into Go's types, raw parts kept as they were written.

A property's value travels through catalogs as the text it had in its file: the
order of its keys, its spelling of numbers and its escapes. So the readers here
go from text to text. Keys match without regard to case; `lenient` is how YAML
is read, where numbers and truth values pass for text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from olmkit.base import floats, json_reader
from olmkit.catalog.shapes import fold


class MisfitError(ValueError):
    """A JSON value of another type than is due there."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A `{type, value}` with the text of its value, which is empty when there is none."""

    type: str
    value: bytes


def fields(text: bytes) -> Mapping[str, bytes]:
    """The parts of an object by folded name; of several the last counts. Null is an empty one."""
    return {fold(key): value for key, value in _object(text).items()}


def members(text: bytes) -> Sequence[bytes]:
    """The parts of a list; null is an empty one."""
    found: list[msgspec.Raw] | None = _decode(text, list[msgspec.Raw] | None)
    return [bytes(item) for item in found or ()]


def text_of(value: bytes, *, lenient: bool = False) -> str:
    """A text; null is an empty one."""
    if lenient and value[:1] not in (b'"', b"{", b"[", b"n"):
        number: Any = json_reader.read(value)
        if isinstance(number, bool):
            return "true" if number else "false"
        return floats.key_text(number) if isinstance(number, float) else str(number)
    found: str | None = _decode(value, str | None)
    return found or ""


def texts(text: bytes, names: Sequence[str], *, lenient: bool = False) -> dict[str, str]:
    """The fields `names` of an object of texts, each empty when it is not there."""
    found = fields(text)
    return {
        name: text_of(found[fold(name)], lenient=lenient) if fold(name) in found else ""
        for name in names
    }


def entries(text: bytes, *, lenient: bool = False) -> tuple[Entry, ...]:
    """A list of `{type, value}`."""
    return tuple(_entry(item, lenient=lenient) for item in members(text))


def entries_that_fit(text: bytes) -> tuple[tuple[Entry, ...], str]:
    """What can be had of a list of `{type, value}`, and what is wrong with the rest.

    A misfit leaves its field, or its entry, empty; a text that is no JSON gives nothing.
    """
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
        items = members(text)
    except (MisfitError, msgspec.DecodeError, UnicodeDecodeError) as error:
        return (), str(error)
    found: list[Entry] = []
    wrong = ""
    for item in items:
        try:
            found.append(_entry(item))
        except MisfitError as error:
            wrong = wrong or str(error)
            found.append(_remains(item))
    return tuple(found), wrong


def _entry(text: bytes, *, lenient: bool = False) -> Entry:
    parts = fields(text)
    kind = parts.get("type")
    return Entry("" if kind is None else text_of(kind, lenient=lenient), parts.get("value", b""))


def _remains(text: bytes) -> Entry:
    try:
        return Entry("", fields(text).get("value", b""))
    except MisfitError:
        return Entry("", b"")


def _object(text: bytes) -> Mapping[str, bytes]:
    found: dict[str, msgspec.Raw] | None = _decode(text, dict[str, msgspec.Raw] | None)
    return {key: bytes(value) for key, value in (found or {}).items()}


def _decode(text: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MisfitError(str(error).partition(" - at ")[0].lower()) from None
