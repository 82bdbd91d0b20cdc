"""Mask the values of Secrets in status, logs, events and files of runs."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence

from olmkit.kube import objects
from olmkit.kube.objects import Manifest

MASK = "***"
_SHORT = 4  # characters; shorter values occur in many texts


def secrets_of(found: Iterable[Manifest]) -> list[str]:
    """Return the values of the Secrets among these objects, as strings; the longest first."""
    values: set[str] = set()
    for one in found:
        if not is_secret(one):
            continue
        for value in objects.mapping(one.get("stringData")).values():
            values.add(objects.scalar_text(value))
        for value in objects.mapping(one.get("data")).values():
            text = objects.scalar_text(value)
            values.add(text)
            try:
                values.add(base64.b64decode(text, validate=True).decode())
            except (ValueError, binascii.Error):
                continue
    return sorted((one for one in values if len(one) >= _SHORT), key=lambda one: (-len(one), one))


def hidden(text: str, values: Sequence[str]) -> str:
    """Return the text with each of these values masked."""
    for value in values:
        text = text.replace(value, MASK)
    return text


def is_secret(manifest: Manifest) -> bool:
    """Return whether the object is a Secret of Kubernetes."""
    return manifest.get("apiVersion") == "v1" and objects.kind(manifest) == "Secret"
