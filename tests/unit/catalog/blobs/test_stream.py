from typing import Any

import pytest

from olmkit.base.diagnostics import Diagnostic, InputError
from olmkit.catalog.blobs import blob, stream


def _read(data: bytes, reports: list[Diagnostic] | None = None) -> list[Any]:
    report = (reports if reports is not None else []).append
    parts = stream.read(data, "f", check=blob.identify, report=report)
    return [part.value and "".join(map(str, part.value.values())) for part in parts]


@pytest.mark.parametrize(
    ("text", "schemas"),
    [
        ("", []),
        ('{"s":"a"}{"s":"b"}\n{"s":"c"}', ["a", "b", "c"]),
        ('{\n  "s": "a"\n}\n{\n  "s": "b"\n}\n', ["a", "b"]),
        ('{"s":"a"}\n---\n{"s":"b"}\n---\n{"s":"c"}\n', ["a", "b", "c"]),
        ('{"s":"a",}', ["a"]),
        ('{"s":"a"}\ns: b\n', ["a", "b"]),
        ("s: a\n---\ns: b\n", ["a", "b"]),
        ("---\ns: a\n", ["a"]),
        ("---\n---\ns: a\n", [None, "a"]),
        ("s: a\n---\n---\ns: b\n", ["a", "b"]),
        ("s: a\n---\n---\n---\ns: b\n", ["a", None, "b"]),
        ("s: a\n---\n", ["a"]),
        ("s: a\n---\n---\n", ["a", None]),
        ("s: a\n--- # comment\ns: b\n", ["a", "b"]),
        ("s: a\r\n---\r\ns: b\r\n", ["a", "b"]),
        ("\n", [None]),
        ("# comment\n", [None]),
        ("s: |-\n---\nt: u\n", ["", "u"]),
        ("s: |\n  a", ["a\n"]),
        ("null\n", [None]),
        ("\ufeffs: a\n", ["a"]),
    ],
)
def test_a_file_is_divided_as_in_the_reference(text: str, schemas: list[Any]) -> None:
    assert _read(text.encode()) == schemas


@pytest.mark.parametrize(
    ("text", "schemas"),
    [
        ('{"s":"a",}\n{"s":"b"}', ["a"]),
        ('# comment\n{"s":"a"}\n{"s":"b"}', ["a"]),
        ('\ufeff{"s":"a"}\n{"s":"b"}', ["a"]),
        ('{"s":"a"}\n---\n{"s":"b"}\n{"s":"c"}', ["a", "b"]),
        ("s: a\n...\ns: b\n", ["a"]),
    ],
)
def test_lost_text_is_reported(text: str, schemas: list[Any]) -> None:
    reports: list[Diagnostic] = []

    assert _read(text.encode(), reports) == schemas
    assert [found.name for found in reports] == ["lost-documents"]


def test_utf_16_is_not_divided() -> None:
    reports: list[Diagnostic] = []

    assert _read("s: a\n---\ns: b\n\n".encode("utf-16-le").join([b"\xff\xfe", b"\n"])[:-1], reports)
    assert len(reports) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s: a\n---{b: c}\n", "f:2:1: invalid Yaml document separator: {b: c}"),
        ("----\n", "f:1:1: invalid Yaml document separator: -"),
        ('{"s":"a"}\n{"s":"b"}\n---\n', "f:3:2: invalid character '-' in numeric literal"),
        ('{"s":"a" 1', "f:1:10: json: offset 10: invalid character '1' after object"),
        ('{"s":"a"}\n{"s"', "f:2:5: unexpected EOF"),
        ('{"s":"a"}x', "f:1:10: json: offset 10: invalid character 'x' looking for"),
        ("[]", "f:1:1: error unmarshaling JSON"),
        ('{"s":"a"}\n[]\n', "f:2:1: error unmarshaling JSON"),
        ('{"schema":"a","x":1e400,"y": "\\/"}', "f:1:1: json: cannot unmarshal number 1e400"),
        ("a: 1\n---\nb: [\n", "f:3:4: not valid YAML: the list that begins here"),
    ],
)
def test_errors_have_their_position_in_the_file(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        _read(text.encode())

    assert caught.value.message.startswith(message)


def test_a_number_that_is_too_large_for_json_makes_the_file_yaml() -> None:
    assert _read(b'{"s": "a"}\n{"n": 1e400}\n') == ["a", "1e400"]


def test_the_detection_of_json_stops_after_4096_bytes() -> None:
    assert [part.json for part in _parts(b" " * 4095 + b'{"s":"a"}')] == [True]
    assert [part.json for part in _parts(b" " * 4096 + b'{"s":"a"}')] == [False]


def _parts(data: bytes) -> list[stream.Part]:
    return list(stream.read(data, "f", check=blob.identify, report=lambda _: None))
