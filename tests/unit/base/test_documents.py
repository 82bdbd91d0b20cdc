import contextlib
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olmkit.base import documents
from olmkit.base.diagnostics import InputError, Location
from olmkit.base.go import floats

CSV = """# licence
---
kind: ClusterServiceVersion
spec:
  installModes:
  - {type: OwnNamespace, supported: true}
  - type: AllNamespaces
    supported: false
  "name: x": é 😀 # comment
  last: [a,
    b]
"""


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ((), "f.yaml:3:1"),
        (("kind",), "f.yaml:3:7"),
        (("spec", "installModes", 0, "type"), "f.yaml:6:12"),
        (("spec", "installModes", 1, "supported"), "f.yaml:8:16"),
        (("spec", "installModes", -1, "supported"), "f.yaml:8:16"),
        (("spec", "name: x"), "f.yaml:9:14"),
        (("spec", "last", 1), "f.yaml:11:5"),
        (("spec", "missing", "deeper"), "f.yaml:5:3"),
        (("spec", "installModes", 7), "f.yaml:6:3"),
    ],
)
def test_a_value_has_a_position(keys: tuple[str | int, ...], place: str) -> None:
    assert str(documents.load(CSV.encode(), "f.yaml").at(*keys)) == place


def test_a_key_has_its_own_position() -> None:
    document = documents.load(CSV.encode(), "f.yaml")

    at = document.at_key("spec", "name: x")

    assert (at.line, at.column, at.end_line, at.end_column) == (9, 3, 9, 12)
    assert at.field == "spec.name: x"


def test_positions_are_the_same_with_windows_line_endings_and_a_byte_order_mark() -> None:
    document = documents.load(b"\xef\xbb\xbfa: 1\r\nb:\r\n- c: 2\r\n", "f.yaml")

    assert str(document.at("b", 0, "c")) == "f.yaml:3:6"
    assert str(document.at("a")) == "f.yaml:1:4"


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ((), ""),
        (("spec", "installModes", 3, "type"), "spec.installModes[3].type"),
        (("metadata", "annotations", "a.b/c"), 'metadata.annotations["a.b/c"]'),
    ],
)
def test_a_path_is_written_as_users_write_it(keys: tuple[str | int, ...], text: str) -> None:
    assert documents.field_path(keys) == text


def test_values_are_accessible_by_keys() -> None:
    document = documents.load(CSV.encode(), "f.yaml")

    assert document.get("spec", "installModes", 0, "type") == "OwnNamespace"
    assert document.get("spec", "installModes", 9, default="none") == "none"
    assert document.get("spec", "installModes", "type") is None
    assert document.get("kind", "x") is None


def test_a_value_that_is_derived_from_another_has_its_positions() -> None:
    document = documents.load(b"a:\n  b: {c: 1}\n", "f.yaml").derived({"c": 2}, "a", "b")

    assert str(document.at("c")) == "f.yaml:2:10"


