"""Field errors with the messages of Kubernetes.

The messages are those of the API server, because people search for them. A `FieldError` has the
keys of the field, so that a caller with the document can show the place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from olmkit.base import names, texts

Key = str | int

MAX_ANNOTATIONS = 256 * 1024  # bytes of all keys and values, k8s.io/apimachinery validation
_MAX_QUALIFIED = 63
_MAX_VALUE = 63

_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
    "'-' or '.', and must start and end with an alphanumeric character"
)
LABEL_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character"
)
_NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character"
)
_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character"
)


class FieldError(NamedTuple):
    """One field error with the API server's message."""

    keys: tuple[Key, ...]
    message: str


def path(keys: Iterable[Key]) -> str:
    """Format `keys` like Kubernetes: `spec.versions[0].name`, `annotations[a.b/c]`."""
    words = ""
    for key in keys:
        if isinstance(key, int) or "/" in key or ("." in key and words):
            words += f"[{key}]"
        else:
            words += f".{key}" if words else key
    return words


def invalid(keys: tuple[Key, ...], value: Any, detail: str) -> FieldError:
    """Return the error for an invalid value; a long value is truncated."""
    shown = texts.shorten(value) if isinstance(value, str) else value
    shown = texts.shorten(json.dumps(shown, ensure_ascii=False), texts.MOST + 2)
    return FieldError(keys, f"{path(keys)}: Invalid value: {shown}: {detail}")


def required(keys: tuple[Key, ...], detail: str = "") -> FieldError:
    """Return the error for a field that is missing or empty."""
    return FieldError(keys, f"{path(keys)}: Required value" + (f": {detail}" if detail else ""))


def forbidden(keys: tuple[Key, ...], detail: str) -> FieldError:
    """Return the error for a field that must not be set."""
    return FieldError(keys, f"{path(keys)}: Forbidden: {detail}")


def duplicate(keys: tuple[Key, ...], value: str) -> FieldError:
    """Return the error for a duplicate value in a list."""
    return FieldError(keys, f'{path(keys)}: Duplicate value: "{value}"')


def unsupported(keys: tuple[Key, ...], value: str, supported: Iterable[str]) -> FieldError:
    """Return the error for a value that is not in `supported`, which is shown in its order."""
    listed = ", ".join(f'"{word}"' for word in supported)
    return FieldError(
        keys, f'{path(keys)}: Unsupported value: "{value}": supported values: {listed}'
    )


def too_many(keys: tuple[Key, ...], count: int, limit: int) -> FieldError:
    """Return the error for a list or map of `count` entries if `limit` are allowed."""
    return FieldError(keys, f"{path(keys)}: Too many: {count}: must have at most {limit} items")


def subdomain(keys: tuple[Key, ...], value: str) -> Iterator[FieldError]:
    """Yield the errors of `value` as a DNS subdomain (RFC 1123): at most 253 characters."""
    if len(value) > names.MAX_SUBDOMAIN:
        yield invalid(keys, value, f"must be no more than {names.MAX_SUBDOMAIN} characters")
    elif not names.is_subdomain(value):
        yield invalid(keys, value, SUBDOMAIN)


def label_1035(keys: tuple[Key, ...], value: str) -> Iterator[FieldError]:
    """Yield the errors of `value` as a DNS label (RFC 1035): at most 63 characters."""
    if len(value) > names.MAX_LABEL:
        yield invalid(keys, value, f"must be no more than {names.MAX_LABEL} characters")
    elif not names.is_label_1035(value):
        yield invalid(keys, value, LABEL_1035)


def qualified_name_problem(name: str) -> str:
    """Return why `name` is not a qualified name (`example.org/part`), or an empty string."""
    prefix, slash, part = name.rpartition("/")
    if slash and "/" in prefix:
        return (
            "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must "
            "start and end with an alphanumeric character, with an optional DNS subdomain prefix "
            "and '/'"
        )
    if slash and not names.is_subdomain(prefix):
        return f"prefix part {SUBDOMAIN}" if prefix else "prefix part must be non-empty"
    if not part:
        return "name part must be non-empty"
    if len(part) > _MAX_QUALIFIED:
        return f"name part must be no more than {_MAX_QUALIFIED} characters"
    return "" if _QUALIFIED.fullmatch(part) else _NAME_PART


def label_value_problem(value: str) -> str:
    """Return why `value` is not a label value, or an empty string."""
    if len(value) > _MAX_VALUE:
        return f"must be no more than {_MAX_VALUE} characters"
    return "" if _LABEL_VALUE.fullmatch(value) else _VALUE


def object_metadata(metadata: Mapping[str, Any]) -> Iterator[FieldError]:
    """Yield what the API server refuses in the metadata of an object without a namespace.

    The name is not checked, because its form depends on the kind.
    """
    if not metadata.get("name"):
        yield required(("metadata", "name"), "name or generateName is required")
    if metadata.get("namespace"):
        yield forbidden(("metadata", "namespace"), "not allowed on this type")
    yield from label_errors(metadata.get("labels"))
    yield from annotation_errors(metadata.get("annotations"))
    yield from _finalizers(metadata.get("finalizers"))
    yield from _owners(metadata.get("ownerReferences"))


def label_errors(value: Any) -> Iterator[FieldError]:
    """Yield what the API server refuses in `metadata.labels`; nothing if it is not a mapping."""
    if not isinstance(value, Mapping):
        return
    field = ("metadata", "labels")
    for key, label in value.items():
        problem = qualified_name_problem(str(key))
        if problem:
            yield _label_error(field, str(key), problem, str(key))
        problem = label_value_problem(label) if isinstance(label, str) else ""
        if problem:
            yield _label_error(field, label, problem, str(key))


def annotation_errors(value: Any) -> Iterator[FieldError]:
    """Yield the errors of `metadata.annotations`, including the limit on the total bytes."""
    if not isinstance(value, Mapping):
        return
    field = ("metadata", "annotations")
    size = 0
    for key, text in value.items():
        size += len(str(key).encode()) + len(str(text).encode())
        problem = qualified_name_problem(str(key).lower())
        if problem:
            yield _label_error(field, str(key), problem, str(key))
    if size > MAX_ANNOTATIONS:
        yield FieldError(
            field, f"{path(field)}: Too long: may not be more than {MAX_ANNOTATIONS} bytes"
        )


def _finalizers(value: Any) -> Iterator[FieldError]:
    if not isinstance(value, list):
        return
    for index, name in enumerate(value):
        problem = qualified_name_problem(name) if isinstance(name, str) else ""
        if problem:
            yield FieldError(
                ("metadata", "finalizers", index),
                invalid(("metadata", "finalizers"), name, problem).message,
            )


def _owners(value: Any) -> Iterator[FieldError]:
    if not isinstance(value, list):
        return
    field: tuple[Key, ...] = ("metadata", "ownerReferences")
    controllers = 0
    for index, owner in enumerate(value):
        if not isinstance(owner, Mapping):
            continue
        for key, word in (
            ("apiVersion", "version"),
            ("kind", "kind"),
            ("name", "name"),
            ("uid", "uid"),
        ):
            if not owner.get(key):
                message = invalid((*field, key), "", f"{word} must not be empty").message
                yield FieldError((*field, index), message)
        controllers += owner.get("controller") is True
    if controllers > 1:
        yield FieldError(
            field,
            f"{path(field)}: Invalid value: Only one reference can have Controller set to true",
        )


def _label_error(field: tuple[Key, ...], value: str, detail: str, key: str) -> FieldError:
    """Return an error that names the whole field, like Kubernetes, and points to the key."""
    return FieldError((*field, key), invalid(field, value, detail).message)
