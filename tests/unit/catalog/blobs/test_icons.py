"""Icons: the image type of bytes."""

from __future__ import annotations

import pytest

from olmkit.catalog.blobs import icons

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><g/></svg>'


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"BM\0\0", "image/bmp"),
        (b"\0\0\1\0", "image/vnd.microsoft.icon"),
        (SVG, icons.SVG),
        (b'<?xml version="1.0"?>\n<!-- made by hand -->\n<!DOCTYPE svg>\n' + SVG, icons.SVG),
        (SVG + b"\n<!-- end -->\n", icons.SVG),
        (SVG + b"more", ""),
        (b"<html><svg></svg></html>", ""),
        (b"\0" + SVG, ""),
        ("<!-- é -->".encode() + SVG, ""),
        (b"text", ""),
        (b"", ""),
    ],
)
def test_an_image_is_known_by_its_bytes(data: bytes, media_type: str) -> None:
    assert icons.detect(data) == media_type


def test_hostile_text_is_read_fast() -> None:
    assert icons.detect(b"<svg" + b"<!--" * 200_000) == ""
    assert icons.detect(b" " * 200_000 + b"<svg>" * 2) == ""


def test_an_icon_has_its_declared_and_its_detected_type() -> None:
    assert icons.from_data(SVG, "image/png") == icons.Icon("image/png", icons.SVG, len(SVG))
