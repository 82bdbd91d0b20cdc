"""What is seen of each request: a count, a log line at debug level, a span of a trace.

A request ends here with the head of its answer. The path is shown without its query, which may
carry the command of an `exec`; headers and bodies are never shown.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol

_LOG = logging.getLogger(__name__)

FAILED = "<error>"
"""The code of a request that got no answer."""

Observer = Callable[[str, str, str], None]
"""Told of each request: method, host, and the code (`<error>` when no answer came)."""


class RequestSpan(Protocol):
    """One request as a part of a trace."""

    @property
    def headers(self) -> Sequence[tuple[str, str]]:
        """What tells the server which trace the request is part of."""

    def ended(self, code: str) -> None:
        """The answer's head has come, or `<error>`."""


Tracer = Callable[[str, str, str], RequestSpan | None]
"""Begins a span for a request: method, host and path; None where nothing is traced."""


class SentRequests:
    """Counts, logs and traces the requests of one connection."""

    def __init__(self, host: str, observer: Observer | None, tracer: Tracer | None) -> None:
        self.host = host
        self.observer = observer
        self.tracer = tracer

    def begin(self, method: str, path: str) -> SentRequest:
        """Note that a request is about to be sent, and return its span; `path` may have a query."""
        path = path.partition("?")[0]
        span = self.tracer(method, self.host, path) if self.tracer is not None else None
        return SentRequest(self, method, path, span)


class SentRequest:
    """A request that is under way."""

    __slots__ = ("_all", "_begun", "_method", "_path", "_span")

    def __init__(self, all_: SentRequests, method: str, path: str, span: RequestSpan | None):
        self._all = all_
        self._method = method
        self._path = path
        self._span = span
        self._begun = time.monotonic()

    @property
    def headers(self) -> Sequence[tuple[str, str]]:
        """What the request must carry."""
        return self._span.headers if self._span is not None else ()

    def ended(self, code: str) -> None:
        """The answer's head has come; `code` is its status, or `FAILED`."""
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
        """It was cancelled: no answer counts, and its span must end all the same."""
        if self._span is not None:
            self._span.ended(FAILED)
            self._span = None
