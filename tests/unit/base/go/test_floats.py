import math

import pytest

from olmkit.base.go import floats


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, "1.5"),
        (0.000001, "0.000001"),
        (1e-7, "1e-7"),
        (1.5e-7, "1.5e-7"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (12345678901234567890.0, "12345678901234567000"),
        (-0.0, "-0"),
        (-2.5e30, "-2.5e+30"),
    ],
)
def test_json_only_has_an_exponent_for_very_small_and_large_numbers(
    value: float, text: str
) -> None:
    assert floats.json_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, "1.5"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (123456.5, "123456.5"),
        (1234567.5, "1.2345675e+06"),
        (1e21, "1e+21"),
        (math.inf, ".inf"),
        (-math.inf, "-.inf"),
        (math.nan, ".nan"),
    ],
)
def test_yaml_has_an_exponent_of_two_digits_from_a_million_on(value: float, text: str) -> None:
    assert floats.yaml_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.5, "1.5"), (1.23456789, "1.2345679"), (1e3, "1000"), (1e300, ".inf"), (1e6, "1e+06")],
)
def test_a_key_is_rounded_to_32_bits(value: float, text: str) -> None:
    assert floats.key_text(value) == text


def test_a_number_without_a_fraction_is_an_integer() -> None:
    assert repr(floats.normal(1.0)) == "1"
    assert floats.normal(12345678901234567890.0) == 12345678901234567000
    assert repr(floats.normal(1e21)) == "1e+21"
    assert repr(floats.normal(-0.0)) == "-0.0"
    assert floats.normal(1.5) == 1.5