def test_a_generated_value_has_no_position() -> None:
    assert documents.Document({"a": 1}, path="f").at("a") == Location(path="f", field="a")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a: 1\nb: @x\n", "f:2:4: not valid YAML: a value cannot begin with `@`"),
        (b"a: 1\n\tb: 2\n", "f:2:1: not valid YAML: a tab indents this line"),
        (b"a: 1\nb: \xff\n", "f:2:4: not valid YAML: the text is not UTF-8"),
        (b"\x89PNG\r\n\x1a\n", "f:1:1: not valid YAML: the text is not UTF-8"),
        (b'{"a": 1,\n "b" [1]}', "f:2:6: invalid character '[' after object key"),
        (b'{"a": 1', "f:1:8: unexpected EOF"),
        (b"{a: 1,\n b: ]", "f:2:5: not valid YAML: expected a value"),
        (b"a: {{ x }}\n", "f:1:5: a list or a map cannot be a key"),
        (b"[" * 1000, "f:1:501: nested more than 500 levels deep"),
        (b"a: " + b"[" * 5000, "f:1:1003: not valid YAML: nested more than 1,000 levels deep"),
        (b'{"a":' * 1000, "f:1:2501: nested more than 500 levels deep"),
    ],
)
def test_unreadable_text_is_refused_with_its_place(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        documents.load(data, "f")

    assert caught.value.message == message
    (found,) = caught.value.diagnostics
    assert (found.rule, found.name, f"{found.at}: {found.message}") == ("DOC001", "syntax", message)


def test_json_is_read_as_json() -> None:
    document = documents.load(b'\n{"url": "a\\/b", "n": 1.0,\n\t"s": "\\ud83d\\ude00"}', "f.json")

    assert document.value == {"url": "a/b", "n": 1, "s": "😀"}
    assert str(document.at("s")) == "f.json:3:7"


def test_json_in_a_yaml_file_must_satisfy_the_rules_of_yaml() -> None:
    with pytest.raises(InputError, match="unknown escape"):
        documents.load_yaml(b'{"url": "a\\/b"}', "f.json")


@pytest.mark.parametrize(
    "data",
    [
        b"a: 1\nb: {c: 1, c: 2}\na: 2\n",
        b'{"a": 1, "b": {"c": 1,\n "c": 2},\n "a": 2}',
    ],
    ids=["yaml", "json"],
)
def test_repeated_keys_are_found(data: bytes) -> None:
    document = documents.load(data, "f")

    found = list(document.duplicate_keys())

    assert document.value == {"a": 2, "b": {"c": 2}}
    assert [duplicate.keys for duplicate in found] == [("a",), ("b", "c")]
    assert [duplicate.again.line for duplicate in found] == [3, 2]


def test_a_text_without_duplicates_has_none() -> None:
    assert list(documents.load(CSV.encode(), "f").duplicate_keys()) == []
    assert list(documents.load(b'{"a": {"a": 1}}', "f").duplicate_keys()) == []


def test_only_the_first_document_is_loaded_and_further_ones_are_detected() -> None:
    document = documents.load(b"a: 1\n---\nb: [\n", "f")

    assert (document.value, document.more) == ({"a": 1}, True)


def test_every_document_is_loaded_with_its_positions() -> None:
    data = b"# licence\n%YAML 1.1\n---\na: 1\n---\n# nothing\n---\nb:\n- c\n...\n---\nd: 4\n"

    found = list(documents.load_all(data, "f"))

    assert [document.value for document in found] == [{"a": 1}, None, {"b": ["c"]}, {"d": 4}]
    assert [document.index for document in found] == [0, 1, 2, 3]
    assert str(found[2].at("b", 0)) == "f:9:3"
    assert str(found[3].at("d")) == "f:12:4"


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (b"", []),
        (b"# only a comment\n", []),
        (b"---\n", [None]),
        (b'{"a": 1}\n{"b": 2}', [{"a": 1}, {"b": 2}]),
        (b'{"a": 1}\n---\n{"b": 2}\n', [{"a": 1}, {"b": 2}]),
        (b"--- {a: 1}\n--- b\n", [{"a": 1}, "b"]),
    ],
)
def test_a_file_can_have_several_documents(data: bytes, values: list[Any]) -> None:
    assert [document.value for document in documents.load_all(data, "f")] == values


def test_an_error_in_a_later_document_has_its_position_in_the_file() -> None:
    with pytest.raises(InputError, match=r"^f:5:4: "):
        list(documents.load_all(b"a: 1\n---\n\nb: 2\nc: *x\n", "f"))


def test_a_part_of_a_file_has_positions_in_the_file() -> None:
    data = b"xx a: 1\n b: [c]\n"

    document = documents.load_yaml(data, "f", start=2, index=4)

    assert (document.value, document.index) == ({"a": 1, "b": ["c"]}, 4)
    assert str(document.at("a")) == "f:1:7"
    assert str(document.at("b", 0)) == "f:2:6"


def test_json_is_written_with_sorted_keys_and_as_in_go() -> None:
    value = {"b": [1.0, 1e-7, "<\u2028>"], "a": {}}

    assert documents.dump_json(value) == b'{"a":{},"b":[1,1e-7,"<\\u2028>"]}\n'
    assert documents.dump_json({"a": [1]}, indent=2) == b'{\n  "a": [\n    1\n  ]\n}\n'


def test_a_value_that_no_reader_would_restore_is_not_written() -> None:
    with pytest.raises(InputError, match="control characters are not allowed"):
        documents.dump({"a": "\x7f"})


_TEXTS = st.text(
    st.characters(
        blacklist_categories=["Cs"], blacklist_characters="\x7f\ufeff\ufffe\uffff"
    ).filter(lambda char: not "\x80" <= char <= "\x9f"),
    max_size=40,
) | st.sampled_from(
    ["y", "010", "1:30", "- a", "a: b", "'", "a\n", "\n a", " ", "x" * 90, "a b " * 30]
)
_NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False).map(
    lambda number: number if number else 0.0
)
_VALUES = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=20,
)


