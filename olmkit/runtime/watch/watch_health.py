"""The health of one watch, for the log and the probes.

A failure is logged once, and again if the error changes or the failure lasts long; the recovery is
logged too. A list does not prove that a watch works. A watch works if the server accepts it and
does not close it at once, with or without events.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from olmkit.base.diagnostics import OlmkitError
from olmkit.kube.api import ClusterError, Forbidden, NoSuchKind

_LOG = logging.getLogger(__name__)

_SAID_AGAIN = 300.0  # seconds

REFUSALS = (Forbidden, NoSuchKind)
"""Errors that only an administrator can fix, and neither a retry nor a restart."""


class Contact:
    """The connection state of one watch; `changed` is called when the watch fails or recovers.

    `last` is the event loop's time when the watch last worked, or was first tried. `failure` is the
    error because of which the cache is not up to date. `facts` identify the watch in the log.
    """

    def __init__(
        self, facts: Mapping[str, str], *, changed: Callable[[], None] = lambda: None
    ) -> None:
        self.last = 0.0
        self.failure: Exception | None = None
        self._facts = facts
        self._changed = changed
        self._said: tuple[str, float] | None = None

    def begin(self) -> None:
        """Note that the watch is being tried."""
        self.last = asyncio.get_running_loop().time()

    def kept(self) -> None:
        """Note that the watch works."""
        self.last = asyncio.get_running_loop().time()
        if self._said is not None:
            self._said = None
            _LOG.info("the watch works again", extra=dict(self._facts))
        self.listed()

    def listed(self) -> None:
        """Note that the list succeeded and the watch starts next."""
        if self.failure is not None:
            self.failure = None
            self._changed()

    def failed(self, what: str, error: Exception | None = None) -> None:
        """Note that the watch failed, so that the cache becomes stale."""
        self.failure = error or ClusterError(what, temporary=True)
        words = str(self.failure)
        now = asyncio.get_running_loop().time()
        is_news = self._said is None or self._said[0] != words or now >= self._said[1]
        if is_news:
            self._said = words, now + _SAID_AGAIN
        hint = error.hint if isinstance(error, OlmkitError) else ""
        facts = {**self._facts, "error": words, "hint": hint}
        _LOG.log(logging.WARNING if is_news else logging.DEBUG, what, extra=facts)
        self._changed()
