from __future__ import annotations

import pytest

from olmkit.catalog.blobs import typed_json
from olmkit.catalog.blobs.typed_json import Member, MisfitError


def test_the_case_of_fields_is_ignored_and_their_text_is_kept() -> None:
    found = typed_json.fields(b'{"Type": "a", "type": "b", "VALUE": {"z": 1.0, "a": "\\u003c"}}')

    assert found == {"type": [b'"a"', b'"b"'], "value": [b'{"z": 1.0, "a": "\\u003c"}']}


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        (b'{"group":"g","KIND":"K","more":[]}', {"group": "g", "kind": "K"}),
        (b'{"Group":"a","group":"b"}', {"group": "b", "kind": ""}),
        (b'{"Group":"a","group":null}', {"group": "a", "kind": ""}),
        (b"null", {"group": "", "kind": ""}),
    ],
)
def test_an_object_has_the_text_of_its_fields(text: bytes, texts: dict[str, str]) -> None:
    assert typed_json.read_texts((text,), ("group", "kind")) == texts


@pytest.mark.parametrize("text", [b'{"group":1}', b'{"Group":1,"group":"a"}', b"[]", b'"a"', b"{"])
def test_a_wrong_type_ends_reading(text: bytes) -> None:
    with pytest.raises(MisfitError):
        typed_json.read_texts((text,), ("group",))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (b"1", "1"),
        (b"1.5", "1.5"),
        (b"0.00001", "1e-05"),
        (b"true", "true"),
        (b"false", "false"),
        (b"null", ""),
        (b'"a"', "a"),
        (b"18446744073709551615", "18446744073709551615"),
        (b"18446744073709552000", "1.8446744e+19"),
    ],
)
def test_yaml_scalars_count_as_strings(text: bytes, read: str) -> None:
    assert typed_json.read_text((text,), lenient=True) == read


def test_entries_keep_the_text_of_their_values() -> None:
    found = typed_json.entries((b'[{"type":"a","value":{"b": 1.0}}, null, {"type": "c"}]',))

    assert found == (Member("a", b'{"b": 1.0}'), Member("", b""), Member("c", b""))


def test_items_of_a_list_that_do_not_match_its_type_are_empty() -> None:
    found, wrong = typed_json.entries_that_fit(b'[{"type":1,"value":2},{"type":"a","value":3},4]')

    assert found == (Member("", b"2"), Member("a", b"3"), Member("", b""))
    assert wrong


@pytest.mark.parametrize("text", [b"[{", b"{}", b"[1,]"])
def test_a_value_that_is_not_a_list_has_no_items(text: bytes) -> None:
    found, wrong = typed_json.entries_that_fit(text)

    assert found == ()
    assert wrong