def _through_json(value: Any) -> Any:
    """Return the value after reading: numbers without a fraction are integers."""
    if isinstance(value, float):
        return floats.normal(value)
    if isinstance(value, list):
        return [_through_json(item) for item in value]
    if isinstance(value, dict):
        return {key: _through_json(item) for key, item in value.items()}
    return value


@pytest.mark.property
@settings(max_examples=300, deadline=None)
@given(_VALUES)
def test_a_written_value_is_read_back(value: Any) -> None:
    text = documents.dump({"value": value})

    assert documents.load(text, "f").value == {"value": _through_json(value)}
    assert documents.load(documents.dump_json(value), "f").value == _through_json(value)


@pytest.mark.property
@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=60) | st.text(alphabet="{}[]:,-?&*!|>'\"%@#\n \tab01._~<\\", max_size=60))
def test_arbitrary_bytes_are_read_or_refused(data: bytes | str) -> None:
    raw = data if isinstance(data, bytes) else data.encode()
    for read in (lambda: documents.load(raw, "f").at(), lambda: list(documents.load_all(raw, "f"))):
        with contextlib.suppress(InputError):
            read()


def test_a_stream_is_read_as_its_original_values() -> None:
    values = [{"a": 1}, {"b": ["x"]}]

    stream = documents.dump_all(values)

    assert stream == b"a: 1\n---\nb:\n- x\n"
    assert [one.value for one in documents.load_all(stream, "f")] == values


def test_the_first_excess_directive_has_a_place() -> None:
    data = b"".join(b"%%TAG !e%d! tag:x\n" % number for number in range(101)) + b"---\na: b\n"
    for read in (documents.load, lambda data, path: list(documents.load_all(data, path))):
        with pytest.raises(InputError, match=r"x.yaml:101:1: .*more than 100 `%TAG`"):
            read(data, "x.yaml")


@pytest.mark.parametrize("text", [b"a: b\n", b"- a\n", b"[a,"], ids=["mapping", "list", "flow"])
def test_a_document_that_would_exhaust_memory_is_refused_before_it_is_read(text: bytes) -> None:
    data = text * (documents.MAX_VALUES + 2)
    with pytest.raises(InputError, match=r"more than 1,500,000 lines"):
        documents.load(data, "x.yaml")
    with pytest.raises(InputError, match=r"more than 1,500,000 lines"):
        list(documents.load_all(data, "x.yaml"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a: ", b"\n"),
        (b'a: "', b'"\n'),
        (b"a: '", b"'\n"),
        (b"a: |\n  ", b"\n"),
        (b'{"a": "', b'"}'),
    ],
    ids=["plain", "double", "single", "block", "json"],
)
def test_the_position_of_a_long_text_needs_little_memory(before: bytes, after: bytes) -> None:
    data = before + b"x" * 2_000_000 + after
    name = "f.json" if before.startswith(b"{") else "f.yaml"
    document = documents.load(data, name)
    tracemalloc.start()
    try:
        assert document.at("a").line == 1
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 10 * len(data)


def test_json_that_would_exhaust_memory_is_refused_before_it_is_read() -> None:
    data = b'{"a":[' + b"1," * (documents.MAX_VALUES + 1) + b"1]}"
    with pytest.raises(InputError, match="more than 1,500,000 lines"):
        documents.load(data, "x.json")
    with pytest.raises(InputError, match="more than 1,500,000 lines"):
        list(documents.load_all(data, "x.json"))


def test_a_file_with_too_many_documents_is_refused_at_the_first_excess_one() -> None:
    data = b"---\na: 1\n" * (documents.MAX_DOCUMENTS + 1)
    found = iter(documents.load_all(data, "x.yaml"))
    with pytest.raises(InputError, match="more than 100,000 documents") as raised:
        for _ in found:
            pass
    place = raised.value.diagnostics[0].at
    assert place is not None
    assert place.line == 2 * documents.MAX_DOCUMENTS + 1


@pytest.mark.parametrize(
    "text", ["a: 1\nb:\n- ? {}\n  : 1\n", '{{"a": [{{"{}": 1}}]}}', "---\nc: d\n---\n? {}\n: 1\n"]
)
def test_a_very_long_key_is_refused_with_the_limit(text: str) -> None:
    fits = text.format("k" * documents.MAX_KEY).encode()
    assert list(documents.load_all(fits, "f.yaml"))
    longer = text.format("k" * (documents.MAX_KEY + 1)).encode()
    with pytest.raises(InputError, match="a key has more than 100,000 characters"):
        list(documents.load_all(longer, "f.yaml"))
    if not text.startswith("---"):
        with pytest.raises(InputError, match="a key has more than 100,000 characters"):
            documents.load(longer, "f.yaml")
