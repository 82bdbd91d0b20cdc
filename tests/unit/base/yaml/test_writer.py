from typing import Any

import pytest

from olmkit.base.yaml import writer as yaml_writer
from olmkit.base.yaml.writer import UnwritableError


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a", "a"),
        ("", '""'),
        ("y", '"y"'),
        ("null", '"null"'),
        ("1.0", '"1.0"'),
        ("1e3", '"1e3"'),
        ("0o7", '"0o7"'),
        ("1_000", '"1_000"'),
        ("12:30:45", '"12:30:45"'),
        ("2020-01-01", '"2020-01-01"'),
        ("0.1.0", "0.1.0"),
        ("nan", "nan"),
        ("<<", "<<"),
        ("=x", "=x"),
        ("<1.0.0", "<1.0.0"),
        (">=1.0.0", "'>=1.0.0'"),
        ("[]", "'[]'"),
        ("x: y", "'x: y'"),
        ("a:", "'a:'"),
        ("a:b", "a:b"),
        ("a #b", "'a #b'"),
        ("a#b", "a#b"),
        ("- x", "'- x'"),
        ("-x", "-x"),
        ("---", "'---'"),
        ("---x", "'---x'"),
        ("...", "'...'"),
        ("?", "'?'"),
        ("'", "''''"),
        ("it's", "it's"),
        (" lead", "' lead'"),
        ("trail ", "'trail '"),
        ("a\tb", '"a\\tb"'),
        ("a\r", '"a\\r"'),
        ("é", "é"),
        ("😀", '"\\U0001F600"'),
        ("\ufeffx", '"\\uFEFF\\x78"'),
        ("a\u2028b", "'a\u2028  b'"),
        ("a \u2028b", '"a \\Lb"'),
        ("a\nb\n", "|\n  a\n  b"),
        ("a\nb", "|-\n  a\n  b"),
        ("a\n\n", "|+\n  a\n"),
        ("\n", "|2+\n"),
        (" a\nb\n", "|2\n   a\n  b"),
        ("a \nb", '"a \\nb"'),
        ("a\nb ", '"a\\nb "'),
        ("a\n b", "|-\n  a\n   b"),
    ],
)
def test_strings_have_the_quotes_that_they_need(text: str, written: str) -> None:
    assert yaml_writer.write({"k": text}) == f"k: {written}\n"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "null"),
        (True, "true"),
        (0, "0"),
        (1.0, "1"),
        (-0.0, "0"),
        (1.5, "1.5"),
        (1e-7, "1e-07"),
        (123456789.125, "1.23456789125e+08"),
        (18446744073709551615, "18446744073709551615"),
        (18446744073709551616, "1.8446744073709552e+19"),
        (-9223372036854775809, "-9.223372036854776e+18"),
        ([], "[]"),
        ({}, "{}"),
    ],
)
def test_other_values_are_written(value: Any, written: str) -> None:
    assert yaml_writer.write({"k": value}) == f"k: {written}\n"
    assert yaml_writer.write([value]) == f"- {written}\n"
    assert yaml_writer.write(value) == f"{written}\n"


def test_lists_are_not_indented_below_their_key() -> None:
    value = {"a": [{"b": 1, "c": [2, [3, {"d": []}]]}], "e": {"f": {"g": "x"}}}

    assert yaml_writer.write(value) == (
        "a:\n- b: 1\n  c:\n  - 2\n  - - 3\n    - d: []\ne:\n  f:\n    g: x\n"
    )


def test_keys_follow_the_rules_of_strings() -> None:
    value = {"y": 1, "10": 1, "a: b": 1, "": 1, "#": 1, "é": 1}

    assert yaml_writer.write(value) == '"": 1\n\'#\': 1\n"10": 1\n\'a: b\': 1\n"y": 1\né: 1\n'


def test_long_keys_and_keys_of_several_lines_follow_a_question_mark() -> None:
    long = "k" * 129

    assert yaml_writer.write({"a": {long: {"b": 1}, "x\ny": [1, 2], long + "2": "t"}}) == (
        f"a:\n  ? {long}\n  : b: 1\n  ? {long}2\n  : t\n  ? |-\n    x\n    y\n  : - 1\n    - 2\n"
    )


@pytest.mark.parametrize(
    "keys",
    [
        ["a2", "a10", "aa"],
        ["A1", "B", "a b", "a:b", "a2"],
        ["2", "10"],
        ["@z", "a"],
        ["a", "ab"],
        ["1.2", "1.10"],
        ["x1", "x01", "x02"],
    ],
)
def test_keys_are_in_natural_order(keys: list[str]) -> None:
    assert list(yaml_writer.natural_order(tuple(reversed(keys)))) == keys


def test_long_plain_text_is_folded_at_a_single_space() -> None:
    words = "word " * 20

    written = yaml_writer.write({"key": words.strip()})

    first, second = written.splitlines()
    assert first == "key: " + " ".join(["word"] * 16)
    assert second == "  word word word word"


def test_double_spaces_and_long_words_are_not_broken() -> None:
    assert "\n" not in yaml_writer.write({"k": "a" * 200})[:-1]
    assert yaml_writer.write({"k": "a" * 90 + "  b c"}) == "k: " + "a" * 90 + "  b\n  c\n"


def test_quoted_text_is_also_folded() -> None:
    assert yaml_writer.write({"k": "'" + "a" * 90 + " b c "}) == (
        "k: '''" + "a" * 90 + "\n  b\n  c '\n"
    ).replace("\n  b\n  c", "\n  b c")
    assert yaml_writer.write({"k": "\t" + "a" * 90 + "  b"}) == (
        'k: "\\t' + "a" * 90 + '\n  \\ b"\n'
    )


def test_a_next_line_character_is_folded_as_in_json() -> None:
    assert yaml_writer.write({"k": "a\x85b"}) == "k: a b\n"
    assert yaml_writer.write({"k": "a \x85 \x85b"}) == "k: |-\n  a\n  b\n"


@pytest.mark.parametrize("text", ["\x7f", "\x80", "a\x9f", "\ufffe"])
def test_control_characters_are_refused(text: str) -> None:
    with pytest.raises(UnwritableError, match="control characters"):
        yaml_writer.write({"k": text})
    with pytest.raises(UnwritableError, match="control characters"):
        yaml_writer.write({text: 1})


def test_the_first_string_that_is_refused_is_found() -> None:
    assert yaml_writer.unwritable({"a": [1, {"b": "fine"}]}) is None
    assert yaml_writer.unwritable({"a": [1, {"b": "\x7f"}], "c": "\x7f"}) == ("a", 1, "b")
    assert yaml_writer.unwritable({"a": {"\x80": 1}}) == ("a", "\x80")


def test_a_key_whose_end_no_reader_finds_is_refused() -> None:
    with pytest.raises(UnwritableError, match="could not find expected ':'"):
        yaml_writer.write({"k" * 1023: 1})


def test_only_plain_data_is_written() -> None:
    with pytest.raises(TypeError, match="cannot write a set as YAML"):
        yaml_writer.write({"k": {1}})
