"""Split a file into documents like the parsers of catalogs.

A file may be concatenated JSON, YAML documents between `---` lines, or JSON that turns into YAML
after the first object. Content that `opm` ignores (everything in a part after its first YAML
document) is ignored here too, so that the result is the same, but it is reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from olmkit.base import document_errors, documents, findings
from olmkit.base.diagnostics import Diagnostic, InputError
from olmkit.base.json import reader as json_reader
from olmkit.base.json.reader import JsonError

# White space according to Go's `unicode.IsSpace`, in UTF-8.
_SPACE: Final = re.compile(
    rb"(?:[ \t\n\v\f\r]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]"
    rb"|\xe2\x81\x9f|\xe3\x80\x80)"
)
_SPACES: Final = re.compile(rb"(?:" + _SPACE.pattern + rb")*+")
# Only this many bytes are read to distinguish JSON from YAML.
_PEEKED: Final = 4096

Check = Callable[["Part"], object]
Report = Callable[[Diagnostic], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One document of a file: its value and the bytes it was read from.

    `json` is true if those bytes are one JSON value.
    """

    value: Any
    path: str
    index: int
    data: bytes
    start: int
    end: int
    json: bool


def read(data: bytes, path: str, *, check: Check, report: Report) -> Iterator[Part]:
    """Yield the documents of a file, in order.

    `check` raises `InputError` for a document that is not a blob: while JSON may still turn into
    YAML, such a document is read again as YAML, as the reference does. Raises `InputError` at
    the first document that cannot be read.
    """
    if looks_like_json(data[:_PEEKED]):
        yield from _json_then_yaml(data, path, check, report)
    else:
        yield from _yaml(data, path, 0, 0, check, report)


def looks_like_json(data: bytes) -> bool:
    """Return whether the first character after white space is an opening brace."""
    match = _SPACES.match(data)
    begin = match.end() if match else 0
    return data[begin : begin + 1] == b"{"


def _json_then_yaml(data: bytes, path: str, check: Check, report: Report) -> Iterator[Part]:
    position = 0
    count = 0
    try:
        for value, start, end in json_values(data):
            part = Part(
                value=value, path=path, index=count, data=data, start=start, end=end, json=True
            )
            check(part)
            yield part
            count += 1
            position = end
        return
    except JsonError as error:
        first = _json_error(error, data, path, position, plain=count > 1)
    except InputError as error:
        first = error
    if count > 1:
        raise first
    begin = _yaml_begin(data, position)
    if begin is None:
        raise first
    parts = _yaml(data, path, begin, count, check, report)
    try:
        following = next(parts, None)
    except InputError:
        raise first from None
    if following is not None:
        yield following
        yield from parts


def json_values(data: bytes) -> Iterator[tuple[Any, int, int]]:
    """Yield the JSON values of a stream, each with its start and end.

    Ends are guessed from the two usual layouts. A guess is correct if the bytes up to it are one
    value; the first wrong guess switches to the slow and exact method.
    """
    position = json_reader.skip_space(data, 0)
    size = len(data)
    while position < size:
        end = _guess_end(data, position)
        try:
            value = json_reader.read_doubles(data[position:end])
        except JsonError:
            yield from json_reader.read_stream(data, position)
            return
        yield value, position, end
        position = json_reader.skip_space(data, end)


def _guess_end(data: bytes, start: int) -> int:
    if data[start + 1 : start + 2] in (b"\n", b"\r"):
        end = data.find(b"\n}", start)
        return end + 2 if end >= 0 else len(data)
    end = data.find(b"\n", start)
    return end if end >= 0 else len(data)


def _yaml_begin(data: bytes, position: int) -> int | None:
    """Return the start of YAML after JSON, skipping white space up to a line break."""
    while len(data) - position >= 4:
        match = _SPACE.match(data, position)
        if match is None:
            # Go does not continue at a byte that is not UTF-8.
            return None if _is_broken(data[position : position + 4]) else position
        position = match.end()
        if match.group() == b"\n":
            return position
    return None


def _is_broken(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return error.start == 0
    return False


def _yaml(
    data: bytes, path: str, begin: int, index: int, check: Check, report: Report
) -> Iterator[Part]:
    for start, end in _parts(data, path, begin):
        if end == len(data) and not data.endswith(b"\n"):
            # The reference's line reader adds a newline to the last line, which matters in block
            # scalars.
            document = documents.load_yaml(data + b"\n", path, start=start, index=index)
        else:
            document = documents.load_yaml(data, path, start=start, end=end, index=index)
        part = Part(
            value=document.value,
            path=path,
            index=index,
            data=data,
            start=start,
            end=end,
            json=False,
        )
        if document.more:
            report(_lost_documents(document))
        check(part)
        yield part
        index += 1


def _parts(data: bytes, path: str, begin: int) -> Iterator[tuple[int, int]]:
    """Split at separator lines; one that follows an empty part belongs to the next part."""
    start = begin
    separator = begin if data.startswith(b"---", begin) else _next_separator(data, begin)
    while separator >= 0:
        line_end = data.find(b"\n", separator)
        line_end = len(data) if line_end < 0 else line_end + 1
        rest = data[separator + 3 : line_end].decode("utf-8", "replace").strip()
        if rest and rest[0] != "#":
            raise _bad_separator(data, path, separator, rest)
        if separator > start:
            yield start, separator
            start = line_end
        # The next separator may follow directly.
        separator = (
            line_end if data.startswith(b"---", line_end) else _next_separator(data, line_end)
        )
    if start < len(data):
        yield start, len(data)


def _next_separator(data: bytes, start: int) -> int:
    found = data.find(b"\n---", start)
    return found + 1 if found >= 0 else -1


def _bad_separator(data: bytes, path: str, offset: int, rest: str) -> InputError:
    return document_errors.error_at(
        data,
        path,
        offset,
        f"invalid Yaml document separator: {rest}",
        hint="only a comment may follow `---`; move the text to the next line",
    )


def _json_error(
    error: JsonError, data: bytes, path: str, position: int, *, plain: bool
) -> InputError:
    from olmkit.base.json import positions as json_positions  # only for errors

    exact = json_positions.explain(data, json_reader.skip_space(data, position)) or error
    offset = position if exact.offset is None else exact.offset
    message = exact.message
    if not plain and message.startswith("invalid character"):
        # The reference counts the bytes read while YAML may still follow.
        message = f"json: offset {offset + 1}: {message}"
    return document_errors.error_at(data, path, offset, message)


def _lost_documents(document: documents.Document) -> Diagnostic:
    return findings.create(
        "FBC001",
        "what follows the first document of this part is not read by any tool",
        at=document.at(),
        hint="put a line with `---` between documents",
    )
