"""Change blobs in a file, and keep the rest of the file unchanged.

A file that has the format of olmkit is written again in that format. In any other file, only the
lines of the new entry and of the new blobs are added; comments, order and style are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.base.json import text as json_text
from olmkit.catalog.blobs import fbc
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.blobs.fbc import Form

_INDENT: Final = 4


def edit_file(
    data: bytes, path: str, old: Sequence[tuple[Blob, Blob | None]], new: Sequence[Blob]
) -> bytes:
    """Return the file with some of its blobs changed and with `new` ones.

    `old` has each blob of the file with its new form, or None if it is unchanged; a change is an
    additional entry in a channel, or another bundle. Raises `InputError` if it cannot be written.
    """
    form: Form = "json" if path.endswith(".json") or data.lstrip()[:1] == b"{" else "yaml"
    if fbc.dump([blob for blob, _ in old], form) == data:
        return fbc.dump([*(changed or blob for blob, changed in old), *new], form)
    # From the end, so that earlier places remain valid.
    for blob, changed in reversed(old):
        if changed is not None:
            data = _replace_blob(data, blob, changed)
    if data and not data.endswith(b"\n"):
        data += b"\n"
    return data + b"".join(fbc.dump_blob(blob, form) for blob in new)


def _replace_blob(data: bytes, old: Blob, new: Blob) -> bytes:
    """Return the file with a blob replaced by `new`, with few other changed bytes."""
    place = old.place
    if place is None:  # pragma: no cover - it was read from this file
        return data
    for part in (_insert_line(data, old, new), _rewrite_document(data, old, new)):
        if part is not None and _reads_as(part, old, new):
            return part
    raise InputError(
        f"`{old.name}` is written in a way that cannot be changed",
        hint="rewrite it with `olmkit catalog render`",
    )


def _reads_as(data: bytes, old: Blob, new: Blob) -> bool:
    """Return whether the file has the new blob in place of the old one."""
    try:
        found = list(fbc.load_stream(data, old.path))
    except InputError:
        return False
    return len(found) > old.index and found[old.index] == new


def _insert_line(data: bytes, old: Blob, new: Blob) -> bytes | None:
    """Return the entry's lines after those of the last entry; None if entries have no lines."""
    place = old.place
    key = next((key for key in old.value if key.casefold() == "entries"), "")
    entries = old.value.get(key) or ()
    if place is None or place.json or not entries:
        return None
    at = old.at(key, len(entries) - 1)
    if at.line is None or at.column is None:
        return None
    lines = data.splitlines(keepends=True)
    first = lines[at.line - 1]
    dash = first[: at.column - 1].rstrip()
    if dash.strip() != b"-":
        return None
    last = at.line
    while last < len(lines) and _belongs(lines[last], at.column - 1):
        last += 1
    while last > at.line and not lines[last - 1].strip():
        last -= 1
    ending = b"\r\n" if first.endswith(b"\r\n") else b"\n"
    indent = dash[: dash.index(b"-")]
    text = documents.dump([new.value[key][-1]]).splitlines()
    added = [indent + line + ending for line in text]
    if not lines[last - 1].endswith(b"\n"):
        lines[last - 1] += ending
    return b"".join((*lines[:last], *added, *lines[last:]))


def _belongs(line: bytes, column: int) -> bool:
    """Return whether a line belongs to an item whose text starts in that column."""
    return not line.strip() or len(line) - len(line.lstrip(b" ")) >= column


def _rewrite_document(data: bytes, old: Blob, new: Blob) -> bytes | None:
    """Return the whole document, written again."""
    place = old.place
    if place is None:  # pragma: no cover - it was read from this file
        return None
    if place.json:
        key = next((key for key in new.value if key.casefold() == "entries"), "")
        value = {**old.value, key: new.value[key]} if key else new.value
        text = json_text.compact(value, escape_html=False, sort=False)
        return data[: place.start] + json_text.indent(text, _INDENT) + data[place.end :]
    separator = b"---\n" if data[place.start :].startswith(b"---") else b""
    return data[: place.start] + separator + documents.dump(new.value) + data[place.end :]
