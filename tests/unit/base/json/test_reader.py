import pytest

from olmkit.base.json import reader as json_reader
from olmkit.base.json.reader import JsonError


def test_integers_of_64_bits_stay_exact() -> None:
    assert json_reader.read(b"[9007199254740993, 18446744073709551615]") == [
        9007199254740993,
        18446744073709551615,
    ]


def test_numbers_are_converted_to_doubles_on_request() -> None:
    value = json_reader.read_doubles(b"[9007199254740993, 1.0, 1e3, -0, 1e30, 1.5]")

    assert repr(value) == "[9007199254740992, 1, 1000, -0.0, 1e+30, 1.5]"


def test_invalid_characters_are_replaced() -> None:
    assert json_reader.read(b'{"a": "\xff\\ud800x \\ud83d\\ude00"}') == {"a": "��x 😀"}


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        (b"", 0),
        (b"{", 1),
        (b'{"a" 1}', 5),
        (b"[1] x", 4),
        ('{"é": x}'.encode(), 7),
        (b'"\n"', 1),
        (b"[NaN]", 0),
        (b"[1e400]", 0),
    ],
)
def test_text_that_is_not_json_is_refused_with_its_place(text: bytes, offset: int) -> None:
    with pytest.raises(JsonError) as caught:
        json_reader.read(text)

    assert caught.value.offset == offset


@pytest.mark.parametrize("depth", [501, 5_000, 1_000_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    with pytest.raises(JsonError, match="nested more than 500 levels"):
        json_reader.read(b"[" * depth + b"]" * depth)


def test_nesting_of_500_levels_is_read() -> None:
    assert json_reader.read(b"[" * 500 + b"]" * 500)


def test_a_stream_has_the_positions_of_its_values() -> None:
    data = '{"é": 1}[2] \n 3'.encode()

    values = list(json_reader.read_stream(data, 0))

    assert values == [({"é": 1}, 0, 9), ([2], 9, 12), (3, 15, 16)]


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        (b"1234567890123456", True),
        (b"-1234567890123456", True),
        (b'{"a":1234567890123456}', True),
        (b"[1,\t-12345678901234567890]", True),
        (b'{"a":"x1234567890123456"}', False),
        (b'{"a":"x1234567890123456","b":123456789012345}', False),
        (b'{"a":"sha256:12345678901234567","b":1}', True),  # It could be a number.
        (b'{"a":"--1234567890123456"}', False),
        (b'{"a":"x12345678901234567","b":1234567890123456}', True),
        (b"[1.5,-0]", True),
        (b"-0", True),
        (b"[-0.5,0]", False),
        (b"", False),
    ],
)
def test_numbers_that_a_double_can_change_are_detected(text: bytes, odd: bool) -> None:
    assert json_reader.has_odd_numbers(text) is odd
