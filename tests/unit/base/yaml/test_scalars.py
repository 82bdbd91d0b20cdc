from typing import Any

import pytest

from olmkit.base.yaml import scalars as yaml_scalars
from olmkit.base.yaml.scalars import ScalarError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y", True),
        ("On", True),
        ("NO", False),
        ("tRue", "tRue"),
        ("~", None),
        ("", None),
        ("nUll", "nUll"),
        ("010", 8),
        ("0o17", 15),
        ("0x1F", 31),
        ("-0b11", -3),
        ("0b-1", -1),
        ("09", 9.0),
        ("1_000", 1000),
        ("+5", 5),
        ("5.", 5.0),
        (".5", 0.5),
        (".5_0", 0.5),
        ("._5", "._5"),
        ("1e3", 1000.0),
        ("1e400", "1e400"),
        ("1:30", "1:30"),
        ("2020-01-01", "2020-01-01"),
        ("18446744073709551615", 18446744073709551615),
        ("+18446744073709551615", 1.8446744073709552e19),
        ("18446744073709551616", 1.8446744073709552e19),
        ("9223372036854775808", 9223372036854775808),
        ("+9223372036854775807", 9223372036854775807),
        ("+9223372036854775808", 9.223372036854775808e18),
        ("-9223372036854775808", -9223372036854775808),
        ("-9223372036854775809", -9.223372036854775808e18),
        ("0.1.0", "0.1.0"),
        ("+", "+"),
        ("0x", "0x"),
        ("=", "="),
        ("<<", "<<"),
    ],
)
def test_a_plain_scalar_has_the_value_that_go_reads(text: str, value: Any) -> None:
    result = yaml_scalars.plain(text)

    assert (type(result), result) == (type(value), value)


@pytest.mark.parametrize(
    ("tag", "text", "value"),
    [
        (yaml_scalars.STR, "1", "1"),
        (yaml_scalars.INT, "2", 2),
        (yaml_scalars.FLOAT, "3", 3.0),
        (yaml_scalars.FLOAT, "9223372036854775807", 9.223372036854775807e18),
        (yaml_scalars.FLOAT, "-9223372036854775808", -9.223372036854775808e18),
        (yaml_scalars.BOOL, "yes", True),
        (yaml_scalars.NULL, "~", None),
        (yaml_scalars.TIMESTAMP, "2020-01-01", "2020-01-01"),
        (yaml_scalars.TIMESTAMP, "2020-01-01T10:00:00Z", "2020-01-01T10:00:00Z"),
        (yaml_scalars.BINARY, "aGVs\nbG8=", "hello"),
        (yaml_scalars.BINARY, "/w==", "�"),
        ("!custom", "1", "1"),
        (None, "1", 1),
    ],
)
def test_a_tag_decides_the_type(tag: str | None, text: str, value: Any) -> None:
    assert yaml_scalars.parse_tagged(tag, text) == value


@pytest.mark.parametrize(
    ("tag", "text", "message"),
    [
        (yaml_scalars.INT, "1.5", "cannot decode !!float `1.5` as a !!int"),
        (yaml_scalars.BOOL, "1", "cannot decode !!int `1` as a !!bool"),
        (yaml_scalars.NULL, "x", "cannot decode !!str `x` as a !!null"),
        (yaml_scalars.FLOAT, "18446744073709551615", "cannot decode !!int"),
        (yaml_scalars.FLOAT, "9223372036854775808", "cannot decode !!int"),
        (yaml_scalars.TIMESTAMP, "2020-13-01", "cannot decode !!str"),
        (yaml_scalars.BINARY, "a!", "invalid base64 data"),
    ],
)
def test_a_tag_that_does_not_match_its_value_is_refused(tag: str, text: str, message: str) -> None:
    with pytest.raises(ScalarError, match=message):
        yaml_scalars.parse_tagged(tag, text)


@pytest.mark.parametrize(
    ("value", "key"), [("a", "a"), (True, "true"), (False, "false"), (10, "10"), (1e3, "1000")]
)
def test_keys_become_strings(value: Any, key: str) -> None:
    assert yaml_scalars.key(value) == key


@pytest.mark.parametrize("value", [None, 2**63])
def test_null_and_huge_integers_are_not_keys(value: Any) -> None:
    with pytest.raises(ScalarError, match="cannot be a key"):
        yaml_scalars.key(value)
