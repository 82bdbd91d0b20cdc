"""Detect the image type of package icons.

The type is detected from the first bytes, as in `opm`, and SVG from its root element. The console
of a cluster shows PNG, JPEG, GIF and SVG.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

SVG: Final = "image/svg+xml"

_MAGIC: Final = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG", "image/png"),
    (b"GIF", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"BM", "image/bmp"),
    (b"II\xbc", "image/vnd.ms-photo"),
    (b"8BPS", "image/vnd.adobe.photoshop"),
    (b"\0\0\1\0", "image/vnd.microsoft.icon"),
)
# Offsets into a RIFF or an ISO media file, where its type is given.
_INNER: Final = (
    (b"WEBP", 8, "image/webp"),
    (b"ftypavif", 4, "image/avif"),
    (b"ftypheic", 4, "image/heif"),
    (b"ftypmif1", 4, "image/heif"),
)
_SVG: Final = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!doctype svg[^>]*>\s*)?<svg[^>]*>[^*]*</svg>\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Icon:
    """An icon without its data: its declared type, its actual type, and its size."""

    media_type: str
    detected: str
    size: int


def from_data(data: bytes, media_type: str) -> Icon:
    return Icon(media_type, detect(data), len(data))


def detect(data: bytes) -> str:
    """Return the media type of an image; empty if it is unknown."""
    for magic, media_type in _MAGIC:
        if data.startswith(magic):
            return media_type
    for magic, offset, media_type in _INNER:
        if data[offset : offset + len(magic)] == magic:
            return media_type
    return SVG if is_svg(data) else ""


def is_svg(data: bytes) -> bool:
    """Return whether the text is an SVG image and nothing else."""
    head = data[:24] if len(data) >= 24 else b""
    if any(byte >= 0x80 or byte <= 8 for byte in head):
        return False
    return _SVG.fullmatch(_without_comments(data)) is not None


def _without_comments(data: bytes) -> bytes:
    kept: list[bytes] = []
    position = 0
    while True:
        start = data.find(b"<!--", position)
        end = data.find(b"-->", start + 4) if start >= 0 else -1
        if end < 0:
            return b"".join([*kept, data[position:]])
        kept.append(data[position:start])
        position = end + 3
