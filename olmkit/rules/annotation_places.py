"""The places and fixes of a bundle's annotations, which several families of rules report."""

from __future__ import annotations

from typing import Any

from olmkit.base.diagnostics import Fix, Location
from olmkit.bundle import layout
from olmkit.bundle.model import Bundle
from olmkit.kube import objects
from olmkit.rules import fixes


def value_fix(bundle: Bundle, key: str, value: str) -> Fix | None:
    document = bundle.annotations_document
    return fixes.replace_value(document, (section(bundle), key), value) if document else None


def key_fix(bundle: Bundle, key: str, new: str) -> Fix | None:
    document = bundle.annotations_document
    return fixes.rename_key(document, (section(bundle), key), new) if document else None


def annotations_value(bundle: Bundle) -> Any:
    return layout.annotations_value(bundle.annotations_document)


def at(bundle: Bundle, *keys: str) -> Location:
    document = bundle.annotations_document
    return bundle.place() if document is None else document.at(section(bundle), *keys)


def at_key(bundle: Bundle, *keys: str) -> Location:
    document = bundle.annotations_document
    return bundle.place() if document is None else document.at_key(section(bundle), *keys)


def section(bundle: Bundle) -> str:
    """Return the top-level key as written."""
    document = bundle.annotations_document
    for key in objects.mapping(document.value if document else None):
        if key.lower() == "annotations":
            return key
    return "annotations"
