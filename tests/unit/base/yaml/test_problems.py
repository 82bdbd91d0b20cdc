"""Errors in YAML texts: in plain words, and at the line of the error."""

from __future__ import annotations

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.base.yaml import problems


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a: [1, 2\nb: 1\n", "1:4", "the list that begins here is not closed with `]`"),
        ("a: 1\nb:\n  - {c: 1\n  - d\n", "3:5", "the mapping that begins here is not closed"),
        ('a: "x\nb: 1\nc: 2\n', "1:4", "the quote that begins here is not closed"),
        ("a: 'x\nb: 1\n---\n", "1:4", "the quote that begins here is not closed"),
        ("a: 1\nb\nc: 2\n", "2:1", "expected `:` after the key that begins here"),
        ("a: b: c\n", "1:5", "a key cannot begin inside the value of another key"),
        ("a: 1\n b: 2\n", "2:3", "a key cannot begin inside the value of another key"),
        ("a:\n\tb: 1\n", "2:1", "a tab indents this line"),
        ("a: 'x' y\n", "1:8", "expected a key or the end of the mapping"),
        ("a: `x`\n", "1:4", "a value cannot begin with a backtick"),
        ("a: %x\n", "1:4", "a value cannot begin with `%`"),
        ("- a\nb: c\n", "2:1", "expected `-` for the next entry, or the end of the list"),
        ('a: "\\q"\n', "1:5", "unknown escape in a double-quoted string"),
        ("a: |x\n  y\n", "1:5", "expected the end of the line"),
        ("a: 1\n---\nb: [\n", "3:4", "the list that begins here is not closed with `]`"),
    ],
)
def test_an_error_is_reported_at_its_line(text: str, place: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        list(documents.load_all(text.encode(), "f"))

    assert caught.value.message.startswith(f"f:{place}: not valid YAML: {message}")
    assert caught.value.hint


@pytest.mark.parametrize("reason", [*problems.TABLE, "found character that cannot start any token"])
def test_no_message_of_libyaml_reaches_a_user(reason: str) -> None:
    problem = problems.describe(reason, "@")

    assert problem.message != reason
    assert not problem.message.startswith(("found", "did not find", "could not find"))
    assert problem.hint


def test_an_unknown_message_of_libyaml_has_a_plain_text_too() -> None:
    assert problems.describe("a new reason").message == "the structure cannot be read"
