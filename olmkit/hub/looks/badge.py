"""A badge with the version of an operator, for other pages: SVG without font, script or link."""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import escape

from olmkit.hub.looks.text import clean, shortened

_LETTER: Final = 6.6  # average width in pixels of a letter at 11 pixels
_LONGEST: Final = 40


def svg(name: str, version: str) -> str:
    """Return the badge: the name on grey, the version on blue."""
    left, right = (_part(one) for one in (name, version or "no version"))
    first, second = (round(len(one) * _LETTER + 12) for one in (left, right))
    title = escape(f"{left}: {right}", {'"': "&quot;"})
    width = first + second
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{title}">
<title>{title}</title>
<clipPath id="r"><rect width="{width}" height="20" rx="4"/></clipPath>
<g clip-path="url(#r)"><rect width="{first}" height="20" fill="#4a5261"/>
<rect x="{first}" width="{second}" height="20" fill="#2f55c8"/></g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{first / 2:g}" y="14" textLength="{first - 12}">{escape(left)}</text>
<text x="{first + second / 2:g}" y="14" textLength="{second - 12}">{escape(right)}</text></g>
</svg>
"""


def _part(text: str) -> str:
    shown = "".join(char for char in clean(text) if char.isprintable())
    return shortened(shown, _LONGEST) or "?"
