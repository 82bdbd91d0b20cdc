"""Text in double quotes, as the reference tools print it."""

from __future__ import annotations

import pytest

from olmkit.base.quoting import quote


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain", '"plain"'),
        ("", '""'),
        ('say "no"', r'"say \"no\""'),
        ("a\\b", r'"a\\b"'),
        ("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"'),
        ("\x00\x1b\x7f", r'"\x00\x1b\x7f"'),
        ("é٣", '"é٣"'),
        ("\u200b\u00a0", r'"\u200b\u00a0"'),
        ("\U000e0001", r'"\U000e0001"'),
    ],
)
def test_invisible_characters_are_escaped(text: str, wanted: str) -> None:
    assert quote(text) == wanted
