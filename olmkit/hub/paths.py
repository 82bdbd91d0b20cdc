"""The paths of pages relative to the first page. Only safe names become part of a path."""

from __future__ import annotations

import hashlib
import re
from typing import Final

_SAFE: Final = re.compile(r"[a-z0-9]([a-zA-Z0-9._+-]{0,198}[a-zA-Z0-9])?")
_SAFE_KIND: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")
# Names in `p/PKG/` and of web server folders that are not bundles.
_RESERVED: Final = frozenset(
    {"graph", "compare", "index.html", "package.json", "feed.xml", "badge.svg"}
)


def folder(name: str) -> str:
    """Return `name` if it is a valid folder name on every system, else a hash of it."""
    if _SAFE.fullmatch(name) and ".." not in name and name not in _RESERVED:
        return name
    return digest(name.encode("utf-8", "replace"))


def digest(data: bytes) -> str:
    return "x" + hashlib.sha256(data).hexdigest()[:16]


def package(base: str, name: str) -> str:
    """Return the page of a package; `base` is empty or the folder of its catalog with a slash."""
    return f"{base}p/{folder(name)}/"


def bundle(base: str, package_name: str, name: str) -> str:
    return f"{package(base, package_name)}{folder(name)}/"


def graph(base: str, name: str) -> str:
    return f"{package(base, name)}graph/"


def compare(base: str, name: str) -> str:
    return f"{package(base, name)}compare/"


def query(value: str) -> str:
    """Percent-encode `value` for the query of a URL: RFC 3986, section 2."""
    return "".join(
        char if char.isascii() and (char.isalnum() or char in "-._~") else _encode(char)
        for char in value
    )


def _encode(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "replace"))


def kind(group: str, name: str) -> str:
    shown = name if _SAFE_KIND.fullmatch(name) else digest(name.encode("utf-8", "replace"))
    return f"api/{folder(group)}/{shown}/"


def crd(found: str, version: str) -> str:
    return f"crd/{found}/{folder(version)}/"
