"""The body of a watch: lines of JSON, one for each event, until the server ends it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NoReturn

import msgspec

from olmkit.kube.api import ClusterError, EventType, WatchEvent, error_from_status

_MAX_LINE = 64 * 1024 * 1024


class _Line(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


_LINE_DECODER = msgspec.json.Decoder(_Line)


async def lines(read: Callable[[], Awaitable[bytes]], idle_timeout: float) -> AsyncIterator[bytes]:
    """Yield the lines of a body of any length (a watch event may be as large as an object).

    `read` returns the next bytes, none at the end; raises `TimeoutError` if that takes longer than
    `idle_timeout` seconds. Raises `ClusterError` for a line of more than 64 MiB.
    """
    parts: list[bytes] = []
    size = 0
    while True:
        async with asyncio.timeout(idle_timeout):
            chunk = await read()
        if not chunk:
            return  # data after the last newline was truncated
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            if parts:
                parts.append(chunk[start:end])
                yield b"".join(parts)
                parts, size = [], 0
            elif end > start:
                yield chunk[start:end]
            start = end + 1
        if start < len(chunk):
            parts.append(chunk[start:])
            size += len(chunk) - start
            if size > _MAX_LINE:
                raise ClusterError("the API server sent a line of more than 64 MiB")


def event(line: bytes) -> WatchEvent:
    """Return the event of a line; an `ERROR` is raised as the error of its Status.

    Raises `ClusterError`, a temporary one if the line is not an event.
    """
    try:
        decoded = _LINE_DECODER.decode(line)
        if decoded.type == "ERROR":
            _raise_status(decoded.object)
        return WatchEvent(EventType(decoded.type), bytes(decoded.object))
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise ClusterError(
            "the API server sent a line that is not an event", temporary=True
        ) from error


def _raise_status(raw: msgspec.Raw) -> NoReturn:
    status = msgspec.json.decode(raw)
    raise error_from_status(status if isinstance(status, dict) else {})
