"""The errors of text that is not YAML or JSON, with their places in the file."""

from __future__ import annotations

from olmkit.base import findings
from olmkit.base.diagnostics import InputError, Location
from olmkit.base.yaml.events import YamlError


def further(yaml: InputError, json: InputError | None) -> InputError:
    """Return the error of the reader that got further."""
    if json is None:
        return yaml
    first, second = (found.diagnostics[0].at for found in (yaml, json))
    if first is None or second is None or first.line is None or second.line is None:
        return json
    yaml_place = (first.line, first.column or 0)
    return json if (second.line, second.column or 0) >= yaml_place else yaml


def place_in_file(data: bytes, start: int, line: int, column: int) -> tuple[int, int]:
    """Return line and column from 1 in the file, for a place from 0 in the part from `start`."""
    if start == 0:
        return line + 1, column + 1
    first = data.count(b"\n", 0, start)
    if line == 0:
        column += len(data[data.rfind(b"\n", 0, start) + 1 : start].decode("utf-8", "replace"))
    return first + line + 1, column + 1


def error_at(data: bytes, path: str, offset: int, message: str, *, hint: str = "") -> InputError:
    """Return the error at byte `offset` of a file."""
    before = data[data.rfind(b"\n", 0, offset) + 1 : offset]
    line = data.count(b"\n", 0, offset)
    column = len(before.decode("utf-8", "replace"))
    return document_error(Location(path=path, line=line + 1, column=column + 1), message, hint)


def yaml_error(problem: YamlError, data: bytes, path: str, start: int) -> InputError:
    """Return the error of a YAML reader, for a part of a file from `start`."""
    if problem.line is not None and problem.line > data.count(b"\n", start):
        # The parser has added a line break at the end, and means the place before it.
        return error_at(data, path, len(data), problem.message, hint=problem.hint)
    if problem.line is not None:
        line, column = place_in_file(data, start, problem.line, problem.column or 0)
        return document_error(
            Location(path=path, line=line, column=column), problem.message, problem.hint
        )
    if problem.offset is not None:
        return error_at(data, path, start + problem.offset, problem.message, hint=problem.hint)
    return document_error(Location(path=path), problem.message, problem.hint)


def document_error(at: Location, message: str, hint: str) -> InputError:
    """Return the error of a document that cannot be read (DOC001)."""
    found = findings.create(
        "DOC001",
        message,
        at=at,
        hint=hint,
    )
    return InputError.of(found)
