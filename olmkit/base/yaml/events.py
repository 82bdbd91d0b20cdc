"""The events of libyaml's parser, and its errors as places and words of our own.

Where libyaml reads a text in another way than Go's parser, which was made from an
older release of it, the text is changed (an escape that only Go knows) or refused
(a byte order mark inside it) before anybody sees a wrong value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from yaml import events as yaml_events
from yaml import reader as yaml_stream
from yaml._yaml import CParser
from yaml.error import MarkedYAMLError, YAMLError

T = TypeVar("T")

# A byte order mark that starts a line would be ignored here, and be text for Go.
_MARK: Final = re.compile(
    rb"(?:[\r\n]|\xc2\x85|\xe2\x80[\xa8\xa9]|\A\xef\xbb\xbf)(?:[ \t]|\xef\xbb\xbf)*\xef\xbb\xbf"
)
_UNKNOWN_ESCAPE: Final = "found unknown escape character"
# So many of them are spelled another way, each with a new reading of the text.
_MOST_ESCAPES: Final = 50
_SPACES: Final = "indent with spaces; a tab may not stand there"
_INDENT: Final = "indent this line like the lines that it belongs to"
_UTF_8: Final = "save the file as UTF-8"
_HINTS: Final = {
    "found a tab character that violates indentation": _SPACES,
    "found character that cannot start any token": "indent with spaces, not tabs; quote a text "
    "that begins with `@`, `%` or a backtick",
    "mapping values are not allowed in this context": "quote a text with a colon and a space in "
    "it, or mend the indentation",
    "could not find expected ':'": "the line before is neither a key nor the end of a text: mend "
    "its indentation, or add the colon",
    "did not find expected key": _INDENT,
    "did not find expected '-' indicator": _INDENT,
    "did not find expected node content": "close the bracket, or quote a text that begins with one",
    "did not find expected ',' or ']'": "close the bracket, or quote a text that begins with one",
    "did not find expected ',' or '}'": "close the brace, or quote a text that begins with one",
    "did not find expected alphabetic or numeric character": "quote a text that begins with `*` "
    "or `&`",
    "did not find expected <document start>": "put a line with `---` between documents",
    "block sequence entries are not allowed in this context": "put the list on the lines below "
    "its key",
    "found unexpected end of stream": "close the quote",
    "found unexpected ':'": "put a space after the colon, or quote the text",
    _UNKNOWN_ESCAPE: "use single quotes, in which a backslash is a backslash",
    "control characters are not allowed": "remove the character; a binary file is no manifest",
    "invalid leading UTF-8 octet": _UTF_8,
    "invalid trailing UTF-8 octet": _UTF_8,
    "incomplete UTF-8 octet sequence": _UTF_8,
}


class YamlError(Exception):
    """What is wrong, and where: line and column from 0, or only a byte offset."""

    def __init__(
        self,
        message: str,
        *,
        line: int | None = None,
        column: int | None = None,
        offset: int | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.offset = offset
        self.hint = hint


def events(data: bytes) -> Iterator[Any]:
    """The events of the text; errors of the parser turned into `YamlError`."""
    mark = _misplaced_mark(data)
    limit = None if mark is None else len(decoded(data[:mark]))
    try:
        parser = CParser(data)
        while parser.check_event():
            event: Any = parser.get_event()
            if (
                limit is not None
                and event.end_mark.index > limit
                and type(event) is not yaml_events.DocumentEndEvent
            ):
                raise YamlError(
                    "a byte order mark stands inside the text",
                    offset=mark,
                    hint="remove it; it comes from joining files",
                )
            yield event
    except YAMLError as error:
        raise _problem(error) from None


def read(data: bytes, reader: Callable[[bytes], T]) -> T:
    """What `reader` makes of the text, once escapes that only Go knows are spelled another way."""
    for _ in range(_MOST_ESCAPES):
        try:
            return reader(data)
        except YamlError as error:
            data = _repaired(data, error)
    return reader(data)


def decoded(data: bytes) -> str:
    """The characters as the parser counts them, without a byte order mark."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")


def error_at(event: Any, message: str, *, hint: str = "") -> YamlError:
    """The error that something is wrong with what an event stands for."""
    mark = event.start_mark
    return YamlError(message, line=mark.line, column=mark.column, hint=hint)


def _repaired(data: bytes, error: YamlError) -> bytes:
    """The text with an escaped quote spelled as a code. Raises the error when it is another."""
    lines = data.split(b"\n")
    if error.message != _UNKNOWN_ESCAPE or error.line is None or error.line >= len(lines):
        raise error
    line = lines[error.line].decode("utf-8", "surrogateescape")
    at = line.find("\\'", max((error.column or 0) - 1, 0))
    if at < 0 or at > (error.column or 0) + 1:
        raise error
    line = line[:at] + "\\x27" + line[at + 2 :]
    lines[error.line] = line.encode("utf-8", "surrogateescape")
    return b"\n".join(lines)


def _misplaced_mark(data: bytes) -> int | None:
    """Where a byte order mark stands that the parser ignores and Go takes for text."""
    if data.startswith((b"\xff\xfe\xff\xfe", b"\xfe\xff\xfe\xff")):
        return 2
    match = _MARK.search(data) if b"\xef\xbb\xbf" in data else None
    return match.end() - 3 if match else None


def _problem(error: YAMLError) -> YamlError:
    if isinstance(error, yaml_stream.ReaderError):
        message = str(error.reason)
        return YamlError(message, offset=error.position, hint=_HINTS.get(message, ""))
    if isinstance(error, MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        message = error.problem or error.context or "cannot be read as YAML"
        hint = _HINTS.get(message, "")
        if mark is not None:
            return YamlError(message, line=mark.line, column=mark.column, hint=hint)
        return YamlError(message, hint=hint)
    return YamlError(str(error))
