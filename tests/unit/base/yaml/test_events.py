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


def _directives(count: int, line_break: str = "\n") -> str:
    return "".join(f"%TAG !e{i}! tag:x{line_break}" for i in range(count))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\x85", "\u2028"])
def test_so_many_directives_that_the_parser_is_slow_are_refused(
    line_break: str, encoding: str
) -> None:
    """The parser compares each `%TAG` with all others: 200,000 take minutes."""

    def text(count: int) -> bytes:
        return (_directives(count, line_break) + f"---{line_break}!e1!a b").encode(encoding)

    assert _read(text(100)) == ["b"]
    with pytest.raises(YamlError, match="more than 100 `%TAG` directives"):
        _read(text(101))


def test_a_long_tag_directive_is_refused() -> None:
    """Each use of it would copy it."""
    assert _read(b"%TAG !e! tag:" + b"x" * 987 + b"\n--- !e!a\nb: c\n") == ["b", "c"]
    with pytest.raises(YamlError, match="directive has more than 1,000 characters") as caught:
        _read(b"# x\n%TAG !e! tag:" + b"x" * 988 + b"\n--- !e!a\nb: c\n")
    assert caught.value.offset == 4


def test_text_that_looks_like_a_directive_is_not_limited() -> None:
    content = "".join(f"  %TAG !e{i}! tag:x\n" for i in range(200))
    (found,) = _read(b"--- |\n" + content.encode())
    assert found.count("%TAG") == 200


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
