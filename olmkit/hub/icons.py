"""Icons of packages as files: known images only, and SVG rebuilt from an allowlist.

A page shows an icon as an image, in which scripts do not run. But the file also has an address, at
which the script of an SVG would run.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from olmkit.catalog.blobs import icons
from olmkit.kube.objects import mapping, sequence

MAX_ICON: Final = 256 * 1024
_ENDINGS: Final = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
}
_ELEMENTS: Final = frozenset(
    {
        *("svg", "g", "path", "circle", "rect", "ellipse", "line", "polyline", "polygon"),
        *("defs", "stop", "linearGradient", "radialGradient", "clipPath", "mask", "use"),
        *("text", "tspan", "title", "desc", "symbol", "switch"),
    }
)
_ATTRIBUTE: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9-]{0,40}")
# Parts of a style that may name another file, and escapes that could hide one.
_FETCHING: Final = re.compile(r"url|@|\\|image|expression|src", re.IGNORECASE)
_MAX_ELEMENTS: Final = 5000
_SVG: Final = "http://www.w3.org/2000/svg"


def package_icon(fields: Mapping[str, Any], csv: Mapping[str, Any]) -> tuple[str, bytes] | None:
    """Return path and bytes of the icon of the package, else of the CSV; None if there is none."""
    spec = mapping(csv.get("spec"))
    for found in (mapping(fields.get("icon")), *map(mapping, sequence(spec.get("icon"))[:1])):
        data = _decode(found.get("base64data"))
        made = _file(data) if data else None
        if made is not None:
            return made
    return None


def _decode(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value if len(value) <= MAX_ICON else b""
    if not isinstance(value, str) or len(value) > MAX_ICON * 2:
        return b""
    try:
        data = base64.b64decode("".join(value.split()), validate=True)
    except (binascii.Error, ValueError):
        return b""
    return data if len(data) <= MAX_ICON else b""


def _file(data: bytes) -> tuple[str, bytes] | None:
    ending = _ENDINGS.get(icons.detect(data), "")
    if not ending:
        drawn = svg(data)
        if drawn is None:
            return None
        data, ending = drawn, "svg"
    return f"icons/{hashlib.sha256(data).hexdigest()[:20]}.{ending}", data


def svg(data: bytes) -> bytes | None:
    """Return an SVG without scripts, styles and external references, or None."""
    made = _Drawing()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = made.start
    parser.EndElementHandler = made.end
    parser.CharacterDataHandler = made.characters
    parser.StartDoctypeDeclHandler = made.refuse
    parser.EntityDeclHandler = made.refuse
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, _RefusedError, ValueError):
        return None
    return "".join(made.parts).encode() if made.is_svg else None


class _RefusedError(Exception):
    pass


class _Drawing:
    """The kept parts of an SVG while it is parsed."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.is_svg = False
        self._open: list[bool] = []
        self._left_out = 0
        self._count = 0
        self._style: list[str] | None = None

    def refuse(self, *_: object) -> None:
        raise _RefusedError

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        space, _, local = name.rpartition(" ")
        if not self._open:
            if local != "svg" or space not in ("", _SVG):
                raise _RefusedError
            self.is_svg = True
        self._count += 1
        if self._count > _MAX_ELEMENTS or len(self._open) > 200:
            raise _RefusedError
        if local == "style" and not self._left_out and self._style is None:
            self._style = []
        is_kept = not self._left_out and local in _ELEMENTS and space in ("", _SVG)
        self._open.append(is_kept)
        if not is_kept:
            self._left_out += 1
            return
        kept = "".join(f" {key}={quoteattr(value)}" for key, value in _attributes(attributes))
        first = f' xmlns="{_SVG}"' if len(self._open) == 1 else ""
        self.parts.append(f"<{local}{first}{kept}>")

    def end(self, name: str) -> None:
        if self._open.pop():
            self.parts.append(f"</{name.rpartition(' ')[2]}>")
        else:
            self._left_out -= 1
            if self._style is not None and not self._left_out:
                text = "".join(self._style)
                self._style = None
                if not _FETCHING.search(text):
                    self.parts.append(f"<style>{escape(text)}</style>")

    def characters(self, data: str) -> None:
        if not self._left_out:
            self.parts.append(escape(data))
        elif self._style is not None:
            self._style.append(data)


def _attributes(values: Mapping[str, str]) -> list[tuple[str, str]]:
    kept = []
    for name, value in values.items():
        local = name.rpartition(" ")[2]
        if not _ATTRIBUTE.fullmatch(local) or local.lower().startswith("on"):
            continue
        if local == "href" and not re.fullmatch(r"#[\w.-]+", value):
            continue
        if " " in name and local != "href":
            continue
        if local == "style" and _FETCHING.search(value):
            continue
        if "url" in value.lower() and not re.fullmatch(r"\s*url\(#[\w.-]+\)\s*", value):
            continue
        kept.append((local, value))
    return sorted(dict(kept).items())
