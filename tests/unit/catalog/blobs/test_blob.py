import base64

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.catalog.blobs import blob as blobs
from olmkit.catalog.blobs import fbc
from olmkit.catalog.blobs.blob import Blob


def _load(data: str | bytes, path: str = "c.yaml") -> Blob:
    raw = data.encode() if isinstance(data, str) else data
    (blob,) = fbc.load_stream(raw, path)
    return blob


def test_a_blob_is_found_by_keys_in_any_case() -> None:
    blob = _load("Schema: mine\nPACKAGE: p\nnAmE: x\n")

    assert (blob.schema, blob.package, blob.name) == ("mine", "p", "x")
    assert blob.value == {"Schema": "mine", "PACKAGE": "p", "nAmE": "x"}


def test_numbers_are_converted_to_doubles() -> None:
    for text in (
        "schema: a\nx: [1.0, 12345678901234567890, -0.0, 1e-7]\n",
        '{"schema": "a", "x": [1.0, 12345678901234567890, -0, 1e-7]}',
    ):
        assert _load(text).raw == b'{"schema":"a","x":[1,12345678901234567000,-0,1e-7]}\n'


def test_blobs_are_equal_if_the_reference_would_keep_the_same_bytes() -> None:
    assert _load("b: 1.0\nschema: a\n") == _load('{"schema": "a",\n "b": 1}')
    assert _load("schema: a\n") != _load("schema: b\n")
    assert len({_load("schema: a\n"), _load('{"schema": "a"}')}) == 1


def test_all_fields_are_present_under_their_names() -> None:
    blob = _load("schema: olm.channel\nName: s\nentries: [{Replaces: a, replaces: b}]\nx: 1\n")

    assert blob.fields == {
        "schema": "olm.channel",
        "name": "s",
        "package": "",
        "entries": [{"name": "", "replaces": "b", "skips": None, "skipRange": ""}],
        "properties": None,
    }


def test_positions_are_those_of_the_file() -> None:
    data = '{"schema": "a"}\n  {"schema": "b",\n "x": [1, 2]}'

    second = list(fbc.load_stream(data.encode(), "c.json"))[1]

    assert (second.path, second.index) == ("c.json", 1)
    assert str(second.at("x", 1)) == "c.json:3:11"
    assert str(second.at()) == "c.json:2:3"


def test_a_generated_blob_has_no_position() -> None:
    blob = Blob.of({"schema": "a", "name": "n"})

    assert (blob.path, blob.index, blob.at("name").line) == ("", 0, None)
    assert repr(blob) == "Blob(schema='a', package='', name='n')"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("name: x\n", "1:1", 'object \'{"name":"x"}\n\' is missing root schema field'),
        (
            f"name: {'x' * 500}\n",
            "1:1",
            f'object \'{{"name":"{"x" * 111}…\' is missing root schema field',
        ),
        ("---\n# nothing\n", "", "object '' is missing root schema field"),
        ("- a\n", "1:1", "cannot unmarshal array into Go value of type map"),
        ("text\n", "1:1", "cannot unmarshal string into Go value of type map"),
        ("schema: a\npackage:\n", "2:9", 'expected value for key "package" to be a string'),
        ("schema: 7\n", "1:9", 'expected value for key "schema" to be a string'),
        ("schema: a\nA: 1\na: 2\n", "3:4", 'duplicate keys for key "a": [A a]'),
        (
            "schema: a\nSchema: b\nA: 1\na: 2\n",
            "",
            '[duplicate keys for key "a": [A a], duplicate keys for key "schema": [Schema schema]]',
        ),
        (
            "schema: olm.package\nname: 1.0\n",
            "2:7",
            'expected value for key "name" to be a string',
        ),
        (
            "schema: olm.package\ndefaultChannel: 1.0\n",
            "2:17",
            (
                "parse package: json: cannot unmarshal number into Go struct field "
                "Package.defaultChannel of type string"
            ),
        ),
        (
            "schema: olm.channel\nentries: [{skips: a}]\n",
            "2:19",
            (
                "parse channel: json: cannot unmarshal string into Go struct field "
                "ChannelEntry.entries.skips of type []string"
            ),
        ),
        (
            "schema: olm.package\nicon: {base64data: a}\n",
            "2:20",
            "parse package: illegal base64 data at input byte 0",
        ),
    ],
)
def test_a_value_that_is_not_a_blob_is_refused_with_its_place(
    text: str, place: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        _load(text)

    assert message in caught.value.message
    if place:
        assert str(caught.value.diagnostics[0].at) == f"c.yaml:{place}"


def test_a_long_object_is_shortened() -> None:
    with pytest.raises(InputError) as caught:
        _load("x: " + "y" * 5_000 + "\n")

    assert len(caught.value.message) < 2_200


def _bundle(value: str) -> str:
    return (
        "schema: olm.bundle\nname: b\npackage: p\nproperties:\n"
        f"- type: olm.bundle.object\n  value: {value}\n"
    )


def _data(text: str) -> str:
    return "{data: " + base64.b64encode(text.encode()).decode() + "}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (_data('{"a": 1}'), b'{"a": 1}'),
        (_data("a: [1.0, <]\n"), b'{"a":[1,"\\u003c"]}'),
        ("{Data: e30=}", b"{}"),
        ("{ref: x}", b"null"),
        ("null", b"null"),
    ],
)
def test_an_inlined_manifest_is_json(value: str, text: bytes) -> None:
    blob = _load(_bundle(value))

    assert blobs.bundle_object(blob, blob.fields, 0) == text


@pytest.mark.parametrize(
    ("bundle", "message"),
    [
        (_bundle("text"), "parse property at index 0 as bundle object: json: cannot unmarshal"),
        (_bundle("{data: '!'}"), "as bundle object: illegal base64 data at input byte 0"),
        (_bundle(_data("a: b: c")), "convert bundle object property at index 0 to JSON: yaml: "),
        (
            "schema: olm.bundle\nname: b\npackage: p\nproperties: [{type: olm.bundle.object}]\n",
            "as bundle object: unexpected end of JSON input",
        ),
    ],
)
def test_an_invalid_inlined_manifest_is_refused(bundle: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        _load(bundle)

    assert caught.value.message.partition(": ")[2].startswith(
        'read bundle objects: package "p", bundle "b": '
    )
    assert message in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        '{"schema": "note", "b": 1, "a": {"z": [], "y": "<é\u2028>"}}',
        '{"name": "p", "schema": "olm.package", "defaultChannel": "c", "x": 1}',
        (
            '{"schema": "olm.bundle", "package": "p", "name": "b", "image": "",'
            ' "properties": [{"value": {"n": 12345678901234567890, "a": -0}, "type": "t"}]}'
        ),
    ],
)
def test_normalized_json_is_written_like_any_other(text: str) -> None:
    data = text.encode()
    (plain,), (settled,) = fbc.load_stream(data, "c"), fbc.load_stream(data, "c", settle=True)

    assert settled == plain
    assert settled.path == "c"
    for form in ("json", "yaml"):
        written = fbc.dump_blob(plain, form)
        assert fbc.dump_blob(settled, form) == written
        assert fbc.dump_blob(settled.without_place(), form) == written
    assert [one.message for one in fbc.unknown_fields(settled)] == [
        one.message for one in fbc.unknown_fields(plain)
    ]
    assert settled.without_place().path == ""
