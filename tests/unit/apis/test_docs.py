"""Documentation text: the parts of a docstring or comment that become a description."""

from __future__ import annotations

import pytest

from olmkit.apis import docs
from olmkit.apis.python.comments import Comments


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One.\n\n\n\nTwo.\n\n", "One.\n\nTwo."),
        ("One.\n+nullable\nTwo.", "One.\nTwo."),
        ("One.\nTODO: later\nTwo.", "One.\nTwo."),
        ("One.\n---\nTwo.", "One."),
        ("One.\n  ```\nTODO: dropped\nTwo.", "One.\n  ```\nTwo."),
        ("One.\n```\nTODO: kept\n---\n```\nTwo.", "One.\n```\nTODO: kept\n---\n```\nTwo."),
        ("One.   \n   two.", "One.\n   two."),
        ("One.\n+ a list item\n+1", "One.\n+ a list item\n+1"),
        ("", ""),
    ],
)
def test_text_is_cleaned_as_in_the_reference(text: str, expected: str) -> None:
    assert docs.clean(text) == expected


def test_a_docstring_loses_its_indentation() -> None:
    assert docs.from_docstring("One.\n\n    Two.\n      Three.\n    ") == "One.\n\nTwo.\n  Three."


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("Short.", 10, "Short."),
        ("One. Two three", 8, "One."),
        ("One two", 5, "One..."),
        ("Onetwo", 3, "One..."),
        ("Éééé", 3, "É..."),
        ("v1.2 and more", 8, "v1."),
        ("Any", 0, ""),
    ],
)
def test_a_long_text_is_cut(text: str, limit: int, expected: str) -> None:
    assert docs.shorten(text, limit) == expected


def test_comment_groups_end_at_blank_lines_code_and_other_indentation() -> None:
    comments = Comments("# a\n# b\n\n# c\nx = 1  # after\n# d\n    # e\n")
    assert [[line.text for line in group.lines] for group in comments.groups] == [
        [" a", " b"],
        [" c"],
        [" d"],
        [" e"],
    ]
    assert [line.text for line in comments.trailing] == [" after"]


def test_the_marker_of_a_comment_has_its_column() -> None:
    comments = Comments("    #   +nullable  \n")
    (marker,) = comments.groups[0].markers("a.py")
    assert marker.text == "nullable"
    assert (marker.at.line, marker.at.column, marker.at.end_column) == (1, 9, 18)
