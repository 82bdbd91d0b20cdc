"""The wire format of protocol buffers."""

from __future__ import annotations

import pytest
from google.protobuf import struct_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto
from hypothesis import given
from hypothesis import strategies as st

from olmkit.base import protobuf

JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.property
@given(st.dictionaries(st.text(), JSON))
def test_a_struct_is_read_by_the_library(value: dict[str, object]) -> None:
    expected = struct_pb2.Struct()
    expected.update(value)
    assert struct_pb2.Struct.FromString(protobuf.struct_message(value)) == expected


@pytest.mark.property
@given(st.text(), st.text(), st.integers(min_value=1, max_value=18))
def test_strings_and_numbers_are_read_by_the_library(name: str, other: str, kind: int) -> None:
    data = protobuf.string(1, name) + protobuf.enum(5, kind) + protobuf.string(10, other)
    found = FieldDescriptorProto.FromString(data)
    assert (found.name, found.type, found.json_name) == (name, kind, other)


@pytest.mark.property
@given(st.lists(st.text(), min_size=3, max_size=3))
def test_strings_are_read_back(texts: list[str]) -> None:
    data = b"".join(protobuf.string(number, text) for number, text in enumerate(texts, 1))
    assert protobuf.strings(data, 3) == texts


@pytest.mark.property
@given(st.binary(max_size=40))
def test_bytes_that_are_not_a_message_are_refused_without_another_exception(data: bytes) -> None:
    try:
        protobuf.strings(data, 3)
    except ValueError:
        return


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x0a", "cut off"),
        (b"\x0a\x05abc", "field 1 is cut off"),
        (b"\x08\x01", "field 1 is not text"),
        (b"\x02\x00", "a field has number 0"),
        (b"\x0b", "field 1 has the unknown kind 3"),
        (b"\x80" * 11, "more than 10 bytes"),
        (b"\x0a\x01\xff", "utf-8"),
    ],
)
def test_errors_in_a_message_are_reported(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        protobuf.strings(data, 3)


def test_unknown_fields_are_skipped_and_the_last_of_repeated_fields_counts() -> None:
    data = (
        protobuf.string(1, "first")
        + protobuf.string(9, "unknown")
        + b"\x51\x00\x00\x00\x00\x00\x00\x00\x00"  # field 10, eight bytes
        + b"\x5d\x00\x00\x00\x00"  # field 11, four bytes
        + b"\x60\x01"  # field 12, a number
        + protobuf.string(1, "last")
    )
    assert protobuf.strings(data, 2) == ["last", ""]


def test_half_a_surrogate_pair_becomes_the_replacement_character() -> None:
    assert protobuf.utf8("a\ud800b") == "a\ufffdb".encode()


def test_empty_strings_and_zeros_are_omitted_but_messages_are_kept() -> None:
    assert protobuf.string(1, "") == protobuf.enum(1, 0) == b""
    assert protobuf.message(1, b"") == b"\x0a\x00"


def test_a_value_that_is_not_json_has_no_struct() -> None:
    with pytest.raises(TypeError, match="bytes"):
        protobuf.struct_message({"a": b""})
