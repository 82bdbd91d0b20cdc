"""Secrets and their deletion in the binary form of Kubernetes, which helm sends for its releases.

Source: the `.proto` files of `k8s.io/api/core/v1` and of apimachinery. Other kinds are not read.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

from olmkit.kube.objects import Manifest

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_TEXTS = {1: "name", 2: "generateName", 3: "namespace", 5: "uid", 6: "resourceVersion"}
_MAPS = {11: "labels", 12: "annotations"}

Value = int | bytes


def decode(body: bytes) -> Manifest:
    """Return a Secret or the options of a deletion; raise `ValueError` for anything else."""
    if not body.startswith(_MAGIC):
        raise ValueError("the body does not start with the mark of Kubernetes' binary form")
    outer = dict(_fields(body[len(_MAGIC) :]))
    kind = {number: _text(value) for number, value in _fields(_bytes(outer.get(1, b"")))}
    if kind.get(2) == "DeleteOptions":
        return _delete_options(_bytes(outer.get(2, b"")))
    if kind.get(2) != "Secret":
        raise ValueError(f"the kind `{kind.get(2, '')}` is not read in the binary form")
    found: Manifest = {"apiVersion": kind.get(1, "v1"), "kind": "Secret", "metadata": {}}
    for number, value in _fields(_bytes(outer.get(2, b""))):
        if number == 1:
            found["metadata"] = _metadata(_bytes(value))
        elif number == 2:
            key, data = _entry(value)
            found.setdefault("data", {})[key] = base64.b64encode(data).decode()
        elif number == 3:
            found["type"] = _text(value)
    return found


def _delete_options(data: bytes) -> Manifest:
    found: Manifest = {"apiVersion": "v1", "kind": "DeleteOptions"}
    for number, value in _fields(data):
        if number == 1:
            found["gracePeriodSeconds"] = value
        elif number == 4:
            found["propagationPolicy"] = _text(value)
    return found


def _metadata(data: bytes) -> dict[str, object]:
    found: dict[str, object] = {}
    maps: dict[str, dict[str, str]] = {}
    for number, value in _fields(data):
        if number in _TEXTS and value:
            found[_TEXTS[number]] = _text(value)
        elif number in _MAPS:
            key, text = _entry(value)
            maps.setdefault(_MAPS[number], {})[key] = text.decode()
    return found | maps


def _entry(value: Value) -> tuple[str, bytes]:
    found = dict(_fields(_bytes(value)))
    return _text(found.get(1, b"")), _bytes(found.get(2, b""))


def _bytes(value: Value) -> bytes:
    if isinstance(value, int):
        raise ValueError("a field of the binary form has another type")
    return value


def _text(value: Value) -> str:
    return _bytes(value).decode()


def _fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Yield number and value of each field: numbers, and bytes of all other types."""
    at = 0
    while at < len(data):
        tag, at = _number(data, at)
        number, form = tag >> 3, tag & 7
        if form == 0:
            value, at = _number(data, at)
            yield number, value
            continue
        if form not in (1, 2, 5):
            raise ValueError("the binary form has an unknown wire type")
        size, at = _number(data, at) if form == 2 else ({1: 8, 5: 4}[form], at)
        if at + size > len(data):
            raise ValueError("the binary form ends too early")
        yield number, data[at : at + size]
        at += size


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at
    raise ValueError("the binary form ends too early")
