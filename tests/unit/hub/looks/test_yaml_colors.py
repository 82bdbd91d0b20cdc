"""Colors of YAML never change its text."""

from __future__ import annotations

import html
import re

import pytest

from olmkit.hub.looks import yaml_colors


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nb:\n  - c: true\n  - '<b>'\n# comment\n",
        "a: |\n  <script>: x\n",
        "- - a: b\n---\nx: {y: z}\n",
        'url: http://example.com\n"quoted": x\n',
        "a" * 300_000,
    ],
)
def test_the_text_is_unchanged(text: str) -> None:
    shown = str(yaml_colors.markup(text))
    assert html.unescape(re.sub("<[^>]*>", "", shown)) == text


def test_keys_numbers_and_comments_have_elements() -> None:
    shown = str(yaml_colors.markup("size: 3\n# note"))
    assert shown == ("<b>size</b>:<i> 3</i>\n<s># note</s>")
