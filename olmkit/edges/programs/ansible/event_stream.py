"""The output of a forked play: each event is a line of JSON, with the text printed before it."""

from __future__ import annotations

import io
import json
import os
from datetime import UTC, datetime
from typing import Any

_MOST = 64 * 1024  # characters of output before an event
_LONGEST = 700_000  # characters of an event


class EventStream(io.TextIOBase):
    """Replaces standard output and standard error."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._printed: list[str] = []
        self._size = 0

    def writable(self) -> bool:
        """Return true, like Python's own streams."""
        return True

    def write(self, text: str) -> int:
        """Keep the text for the next event."""
        self._printed.append(text)
        self._size += len(text)
        if self._size > _MOST:
            self.event("verbose", {})
        return len(text)

    def event(self, type_: str, data: dict[str, Any]) -> None:
        """Write an event."""
        line = self._line(type_, data)
        if len(line) > _LONGEST and "res" in data:
            kept = {key: data["res"].get(key) for key in ("changed", "msg") if key in data["res"]}
            line = self._line(type_, {**data, "res": kept})
        if len(line) > _LONGEST:
            line = self._line(type_, {**data, "res": {}})
        self._printed.clear()
        self._size = 0
        self._send(line)

    def end(self) -> None:
        """Write the text that was printed after the last event, unchanged."""
        if self._printed:
            self._send("".join(self._printed))
            self._printed.clear()

    def _line(self, type_: str, data: dict[str, Any]) -> str:
        found = {
            "event": type_,
            "created": datetime.now(UTC).isoformat(),
            "stdout": "".join(self._printed).rstrip("\n"),
            "event_data": data,
        }
        return json.dumps(found, default=str, skipkeys=True)

    def _send(self, text: str) -> None:
        data = text.encode(errors="surrogateescape").rstrip(b"\n") + b"\n"
        while data:
            data = data[os.write(self._descriptor, data) :]


STREAM = EventStream(1)
