"""The events of libyaml's parser, and its errors with olmkit's places and messages.

If libyaml parses text differently than Go's parser, which is based on an older release of it, the
text is changed (an escape that only Go supports) or refused (a byte order mark inside it) before a
wrong value is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from yaml import events as yaml_events
from yaml import reader as yaml_stream
from yaml._yaml import CParser
from yaml.error import MarkedYAMLError, YAMLError

from olmkit.base.yaml import problems
from olmkit.base.yaml.problems import YamlProblem

T = TypeVar("T")

_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
# A byte order mark at the start of a line would be ignored here, but Go treats it as text.
_MARK: Final = re.compile(
    rb"(?:[\r\n]|\xc2\x85|\xe2\x80[\xa8\xa9]|\A\xef\xbb\xbf)(?:[ \t]|\xef\xbb\xbf)*\xef\xbb\xbf"
)
# A directive that declares a short form of tags: the parser compares each one with all others, and
# copies its prefix for each use.
_TAG_DIRECTIVE: Final = re.compile(
    rb"(?:\A(?:\xef\xbb\xbf)?|[\r\n]|\xc2\x85|\xe2\x80[\xa8\xa9])"
    rb"(%TAG[ \t](?:(?!\xc2\x85|\xe2\x80[\xa8\xa9])[^\r\n])*+)"
)
_MAX_TAG_DIRECTIVES: Final = 100
_MAX_TAG_DIRECTIVE: Final = 1000
_UNKNOWN_ESCAPE: Final = "found unknown escape character"
_STARTS: Final = (yaml_events.SequenceStartEvent, yaml_events.MappingStartEvent)
_ENDS: Final = (yaml_events.SequenceEndEvent, yaml_events.MappingEndEvent)
# The maximum number that are rewritten, each with a new parse of the text.
_MOST_ESCAPES: Final = 50


class YamlError(Exception):
    """A syntax error, with line and column from 0, or only a byte offset.

    `reason` is libyaml's message.
    """

    def __init__(
        self,
        message: str,
        *,
        line: int | None = None,
        column: int | None = None,
        offset: int | None = None,
        hint: str = "",
        reason: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.offset = offset
        self.hint = hint
        self.reason = reason


def events(data: bytes) -> Iterator[Any]:
    """Yield the events of the text; errors of the parser become `YamlError`."""
    _check_directives(data)
    mark = _misplaced_mark(data)
    limit = None if mark is None else len(decode(data[:mark]))
    opened: list[Any] = []
    try:
        parser = CParser(data)
        while parser.check_event():
            event: Any = parser.get_event()
            kind = type(event)
            if kind in _STARTS:
                opened.append(event)
            elif kind in _ENDS:
                opened.pop()
            if (
                limit is not None
                and event.end_mark.index > limit
                and type(event) is not yaml_events.DocumentEndEvent
            ):
                raise YamlError(
                    "a byte order mark is inside the text",
                    offset=mark,
                    hint="remove it; it usually comes from concatenating files",
                )
            yield event
    except YAMLError as error:
        raise _problem(error, data, opened[-1] if opened else None) from None


def read(data: bytes, reader: Callable[[bytes], T]) -> T:
    """Read the text with `reader`, after rewriting escapes that only Go supports."""
    for _ in range(_MOST_ESCAPES):
        try:
            return reader(data)
        except YamlError as error:
            data = _repair(data, error)
    return reader(data)


def decode(data: bytes) -> str:
    """Return the characters as the parser counts them, without a byte order mark."""
    if data.startswith(_UTF_16):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")


def error_at(event: Any, message: str, *, hint: str = "") -> YamlError:
    """Return the error for an event with an invalid meaning."""
    mark = event.start_mark
    return YamlError(message, line=mark.line, column=mark.column, hint=hint)


def _repair(data: bytes, error: YamlError) -> bytes:
    """Return the text with an escaped quote as a code, or raise any other error."""
    lines = data.split(b"\n")
    if error.reason != _UNKNOWN_ESCAPE or error.line is None or error.line >= len(lines):
        raise error
    line = lines[error.line].decode("utf-8", "surrogateescape")
    at = line.find("\\'", max((error.column or 0) - 1, 0))
    if at < 0 or at > (error.column or 0) + 1:
        raise error
    line = line[:at] + "\\x27" + line[at + 2 :]
    lines[error.line] = line.encode("utf-8", "surrogateescape")
    return b"\n".join(lines)


def _check_directives(data: bytes) -> None:
    """Refuse so many or so long `%TAG` directives that the parser would need minutes."""
    if data.startswith(_UTF_16):
        data = decode(data).encode()
    if b"%TAG" not in data:
        return
    for number, match in enumerate(_TAG_DIRECTIVE.finditer(data)):
        if number >= _MAX_TAG_DIRECTIVES:
            message = f"the text has more than {_MAX_TAG_DIRECTIVES} `%TAG` directives"
        elif len(match[1]) > _MAX_TAG_DIRECTIVE:
            message = f"a `%TAG` directive has more than {_MAX_TAG_DIRECTIVE:,} characters"
        else:
            continue
        raise YamlError(
            message,
            offset=match.start(1),
            hint="remove it; Kubernetes objects do not need it",
        )


def _misplaced_mark(data: bytes) -> int | None:
    """Return the place of a byte order mark that the parser ignores but Go reads as text."""
    if data.startswith((b"\xff\xfe\xff\xfe", b"\xfe\xff\xfe\xff")):
        return 2
    match = _MARK.search(data) if b"\xef\xbb\xbf" in data else None
    return match.end() - 3 if match else None


def _problem(error: YAMLError, data: bytes, opened: Any | None) -> YamlError:
    """Return the error with our message. `opened` is the innermost open collection."""
    if isinstance(error, yaml_stream.ReaderError):
        reason = str(error.reason)
        problem = problems.describe(reason)
        return _invalid(problem, reason, offset=error.position)
    if not isinstance(error, MarkedYAMLError):
        return _invalid(problems.describe(""), str(error))
    reason = error.problem or error.context or ""
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return _invalid(problems.describe(reason), reason)
    place = (mark.line, mark.column)
    character = _character(data, *place)
    problem = problems.describe(reason, character)
    if problem.at_context and error.context_mark is not None:
        place = (error.context_mark.line, error.context_mark.column)
    elif (
        opened is not None
        and opened.flow_style
        and place[0] > opened.start_mark.line
        and character not in ("]", "}")
    ):
        # The next line is invalid, because the bracket of an earlier one is open.
        start = opened.start_mark
        place = (start.line, start.column)
        problem = problems.unclosed_collection(
            is_list=type(opened) is yaml_events.SequenceStartEvent
        )
    return _invalid(problem, reason, line=place[0], column=place[1])


def _invalid(
    problem: YamlProblem,
    reason: str,
    *,
    line: int | None = None,
    column: int | None = None,
    offset: int | None = None,
) -> YamlError:
    return YamlError(
        f"not valid YAML: {problem.message}",
        line=line,
        column=column,
        offset=offset,
        hint=problem.hint,
        reason=reason,
    )


def _character(data: bytes, line: int, column: int) -> str:
    """Return the character at a place, empty after the end of its line."""
    lines = data.split(b"\n", line + 1)
    return lines[line].decode("utf-8", "replace")[column : column + 1] if line < len(lines) else ""
