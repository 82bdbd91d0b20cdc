"""What is read from the text of a Go file without its syntax tree."""

from __future__ import annotations

import pytest

from olmkit.apis.go import file as go_file


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        (None, None),
        ("", None),
        ('json:"a"', "a"),
        ('yaml:"b" json:"a,omitempty"', "a,omitempty"),
        ('json:"a\\"b"', 'a"b'),
        ('json:"', None),
        ('json: "a"', None),
        ("json", None),
        ('yaml:"b"json:"a"', "a"),
        (':"x" json:"a"', None),
    ],
)
def test_the_json_part_of_a_tag_is_read_as_in_go(tag: str | None, name: str | None) -> None:
    assert go_file.json_tag(tag) == name
