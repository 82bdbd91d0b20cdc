import pytest
from yaml import events

from olmkit.base.yaml import events as yaml_events
from olmkit.base.yaml.events import YamlError


def _read(data: bytes) -> list[str]:
    return [event.value for event in yaml_events.events(data) if type(event) is events.ScalarEvent]


def test_errors_have_a_position_and_a_fix() -> None:
    with pytest.raises(YamlError) as caught:
        _read(b"a: 1\nb: c: d\n")

    assert (caught.value.line, caught.value.column) == (1, 4)
    words = "a key cannot begin inside the value of another key"
    assert caught.value.message == f"not valid YAML: {words}"
    assert caught.value.hint == (
        "quote a string with a colon and a space in it, or correct the indentation"
    )


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b"a: 1\n\xef\xbb\xbfb: 2\n", 5),
        (b"\xef\xbb\xbf\xef\xbb\xbfa: 1\n", 3),
        (b"\xff\xfe\xff\xfea\x00", 2),
    ],
)
def test_a_byte_order_mark_inside_the_text_is_refused(data: bytes, offset: int) -> None:
    with pytest.raises(YamlError) as caught:
        _read(data)

    assert caught.value.offset in (offset, None)


def test_a_byte_order_mark_after_the_document_is_ignored() -> None:
    stream = yaml_events.events(b"{a: 1}\n\xef\xbb\xbf")

    assert [type(next(stream)) for _ in range(6)][-1] is events.MappingEndEvent


def test_an_escape_that_only_go_supports_is_read() -> None:
    text = b"a: \"it\\'s\"\nb: \"\\'\\'\"\nc: |\n  \\'\n"

    assert yaml_events.read(text, _read) == ["a", "it's", "b", "''", "c", "\\'\n"]


@pytest.mark.parametrize("text", [b'a: "\\y"\n', b'a: "' + b"\\'" * 100 + b'"\n'])
def test_other_escapes_and_too_many_of_them_are_refused(text: bytes) -> None:
    with pytest.raises(YamlError, match="unknown escape"):
        yaml_events.read(text, _read)


def test_characters_are_counted_as_in_the_parser() -> None:
    assert yaml_events.decode(b"\xef\xbb\xbfa") == "a"
    assert yaml_events.decode("é".encode("utf-16")) == "é"
    assert yaml_events.decode(b"\xff") == "�"
