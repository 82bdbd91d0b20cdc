"""Apply fixes, which replace ranges of a text and leave everything else unchanged."""

from __future__ import annotations

from collections.abc import Iterable

from olmkit.base.diagnostics import Fix, Location


def apply(data: bytes, fixes: Iterable[Fix]) -> bytes:
    """Return `data` with the fixes applied; of two overlapping ones, only the first.

    The text is UTF-8; other bytes are not changed. A place after the last line is the end.
    """
    text = data.decode("utf-8", "surrogateescape")
    starts = _line_starts(text)
    ranges = sorted(
        {(*_range(starts, len(text), fix.at), fix.replacement) for fix in fixes if fix.at.line}
    )
    parts: list[str] = []
    position = 0
    for start, end, replacement in ranges:
        if start < position:
            continue
        parts += (text[position:start], replacement)
        position = end
    return "".join([*parts, text[position:]]).encode("utf-8", "surrogateescape")


def text_at(data: bytes, at: Location) -> str:
    """Return the text of a range, empty if the place has no end."""
    if at.line is None or at.end_line is None:
        return ""
    text = data.decode("utf-8", "surrogateescape")
    start, end = _range(_line_starts(text), len(text), at)
    return text[start:end]


def _line_starts(text: str) -> list[int]:
    starts = [0]
    position = text.find("\n")
    while position >= 0:
        starts.append(position + 1)
        position = text.find("\n", position + 1)
    return starts


def _range(starts: list[int], size: int, at: Location) -> tuple[int, int]:
    start = _offset(starts, size, at.line or 1, at.column or 1)
    end = _offset(starts, size, at.end_line or at.line or 1, at.end_column or at.column or 1)
    return start, max(start, end)


def _offset(starts: list[int], size: int, line: int, column: int) -> int:
    return min(starts[line - 1] + column - 1, size) if line <= len(starts) else size
