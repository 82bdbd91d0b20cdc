"""Configuration files of other tools, read as strictly as those tools read them."""

from __future__ import annotations

import pytest

from olmkit.base import configuration, documents
from olmkit.base.diagnostics import InputError

SHAPE = {"kind": str, "size": int, "full": bool, "any": object, "items": [{"firstName": str}]}


def read(text: str) -> dict[str, object]:
    return configuration.read(documents.load(text.encode(), "file.yaml"), SHAPE)


def test_keys_have_the_spelling_of_the_shape_and_nulls_are_omitted() -> None:
    assert read("KIND: a\nsize: null\nany: {Whatever: 1}\nitems: [{FIRSTNAME: b}]") == {
        "kind": "a",
        "any": {"Whatever": 1},
        "items": [{"firstName": "b"}],
    }
    assert read("") == {}


def test_all_errors_are_reported_in_the_order_of_the_file() -> None:
    with pytest.raises(InputError) as caught:
        read("kind: 1\nsize: big\nful: true\nitems: [{lastName: b}, c]\nfull: 0\n")

    assert [(one.rule, one.message, one.hint) for one in caught.value.diagnostics] == [
        ("CFG002", "`kind` must be a string", "put it in quotes"),
        ("CFG002", "`size` must be a whole number", ""),
        ("CFG001", "unknown key `ful`", "did you mean `full`?"),
        ("CFG001", "unknown key `items[0].lastName`", "did you mean `firstName`?"),
        ("CFG002", "`items[1]` must be a mapping", ""),
        ("CFG002", "`full` must be `true` or `false`", ""),
    ]
    assert str(caught.value).startswith("file.yaml:1:7: ")


def test_a_value_that_is_not_a_mapping_is_refused() -> None:
    with pytest.raises(InputError, match="the file must be a mapping"):
        read("[1]")


def test_unknown_keys_of_lenient_files_are_found_with_what_they_resemble() -> None:
    value = {"Kind": "a", "items": [{"firstNam": 1}, 3], "any": {"x": 1}, "zzz": {}, "ful": 1}
    found = list(configuration.unknown_keys(value, SHAPE))
    assert [(one.path, one.is_misspelled) for one in found] == [
        ("Kind", True),
        ("items[0].firstNam", True),
        ("zzz", False),
        ("ful", True),
    ]
    assert found[1].hint == "did you mean `firstName`?"
    found = list(configuration.unknown_keys(value, SHAPE, any_case=True))
    assert [one.path for one in found] == ["items[0].firstNam", "zzz", "ful"]
    assert list(configuration.unknown_keys([value], SHAPE)) == []


def test_without_a_similar_key_all_known_keys_are_named() -> None:
    assert configuration.suggest_key("zzz", ["b", "a"]) == "known keys are `a`, `b`"
