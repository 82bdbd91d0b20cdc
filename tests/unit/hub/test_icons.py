"""Icons become files that only show a picture."""

from __future__ import annotations

import base64

import pytest

from olmkit.hub import icons

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M0 0h8v8z"/></svg>'


@pytest.mark.parametrize(
    "inside",
    [
        b"<script>alert(1)</script>",
        b"<g><body xmlns='http://www.w3.org/1999/xhtml'>x</body></g>",
        b"<a xmlns:xlink='http://www.w3.org/1999/xlink' xlink:href='javascript:alert(1)'><g/></a>",
        b"<style>@import 'https://example.com/x.css'</style>",
        b"<image href='https://example.com/x.png'/>",
        b"<g onload='alert(1)'/>",
        b"<use href='https://example.com/x.svg#y'/>",
        b"<g style='background:url(https://example.com/x)'/>",
        b"<rect fill='url(https://example.com/x)'/>",
        b"<g><set attributeName='href' to='javascript:alert(1)'/></g>",
    ],
)
def test_nothing_in_an_svg_runs_or_loads(inside: bytes) -> None:
    drawn = icons.svg(SVG.replace(b"<path", inside + b"<path"))
    assert drawn is not None
    assert b'd="M0 0h8v8z"' in drawn
    for word in (b"alert", b"example.com", b"script", b"xhtml", b"import"):
        assert word not in drawn


def test_colors_of_a_style_are_kept() -> None:
    style = b"<style>.a{fill:#c00}</style>"
    drawn = icons.svg(SVG.replace(b"<path", style + b'<path class="a"'))
    assert drawn is not None
    assert style in drawn
    assert b'class="a"' in drawn
    for text in (b".a{fill:u\\72l(//x)}", b".a{fill:url(//x)}", b"@font-face{}", b"a<script/>b"):
        found = icons.svg(SVG.replace(b"<path", b"<style>" + text + b"</style><path"))
        assert found is not None
        assert b"//x" not in found
        assert b"script" not in found
        assert b"@" not in found


@pytest.mark.parametrize(
    "text",
    [
        b'<!DOCTYPE svg [<!ENTITY a "b">]><svg xmlns="http://www.w3.org/2000/svg">&a;</svg>',
        b"<html><svg/></html>",
        b"<svg",
        b"<svg xmlns='http://www.w3.org/2000/svg'>" + b"<g>" * 300 + b"</g>" * 300 + b"</svg>",
        b"",
    ],
)
def test_another_file_is_not_an_icon(text: bytes) -> None:
    assert icons.svg(text) is None


def test_the_icon_of_the_package_comes_first_and_an_invalid_one_is_ignored() -> None:
    csv = {"spec": {"icon": [{"base64data": base64.b64encode(SVG).decode()}]}}
    found = icons.package_icon({"icon": {"base64data": "%%%"}}, csv)
    assert found is not None
    assert found[0].endswith(".svg")
    large = base64.b64encode(b"\x89PNG" + b"\0" * icons.MAX_ICON).decode()
    assert icons.package_icon({"icon": {"base64data": large}}, {}) is None
    assert icons.package_icon({}, {"spec": {"icon": None}}) is None
