from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.catalog.bundles import first_document


@pytest.mark.parametrize(
    ("data", "value"),
    [
        pytest.param(b"a: 1\n", {"a": 1}, id="yaml"),
        pytest.param(b"a: 1\n---\nb: 2\n", {"a": 1}, id="only the first document"),
        pytest.param(b"---\na: 1\n", {"a": 1}, id="a separator at the start"),
        pytest.param(b"--- # words\na: 1\n", {"a": 1}, id="a comment behind a separator"),
        pytest.param(b"# words\n---\na: 1\n", None, id="a comment before a separator"),
        pytest.param(b"---\n---\na: 1\n", None, id="two separators at the start"),
        pytest.param(b"a: |\n  x\n---\nb: 1\n", {"a": "x\n"}, id="a separator ends a block"),
        pytest.param(b"a: 1\n...\nb: 2\n", {"a": 1}, id="the end of a document"),
        pytest.param(b'{"a": 1}{"b": 2}', {"a": 1}, id="json values in a row"),
        pytest.param(b'{"a": "\\ud83d\\ude00"}', {"a": "😀"}, id="json escapes"),
        pytest.param(b'{"a": 9007199254740993}', {"a": 9007199254740993}, id="exact integers"),
        pytest.param(b'{"a": 1,}', {"a": 1}, id="yaml that is not json"),
        pytest.param(b" " * 40 + b"{a: 1}", {"a": 1}, id="a brace beyond the peek"),
        pytest.param(b"\xef\xbb\xbfa: 1\n", {"a": 1}, id="a byte order mark"),
    ],
)
def test_the_first_document_is_found(data: bytes, value: Any) -> None:
    assert first_document.read(data, "x.yaml").value == value


@pytest.mark.parametrize(
    ("data", "message", "place"),
    [
        (b"", "the file is empty", ""),
        (b"a: 1\n--- b\n", "invalid Yaml document separator: b", "x.yaml:2:1"),
        (b"----\na: 1\n", "invalid Yaml document separator: -", "x.yaml:1:1"),
        (b"a: [\n", "", "x.yaml:1:4"),
        ("a: 1\n".encode("utf-16-le").join([b"\xff\xfe", b""]), "incomplete UTF-16", ""),
    ],
)
def test_a_file_without_a_first_document_is_refused(data: bytes, message: str, place: str) -> None:
    with pytest.raises(InputError) as raised:
        first_document.read(data, "x.yaml")

    assert message in raised.value.message
    assert [str(found.at) for found in raised.value.diagnostics] == ([place] if place else [])


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b' {"a": 1.0 } {"b": 2}', b'{"a": 1.0 }'),
        (b"a: 1", b""),
        (b'{"a": ', b""),
        (b" " * 31 + b'{"a": 1}', b""),
    ],
)
def test_the_text_of_the_first_json_value_is_kept(data: bytes, text: bytes) -> None:
    assert first_document.json_text_of(data) == text
