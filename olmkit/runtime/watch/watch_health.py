"""What is known of one watch: whether the server keeps it, and what it says when it does not.

Every watch reports the same, in the log and to the probes. What goes wrong is
said once, again when it changes or lasts long, and its end is logged, too. A
list does not prove that a watch works. A watch works when the server accepts it and does
not close it at once, whether or not events come.
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
"""What an administrator must change, and neither time nor a new process does."""


class Contact:
    """One watch's contact to the server; `changed` is called when it was lost or found.

    `last` is when the watch was last known to be kept, or first tried, by the clock of the
    event loop. `failure` is what keeps the copy from being up to date just now. `facts`
    say in the log which watch it is.
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
        """It is tried from now on."""
        self.last = asyncio.get_running_loop().time()

    def kept(self) -> None:
        """The watch works."""
        self.last = asyncio.get_running_loop().time()
        if self._said is not None:
            self._said = None
            _LOG.info("the watch is kept again", extra=dict(self._facts))
        self.listed()

    def listed(self) -> None:
        """The copy is up to date, and the watch is to be begun."""
        if self.failure is not None:
            self.failure = None
            self._changed()

    def failed(self, what: str, error: Exception | None = None) -> None:
        """The copy grows old, by an error of the server's or by what was seen here."""
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
