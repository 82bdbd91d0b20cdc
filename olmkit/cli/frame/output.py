"""Findings and changes as text and as JSON.

One function for each format, each from values to a string, so that a new one needs no other
changes. The JSON shapes are stable: they only grow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from olmkit.base import texts
from olmkit.base.diagnostics import Diagnostic, Location, OlmkitError, Severity, explain_command
from olmkit.cli.frame.terminal import one_line, paint, printable

if TYPE_CHECKING:
    from olmkit.base.tree import Change, Changes

ReadQuoted = Callable[[str], bytes | None]
"""Returns the bytes of a location's file, or None if it cannot be shown."""

_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}
# Longer lines are truncated around the place: manifests have icons of 100 kB in one line.
_WIDTH = 120
_SURROGATES = re.compile("[\ud800-\udfff]")


def no_sources(path: str) -> bytes | None:  # noqa: ARG001 - fulfils Sources
    return None


def text(
    diagnostics: Sequence[Diagnostic], sources: ReadQuoted = no_sources, *, color: bool = False
) -> str:
    """Format findings for people: each with its place, the lines in question, and the fix."""
    cache: dict[str, list[str]] = {}
    blocks = [_block(found, sources, cache, color=color) for found in diagnostics]
    return "\n\n".join(blocks) + ("\n" if blocks else "")


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """Return `Found 1 error and 2 warnings; 1 can be fixed with --fix`, or an empty string."""
    counts = dict.fromkeys(Severity, 0)
    fixable = 0
    for found in diagnostics:
        counts[found.severity] += 1
        fixable += found.fix is not None
    words = [plural(count, _NOUNS[severity]) for severity, count in counts.items() if count]
    if not words:
        return ""
    line = "Found " + enumeration(words)
    return line + (f"; {fixable} can be fixed with `--fix`" if fixable else "")


