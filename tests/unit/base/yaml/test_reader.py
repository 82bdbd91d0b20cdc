import re
import time
from typing import Any

import pytest

from olmkit.base.yaml import reader as yaml_reader
from olmkit.base.yaml.events import YamlError


def _value(text: str) -> Any:
    return yaml_reader.read(text.encode()).value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: &x {b: 1}\nc: {b: 2, <<: *x}\n", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: &x {b: 1}\nc: {<<: *x, b: 2}\n", {"a": {"b": 1}, "c": {"b": 2}}),
        ("c: {<<: [{a: 1}, {a: 2, b: 3}]}\n", {"c": {"a": 1, "b": 3}}),
        ("c: {'<<': 1}\n", {"c": {"<<": 1}}),
        ("a: &x 1\nb: &x 2\nc: *x\n", {"a": 1, "b": 2, "c": 2}),
        ("y: 1\non: 2\n", {"true": 2}),
        ("a: 1.0\nb: 1e3\nc: 1.5\n", {"a": 1, "b": 1000, "c": 1.5}),
        ("s: !!set {x}\n", {"s": {"x": None}}),
        ('a: "it\\\'s"\n', {"a": "it's"}),
    ],
)
def test_values_are_those_that_go_reads(text: str, value: Any) -> None:
    assert repr(_value(text)) == repr(value)


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("a: [\n", "not valid YAML: the list that begins here is not closed with `]`", (0, 3)),
        ("a: .inf\n", "json: unsupported value: +Inf", (0, 3)),
        ("- .nan\n", "json: unsupported value: NaN", (0, 2)),
        ("~: 1\n", "cannot be a key", (0, 0)),
        ("a: {{ x }}\n", "a list or a map cannot be a key", (0, 4)),
        ("a: *x\n", "unknown anchor 'x' referenced", (0, 3)),
        ("a: &a [*a]\n", "anchor 'a' value contains itself", (0, 7)),
        ("a: !!int x\n", "cannot decode !!str `x` as a !!int", (0, 3)),
        ("a: &x [1]\nb: {<<: *x}\n", "map merge requires map", (1, 8)),
        ("a: [b?]\n", "found unexpected '?'", (0, 4)),
        ("a: !x,y z\n", "not valid YAML: expected a space", (0, 5)),
        ("a: [!x,y z]\n", "the tag ends in `,`", (0, 4)),
        ('a: "\\/"\n', "found unknown escape character", (0, 3)),
        ("%YAML 1.2\n---\na\n", "found incompatible YAML document", (0, 0)),
        ("[" * 501, "nested more than 500 levels", (0, 500)),
        ("a: 1\nb: 'x\n  \ufeffy'\n", "a byte order mark is inside the text", None),
    ],
)
def test_errors_have_a_position(text: str, message: str, place: tuple[int, int] | None) -> None:
    with pytest.raises(YamlError, match=re.escape(message)) as caught:
        _value(text)

    if place is not None:
        assert (caught.value.line, caught.value.column) == place


@pytest.mark.parametrize("data", [b"a: \xff\n", b"a: \x07\n", b"\x00"])
def test_bytes_that_are_not_text_are_refused_at_their_offset(data: bytes) -> None:
    with pytest.raises(YamlError) as caught:
        yaml_reader.read(data)

    assert caught.value.offset == len(data.rstrip(b"\n")) - 1


def test_aliases_cannot_expand_without_limit() -> None:
    lines = [b"a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 9):
        items = b", ".join([b"*a%d" % (level - 1)] * 10)
        lines.append(b"a%d: &a%d [%s]" % (level, level, items))

    with pytest.raises(YamlError, match="excessive aliasing"):
        yaml_reader.read(b"\n".join(lines))


def test_a_long_text_cannot_be_repeated_without_limit() -> None:
    data = b"a: &a " + b"x" * 1_000_000 + b"\nb: [" + b", ".join([b"*a"] * 500) + b"]\n"

    with pytest.raises(YamlError, match="excessive aliasing"):
        yaml_reader.read(data)


def test_aliases_cannot_nest_without_limit() -> None:
    levels = [b"a0: &a0 " + b"[" * 300 + b"]" * 300, b"a1: " + b"[" * 300 + b"*a0" + b"]" * 300]

    with pytest.raises(YamlError, match="nested more than 500 levels"):
        yaml_reader.read(b"\n".join(levels))


def test_aliases_are_copies() -> None:
    value = _value("a: &x {b: [1]}\nc: *x\n")

    value["a"]["b"].append(2)

    assert value["c"] == {"b": [1]}


def test_text_after_the_first_document_is_detected_and_not_read() -> None:
    assert yaml_reader.read(b"a: 1\n...\n}").more
    assert yaml_reader.read(b"{a: 1}\n---\nb\n").more
    assert not yaml_reader.read(b"a: 1\n...\n").more
    assert yaml_reader.read(b"# nothing\n").value is yaml_reader.MISSING


def test_repeated_keys_are_detected() -> None:
    assert yaml_reader.read(b"a: 1\na: 2\n").repeated
    assert not yaml_reader.read(b"a: 1\nb: {a: 2}\n").repeated


def test_every_document_is_read() -> None:
    values = [found.value for found in yaml_reader.read_all(b"a\n---\n---\nb: 1\n...\n")]

    assert values == ["a", None, {"b": 1}]


def test_utf_16_is_read() -> None:
    assert yaml_reader.read("a: é\n".encode("utf-16")).value == {"a": "é"}


@pytest.mark.parametrize(
    ("item", "value"), [(b"- !!str x\n", "x"), (b'- "a\\\\b"\n', "a\\b")], ids=["tags", "escapes"]
)
def test_many_tags_or_escapes_take_linear_time(item: bytes, value: str) -> None:
    def seconds(count: int) -> float:
        data = item * count + b"# \\/\n"
        began = time.process_time()
        assert yaml_reader.read(data).value == [value] * count
        return time.process_time() - began

    # The text is 16 times longer; when each item copied the rest, the factor was above 100.
    assert seconds(160_000) < 50 * max(seconds(10_000), 0.02)
