from __future__ import annotations

import pytest

from olmkit.base.go import matching as go_matching
from olmkit.base.go.matching import PatternError


def _matches(pattern: str, text: str) -> bool:
    return go_matching.matches(pattern, text, lambda _: None)


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("", ["", "a"], []),
        ("b", ["abc"], ["", "ac"]),
        ("^b$", ["b"], ["ab", "b\n"]),
        ("(?m)^b$", ["a\nb\nc"], ["ab"]),
        ("^a.c$", ["abc"], ["a\nc", "ac"]),
        ("(?s)^a.c$", ["a\nc"], []),
        ("^(ab|c)*$", ["", "abc", "ccab"], ["ba"]),
        ("^a{2,3}$", ["aa", "aaa"], ["a", "aaaa"]),
        ("^a{2,}?$", ["aa", "aaaaa"], ["a"]),
        ("^a{2}$", ["aa"], ["aaa"]),
        ("^a{x}$", ["a{x}"], ["a"]),
        ("^[a-c^-]+$", ["a-^c"], ["d"]),
        ("^[^a-c]$", ["d", "\n"], ["b"]),
        ("^[]a]$", ["]", "a"], ["b"]),
        (r"^[\d[:^upper:]\]]+$", ["5a]"], ["A"]),
        (r"^\d+\.\w*\S$", ["12.a_x"], ["1.", "\u0661.a"]),
        (r"^[\s]\D$", ["\fa"], ["\va", " 1"]),
        (r"^\p{Lu}\pN\P{L}[^\p{^L}]$", ["É2-x"], ["é2-x", "É2--"]),
        (r"^\x41\x{e9}\101\t\*$", ["AéA\t*"], ["A"]),
        (r"^\Qa.b\E+$", ["a.bbb"], ["axb"]),
        (r"\bcat\b", ["a cat.", "cat"], ["cats"]),
        (r"\Bat\z", ["cat"], ["at", "cats"]),
        ("^(?i)stra(?-i:S)e$", ["STRASe"], ["strase"]),
        ("(?i:^[^k]$)", ["a"], ["K"]),
        ("^(?P<year>a)(?<day>b)(?:c)$", ["abc"], ["ab"]),
        ("^(a*)*$", ["", "aaa"], ["b"]),
        ("^(|a)+$", ["", "aa"], ["b"]),
    ],
)  # fmt: skip
def test_a_pattern_matches_as_in_go(pattern: str, matching: list[str], others: list[str]) -> None:
    assert [text for text in matching if not _matches(pattern, text)] == []
    assert [text for text in others if _matches(pattern, text)] == []


@pytest.mark.parametrize(
    "pattern", ["(", "(?=a)", r"\p{Greek}", "((a{99}){99}){99}", "((()*){1000}){1000}"]
)
def test_an_invalid_or_too_large_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        _matches(pattern, "a")


def test_the_time_is_proportional_to_the_text() -> None:
    steps: list[int] = []

    assert not go_matching.matches("(x+x+)+y", "x" * 1000, steps.append)

    assert sum(steps) < 50_000
