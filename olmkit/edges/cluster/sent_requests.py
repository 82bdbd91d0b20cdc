"""Observe each request: a metric, a log line at debug level, a trace span.

A request ends with the head of its response. The path is shown without its query, which may contain
the command of an `exec`; headers and bodies are never shown.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol

_LOG = logging.getLogger(__name__)

FAILED = "<error>"
"""The code of a request without a response."""

Observer = Callable[[str, str, str], None]
"""Receives each request: method, host, and the code (`<error>` without a response)."""


class RequestSpan(Protocol):
    """One request in a trace."""

    @property
    def headers(self) -> Sequence[tuple[str, str]]:
        """Return the headers that tell the server the trace of the request."""

    def ended(self, code: str) -> None:
        """Record that the response's headers were received, or `<error>`."""


Tracer = Callable[[str, str, str], RequestSpan | None]
"""Starts a span for a request: method, host and path; None without tracing."""


class SentRequests:
    """Counts, logs and traces the requests of one connection."""

    def __init__(self, host: str, observer: Observer | None, tracer: Tracer | None) -> None:
        self.host = host
        self.observer = observer
        self.tracer = tracer

    def begin(self, method: str, path: str) -> SentRequest:
        """Record that a request is being sent, and return its span; `path` may have a query."""
        path = path.partition("?")[0]
        span = self.tracer(method, self.host, path) if self.tracer is not None else None
        return SentRequest(self, method, path, span)


class SentRequest:
    """A running request."""

    __slots__ = ("_all", "_begun", "_method", "_path", "_span")

    def __init__(self, all_: SentRequests, method: str, path: str, span: RequestSpan | None):
        self._all = all_
        self._method = method
        self._path = path
        self._span = span
        self._begun = time.monotonic()

    @property
    def headers(self) -> Sequence[tuple[str, str]]:
        """Return the headers that the request must have."""
        return self._span.headers if self._span is not None else ()

    def ended(self, code: str) -> None:
        """Record that the response's headers were received; `code` is its status, or `FAILED`."""
        if self._all.observer is not None:
            self._all.observer(self._method, self._all.host, code)
        if _LOG.isEnabledFor(logging.DEBUG):
            took = round(time.monotonic() - self._begun, 4)
            facts = {"method": self._method, "path": self._path, "code": code, "seconds": took}
            _LOG.debug("request", extra=facts)
        if self._span is not None:
            self._span.ended(code)
            self._span = None

    def given_up(self) -> None:
        """Record that the request was cancelled: there is no response, but its span must end."""
        if self._span is not None:
            self._span.ended(FAILED)
            self._span = None
