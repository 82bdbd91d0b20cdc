"""The details that `-v` prints to stderr: each request, and with `-vv` what libraries log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from olmkit.base import texts
from olmkit.cli.frame.terminal import Terminal, one_line

_USUAL: Final = frozenset((*vars(logging.makeLogRecord({})), "message", "asctime"))


class _Details(logging.Handler):
    def __init__(self, terminal: Terminal) -> None:
        super().__init__(logging.DEBUG)
        self._terminal = terminal

    def emit(self, record: logging.LogRecord) -> None:
        self._terminal.note(one_line(_line(record)))


def show(terminal: Terminal, verbose: int) -> Callable[[], None]:
    """Print what olmkit logs, and from two on also libraries; return what ends it."""
    logger = logging.getLogger("olmkit" if verbose == 1 else None)
    before = logger.level
    handler = _Details(terminal)
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)

    def end() -> None:
        logger.removeHandler(handler)
        logger.setLevel(before)

    return end


def _line(record: logging.LogRecord) -> str:
    message = texts.limit_values(record.getMessage())
    facts = {key: value for key, value in vars(record).items() if key not in _USUAL}
    if {"method", "path", "code"} <= facts.keys():
        return f"{facts['method']} {facts['path']}: {facts['code']}"
    more = ", ".join(f"{key}={texts.shorten(str(value))}" for key, value in facts.items())
    return f"{message} ({more})" if more and record.name.startswith("olmkit") else message
