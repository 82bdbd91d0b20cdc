"""Fixes of findings: renamed keys, quoted values, removed entries.

Each is None if the fix is ambiguous: the correct key already exists, the value has several lines,
or an entry shares its line with others.
"""

from __future__ import annotations

import json
import re

from olmkit.base.diagnostics import Fix, InputError, Location
from olmkit.base.documents import Document, Key

_PLAIN = re.compile(r"[^\s\"'&*!|>%@`{}\[\],#?:-][^\n#:]*(?::[^\s#][^\n#:]*)*")
_NUMBERED = re.compile(r"[-+.0-9]")
_WORDS = frozenset({"true", "false", "null", "~", "yes", "no", "on", "off", "y", "n"})
_ENTRY = re.compile(r"\s*-\s+")


def rename_key(document: Document, keys: tuple[Key, ...], new: str) -> Fix | None:
    """Rename the last of `keys`."""
    mapping = document.get(*keys[:-1])
    at = document.at_key(*keys)
    token = document.text(at)
    if not isinstance(mapping, dict) or new in mapping or token.strip("\"'") != keys[-1]:
        return None
    quote = token[0] if token[0] in "\"'" else ""
    return Fix(at, f"{quote}{new}{quote}")


def quote_value(document: Document, keys: tuple[Key, ...]) -> Fix | None:
    """Return the value as the string that is written there."""
    at = document.at(*keys)
    token = document.text(at)
    value = document.get(*keys)
    if not token or value is None or isinstance(value, str) or not _is_plain(token):
        return None
    return Fix(at, f'"{token}"')


def replace_value(document: Document, keys: tuple[Key, ...], new: str) -> Fix | None:
    """Replace the value; quotes are kept."""
    at = document.at(*keys)
    token = document.text(at)
    value = document.get(*keys)
    if value is None or isinstance(value, dict | list) or not token or "\n" in token:
        return None
    if token[0] == "'":
        return Fix(at, "'" + new.replace("'", "''") + "'")
    if token[0] == '"' or not _is_plain(token):
        return Fix(at, json.dumps(new, ensure_ascii=False)) if token[0] == '"' else None
    if not _is_plain(new) or (_NUMBERED.match(new) and _is_number(new)) or new.lower() in _WORDS:
        return Fix(at, json.dumps(new, ensure_ascii=False))
    return Fix(at, new)


def remove_entry(document: Document, keys: tuple[Key, ...]) -> Fix | None:
    """Remove an entry of a list that does not share its lines."""
    at = document.span(*keys)
    if at.line is None or at.end_line is None or at.column is None:
        return None
    before = document.text(Location(at.path, at.line, 1, at.line, at.column))
    after = document.text(Location(at.path, at.end_line, at.end_column, at.end_line + 1, 1))
    if not _ENTRY.fullmatch(before) or after.strip().partition("#")[0]:
        return None
    return Fix(Location(at.path, at.line, 1, at.end_line + 1, 1), "")


def remove_line(at: Location) -> Fix | None:
    """Remove the line of a place."""
    if at.line is None:
        return None
    return Fix(Location(at.path, at.line, 1, at.line + 1, 1), "")


def is_intact(data: bytes, path: str) -> bool:
    """Return whether every document of a file can still be read."""
    from olmkit.base import documents

    try:
        return all(document is not None for document in documents.load_all(data, path))
    except InputError:
        return False


def _is_plain(text: str) -> bool:
    return ("\n" not in text and _PLAIN.fullmatch(text) is not None) or text[:1].isdigit()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
