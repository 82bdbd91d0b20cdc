"""Patterns as Go reads them; the expected results are from the `regexp` of Go 1.26."""

from __future__ import annotations

import pytest

from olmkit.base.go import patterns as go_patterns

PATTERNS = [
    *("", "^[a-z]{1,3}$", "a|b", "(a)*?", "^*", "a{,3}", "{", "[]a]", "[^]]", r"[\d-x]", "[a-]"),
    *(r"\pL", r"\p{Lu}", r"\P{^Greek}", "[[:alpha:][:^digit:]]", r"\Qa[*\E+", r"\Q(", r"a\z"),
    *(r"\x41\x{10FFFF}\012\a\n\-\_", "(?i)a(?s-m:b)", "(?P<name>a)(?<other>b)", "é|ü"),
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_that_go_compiles_has_no_error(pattern: str) -> None:
    assert go_patterns.fault(pattern) == ""


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("[a-z", "missing closing ]: `[a-z`"),
        ("[a", "missing closing ]: `[a`"),
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a|+", "missing argument to repetition operator: `+`"),
        ("(?i)*", "missing argument to repetition operator: `*`"),
        (r"\Q\E*", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a++", "invalid nested repetition operator: `++`"),
        ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[[:word", "missing closing ]: `[[:word`"),
        ("[[:none:]]", "invalid character class range: `[:none:]`"),
        (r"\pX", r"invalid character class range: `\pX`"),
        (r"[a-\d]", r"invalid escape sequence: `\d`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        (r"\u0041", r"invalid escape sequence: `\u`"),
        (r"\x{110000}", r"invalid escape sequence: `\x`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?P=a)", "invalid or unsupported Perl syntax: `(?P`"),
        ("(?P<a", "invalid named capture: `(?P<a`"),
        ("(?<=a)", "invalid named capture: `(?<=a)`"),
    ],
)
def test_a_pattern_that_go_does_not_compile_is_reported_with_its_message(
    pattern: str, words: str
) -> None:
    assert go_patterns.fault(pattern) == words
