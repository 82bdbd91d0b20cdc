"""Whole numbers of values as flags of helm."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.edges.programs.number_flags import number_flags


@pytest.mark.parametrize(
    ("values", "flag"),
    [
        ({"a": 1000000, "b": {"c": -2}}, "a=1000000,b.c=-2"),
        ({"l": [1, [2, "x", 3], {"m": 4}]}, "l[0]=1,l[1][0]=2,l[1][2]=3,l[2].m=4"),
        ({"a.b": {"c,d=e[0]\\": 1}}, r"a\.b.c\,d\=e\[0]\\=1"),
        ({"a": True, "b": 1.5, "c": "7", "d": None, "e": 0}, "e=0"),
        ({"a": (1 << 63) - 1, "b": 1 << 63, "c": {"": 1}}, "a=9223372036854775807"),
    ],
)
def test_whole_numbers_are_set(values: Any, flag: str) -> None:
    assert number_flags(values) == ["--set", flag]


@pytest.mark.parametrize("values", [{}, None, {"a": "b"}, {"a": [1.0]}])
def test_values_without_whole_numbers_need_no_flag(values: Any) -> None:
    assert number_flags(values) == []


def test_numbers_beyond_the_limits_of_helm_and_linux_stay_in_the_file() -> None:
    deep: Any = 1
    for _ in range(31):
        deep = {"a": deep}
    assert number_flags(deep) == []
    flags = number_flags({"list": [10**9] * 70000})
    assert {len(one) < 128 << 10 for one in flags} == {True}
    assert 256 << 10 < sum(map(len, flags)) < 1 << 20