_NOUNS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def enumeration(words: Sequence[str]) -> str:
    """Join as `a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def error_text(error: OlmkitError, sources: ReadQuoted = no_sources, *, color: bool = False) -> str:
    """Return an error that ended the work, with its findings and its fix."""
    parts = []
    if error.diagnostics:
        parts.append(text(error.diagnostics, sources, color=color))
    if not any(
        error.message in (found.message, f"{found.at}: {found.message}")
        for found in error.diagnostics
    ):
        message, hint = texts.bounded_error(error.message), texts.limit_hint(error.hint)
        line = f"{paint('error', 'red', 'bold', on=color)}: {printable(message)}"
        if hint:
            line += f"\n{paint('hint', 'cyan', on=color)}: {printable(hint)}"
        parts.append(line)
    return "\n".join(parts)


def changes_text(changes: Changes, *, dry_run: bool) -> str:
    """Return a line for each file with its change."""
    verbs = {"create": "created", "update": "updated", "remove": "removed"}
    lines = [
        f"would {change.kind} {change.path}" if dry_run else f"{verbs[change.kind]} {change.path}"
        for change in changes
    ]
    return "\n".join(lines)


def difference(reference: str, change: Change) -> Iterator[str]:
    """Yield a change of a file below `reference` as the lines of a unified difference."""
    import difflib  # slow to import, and only this needs it

    path = f"{reference.rstrip('/')}/{change.path}"
    before, after = (
        (file.data if file else b"").decode("utf-8", "replace").splitlines(keepends=True)
        for file in (change.found, change.wanted)
    )
    shown = path.lstrip("/")  # like git with an absolute path
    for line in difflib.unified_diff(before, after, f"a/{shown}", f"b/{shown}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def changes_json(changes: Changes) -> list[dict[str, str]]:
    return [{"path": change.path, "change": str(change.kind)} for change in changes]


def location_json(at: Location) -> dict[str, Any]:
    return _without_nothing(
        {
            "path": at.path,
            "line": at.line,
            "column": at.column,
            "endLine": at.end_line,
            "endColumn": at.end_column,
            "field": at.field or None,
        }
    )


def diagnostic_json(found: Diagnostic) -> dict[str, Any]:
    return _without_nothing(
        {
            "rule": found.rule,
            "name": found.name,
            "severity": str(found.severity),
            "message": found.message,
            "at": location_json(found.at) if found.at else None,
            "subject": found.subject or None,
            "hint": found.hint or None,
            "fix": {"at": location_json(found.fix.at), "replacement": found.fix.replacement}
            if found.fix
            else None,
            "related": [
                {"at": location_json(other.at), "message": other.message} for other in found.related
            ]
            or None,
            "docs": found.docs,
            "explain": explain_command(found.rule),
        }
    )


def envelope(
    command: str,
    result: Any,
    diagnostics: Iterable[Diagnostic] = (),
    error: OlmkitError | None = None,
) -> str:
    """Return the one JSON value that a command prints, also when it fails."""
    value: dict[str, Any] = {
        "version": 1,
        "command": command,
        "result": result,
        "diagnostics": [diagnostic_json(found) for found in diagnostics],
    }
    if error is not None:
        message, hint = texts.bounded_error(error.message), texts.limit_hint(error.hint)
        value["error"] = _without_nothing({"message": message, "hint": hint or None})
    return json_text(value)


def json_text(value: Any) -> str:
    """Return JSON in UTF-8 even if a file name is not: its invalid bytes are escaped."""
    import json

    words = json.dumps(value, indent=2, ensure_ascii=False)
    return words if words.isascii() else _SURROGATES.sub(_escape, words)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _block(
    found: Diagnostic, sources: ReadQuoted, cache: dict[str, list[str]], *, color: bool
) -> str:
    shade = _COLORS[found.severity]
    head = paint(f"{found.severity}[{found.rule}]", shade, "bold", on=color)
    lines = [f"{head}: {printable(found.message)}"]
    if found.at is not None:
        place = one_line(str(found.at))
        if found.at.line is None and found.at.field:
            place = f"{place} ({printable(found.at.field)})".lstrip()
        if place:
            lines.append(f"  {paint('-->', 'blue', on=color)} {place}")
        lines += _snippet(found, sources, cache, color=color)
    if found.subject:
        lines.append(f"  {paint('in', 'blue', on=color)} {printable(found.subject)}")
    if found.hint:
        lines.append(f"{paint('hint', 'cyan', on=color)}: {printable(found.hint)}")
    return "\n".join(lines)


def _snippet(
    found: Diagnostic, sources: ReadQuoted, cache: dict[str, list[str]], *, color: bool
) -> list[str]:
    at = found.at
    if at is None or at.line is None:
        return []
    if at.path not in cache:
        data = sources(at.path)
        cache[at.path] = [] if data is None else data.decode("utf-8", "replace").split("\n")
    source = cache[at.path]
    marks = [(at, "^", "")]
    marks += [(o.at, "-", o.message) for o in found.related if o.at.path == at.path and o.at.line]
    shown = [mark for mark in marks if mark[0].line and mark[0].line <= len(source)]
    if not shown:
        return []
    gutter = max(len(str(mark[0].line)) for mark in shown)
    bar = paint("|", "blue", on=color)
    lines = [f"{' ' * gutter} {bar}"]
    for place, sign, word in sorted(shown, key=lambda mark: mark[0].line or 0):
        number = place.line or 0
        code, start, width = _cut(source[number - 1].rstrip("\r"), place)
        under = sign * max(1, width) + (f" {word}" if word else "")
        shade = _COLORS[found.severity] if sign == "^" else "blue"
        lines.append(f"{number:>{gutter}} {bar} {code}".rstrip())
        if place.column is not None:
            lines.append(f"{' ' * gutter} {bar} {' ' * start}{paint(under, shade, on=color)}")
    lines.append(f"{' ' * gutter} {bar}")
    return lines


def _cut(line: str, at: Location) -> tuple[str, int, int]:
    """Return the shown part of a line, and the start and width of the place in it."""
    start = min((at.column or 1) - 1, len(line))
    end = len(line)
    if at.end_column is not None and at.end_line in (None, at.line):
        end = min(max(at.end_column - 1, start), len(line))
    offset = 0
    if len(line) > _WIDTH:
        offset = max(0, min(start - 20, len(line) - _WIDTH))
        line = line[offset : offset + _WIDTH]
    stripped = printable(line.replace("\t", " "))
    start -= offset
    return stripped, start, min(end - offset, len(line)) - start


def _without_nothing(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None}
