import pytest

from olmkit.base.json import positions as json_positions


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        (b"", "unexpected EOF", 0),
        (b"{", "unexpected EOF", 1),
        (b'{"a":1', "unexpected EOF", 6),
        (b"@", "invalid character '@' looking for beginning of value", 0),
        (b"[1,]", "invalid character ']' looking for beginning of value", 3),
        (b"[1 2]", "invalid character '2' after array element", 3),
        (b'{"a" 1}', "invalid character '1' after object key", 5),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair", 7),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string", 7),
        (b"{'a':1}", "invalid character '\\'' looking for beginning of object key string", 1),
        (b"trux", "invalid character 'x' in literal true (expecting 'e')", 3),
        (b"[-a]", "invalid character 'a' in numeric literal", 2),
        (b"[1.x]", "invalid character 'x' after decimal point in numeric literal", 3),
        (b"[1ex]", "invalid character 'x' in exponent of numeric literal", 3),
        (b"[1e-x]", "invalid character 'x' in exponent of numeric literal", 4),
        (b'"\n"', "invalid character '\\n' in string literal", 1),
        (b'"\\x"', "invalid character 'x' in string escape code", 2),
        (b'"\\u12x"', "invalid character 'x' in \\u hexadecimal character escape", 5),
        (b'"\x01"', "invalid character '\\x01' in string literal", 1),
    ],
)
def test_errors_are_reported_with_the_messages_of_go(
    text: bytes, message: str, offset: int
) -> None:
    error = json_positions.explain(text)

    assert error is not None
    assert (error.message, error.offset) == (message, offset)


def test_valid_json_has_no_errors() -> None:
    assert (
        json_positions.explain(b'{"a": [1, -2.5e3, true, false, null, "x\\u00e9"], "b": {}}')
        is None
    )


def test_deep_nesting_is_refused() -> None:
    error = json_positions.explain(b"[" * 10_000)

    assert error is not None
    assert "nested more than 500 levels" in error.message


def test_values_and_keys_have_lines_and_columns() -> None:
    node = json_positions.compose('{"é": [1,\n  {"b\\n": "x"}]}'.encode())

    key, value = node.entries["é"]
    inner = value.entries[1][1]
    assert (key.line, key.column, key.end_column) == (0, 1, 4)
    assert (inner.line, inner.column) == (1, 2)
    assert inner.entries["b\n"][1].column == 10
    assert (node.end_line, node.end_column) == (1, 16)


def test_a_repeated_key_keeps_both_positions() -> None:
    node = json_positions.compose(b'{"a": 1, "a": 2, "a": 3}')

    assert [(name, first.column, again.column) for name, first, again in node.twice] == [
        ("a", 1, 9),
        ("a", 9, 17),
    ]
