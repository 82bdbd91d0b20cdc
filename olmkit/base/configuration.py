"""Unknown keys of configuration files: refused, or found for a warning.

Go's `encoding/json` with `DisallowUnknownFields` takes a key in any case and refuses an unknown key
and a value of another type. A silently dropped key changes the result, so all errors of a file are
reported together, each with its place. Other tools ignore such a key; for their files,
`unknown_keys` finds it and the known key that it resembles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from olmkit.base import documents, findings
from olmkit.base.diagnostics import Diagnostic, InputError, Location
from olmkit.base.documents import Document, Key

Shape = Mapping[str, Any] | list[Any] | type
"""Known keys with their shapes, the one shape of all items of a list, or a type.

`object` takes any value, `str`, `bool` and `int` their own values only.
"""

_MISSPELLED: Final = 0.8  # `lyout` is 0.91 of `layout`, but `project` only 0.78 of `projectName`
_TYPES: Final = {str: "a string", bool: "`true` or `false`", int: "a whole number"}


def read(document: Document, shape: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of a document, its keys spelled as in `shape`, and without nulls.

    Raises `InputError` with a finding for each unknown key, repeated key and wrong type.
    """
    found: list[Diagnostic] = [
        _finding("CFG003", f"key `{one.keys[-1]}` is repeated", one.again)
        for one in document.duplicate_keys()
    ]
    value = _read(document, (), document.value, shape, found)
    if found:
        found.sort(key=Diagnostic.sort_key)
        raise InputError(f"{found[0].at}: {found[0].message}", found[0].hint, tuple(found))
    result: dict[str, Any] = value or {}
    return result


class UnknownKey(NamedTuple):
    """A key that a file of this kind does not have; a misspelled one is almost a known key."""

    keys: tuple[Key, ...]
    is_misspelled: bool
    hint: str

    @property
    def path(self) -> str:
        """Return the field path, such as `resources[0].api.namespace`."""
        return documents.field_path(self.keys)


def unknown_keys(
    value: Any, shape: Shape, *, any_case: bool = False, below: tuple[Key, ...] = ()
) -> Iterator[UnknownKey]:
    """Yield the unknown keys of a value in its order; values of another type are not searched.

    With `any_case`, a known key in another case is known.
    """
    if isinstance(shape, list) and isinstance(value, list):
        for index, item in enumerate(value):
            yield from unknown_keys(item, shape[0], any_case=any_case, below=(*below, index))
    if not isinstance(shape, Mapping) or not isinstance(value, Mapping):
        return
    folded = {one.lower(): one for one in shape} if any_case else {}
    for key, inner in value.items():
        name = key if key in shape else folded.get(str(key).lower())
        if name is None:
            known = list(shape)
            is_misspelled = bool(_closest_key(str(key), known, _MISSPELLED))
            yield UnknownKey((*below, key), is_misspelled, suggest_key(str(key), known))
        else:
            yield from unknown_keys(inner, shape[name], any_case=any_case, below=(*below, key))


def suggest_key(key: str, known: Sequence[str]) -> str:
    """Return a hint that names the known key most similar to `key`, or all known keys."""
    closest = _closest_key(key, known)
    if closest:
        return f"did you mean `{closest}`?"
    return f"known keys are {', '.join(f'`{one}`' for one in sorted(known))}"


def _closest_key(key: str, known: Sequence[str], similarity: float = 0.6) -> str:
    import difflib

    folded = {one.lower(): one for one in known}
    found = difflib.get_close_matches(key.lower(), folded, n=1, cutoff=similarity)
    return folded[found[0]] if found else ""


def _read(
    document: Document, keys: tuple[Key, ...], value: Any, shape: Shape, found: list[Diagnostic]
) -> Any:
    if value is None or shape is object:
        return value
    wanted = ""
    if isinstance(shape, list):
        if isinstance(value, list):
            items = enumerate(value)
            return [_read(document, (*keys, at), one, shape[0], found) for at, one in items]
        wanted = "a list"
    elif isinstance(shape, Mapping):
        if isinstance(value, Mapping):
            return _mapping(document, keys, value, shape, found)
        wanted = "a mapping"
    elif type(value) is not shape:
        wanted = _TYPES[shape]
    if not wanted:
        return value
    name = documents.field_path(keys) or "the file"
    hint = "put it in quotes" if shape is str and isinstance(value, bool | int | float) else ""
    message = f"`{name}` must be {wanted}" if keys else f"the file must be {wanted}"
    found.append(_finding("CFG002", message, document.at(*keys), hint))
    return None


def _mapping(
    document: Document,
    keys: tuple[Key, ...],
    value: Mapping[Any, Any],
    shape: Mapping[str, Any],
    found: list[Diagnostic],
) -> dict[str, Any]:
    folded = {one.lower(): one for one in shape}
    result: dict[str, Any] = {}
    for key, inner in value.items():
        name = folded.get(str(key).lower())
        at = (*keys, key)
        if name is None:
            path = documents.field_path(at)
            hint = suggest_key(str(key), list(shape))
            found.append(_finding("CFG001", f"unknown key `{path}`", document.at_key(*at), hint))
        elif name in result:
            message = f"key `{name}` is repeated as `{key}`"
            found.append(_finding("CFG003", message, document.at_key(*at)))
        else:
            result[name] = _read(document, at, inner, shape[name], found)
    return {name: inner for name, inner in result.items() if inner is not None}


def _finding(code: str, message: str, at: Location, hint: str = "") -> Diagnostic:
    return findings.create(code, message, at=at, hint=hint)
