"""Syntax errors of JSON read the same on each supported Python."""

from __future__ import annotations

import json

import pytest

from olmkit.base.json import syntax_errors

COMMA_IN_ARRAY = "Illegal trailing comma before end of array"
COMMA_IN_OBJECT = "Illegal trailing comma before end of object"
NO_NAME = "Expecting property name enclosed in double quotes"


def _error(text: str) -> json.JSONDecodeError:
    with pytest.raises(json.JSONDecodeError) as raised:
        json.loads(text)
    return raised.value


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("[1,]", COMMA_IN_ARRAY, 2),
        ("[1 ,\n\t]", COMMA_IN_ARRAY, 3),
        ('{"a":[[1],]}', COMMA_IN_ARRAY, 9),
        ('{"a":1 , }', COMMA_IN_OBJECT, 7),
        ('[{"a":1,}]', COMMA_IN_OBJECT, 7),
        ("[,]", "Expecting value", 1),
        ("[1,}", "Expecting value", 3),
        ("[1,,]", "Expecting value", 3),
        ("{,}", NO_NAME, 1),
        ('{"a":1,]', NO_NAME, 7),
        ('{"a":}', "Expecting value", 5),
        ("]", "Expecting value", 0),
        ("[] ,]", "Extra data", 3),
    ],
)
def test_an_error_has_the_message_and_place_of_newer_versions(
    text: str, message: str, place: int
) -> None:
    error = syntax_errors.same_on_each_python(_error(text))

    assert (error.msg, error.pos) == (message, place)


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [("[1,\n]", "Expecting value", 4), ('{"a":1,}', NO_NAME, 7)],
)
def test_an_error_of_an_older_version_points_to_the_comma(
    text: str, message: str, place: int
) -> None:
    error = syntax_errors.same_on_each_python(json.JSONDecodeError(message, text, place))

    assert error.msg.startswith("Illegal trailing comma before end of ")
    assert text[error.pos] == ","
    assert (error.lineno, error.colno) == (1, error.pos + 1)


def test_a_description_has_the_place_of_a_syntax_error_only() -> None:
    assert syntax_errors.describe(_error("[1,]")) == f"{COMMA_IN_ARRAY}: line 1 column 3 (char 2)"
    assert syntax_errors.describe(ValueError("too many digits")) == "too many digits"
