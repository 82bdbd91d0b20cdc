"""Log lines with all their facts: what happened, and to which object in which pass.

Messages are constant, so that they can be searched and counted; what differs stands
behind them as `key=value`. Whatever is logged while an object is reconciled, by
whomever, says which object and which pass it was.
"""

from __future__ import annotations

import json
import logging
import re

from olmkit.runtime.work.controller import reconcile_facts

_USUAL = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_PLAIN = re.compile(r"[^\s\"=\\\x00-\x1f\x7f]+")


class FactsFormatter(logging.Formatter):
    """Time, level, logger and message in one line, then the facts that were given as `extra`.

    A fact that is an empty text says nothing, and is left out.
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the base's name
        own = {key: value for key, value in record.__dict__.items() if key not in _USUAL}
        facts = reconcile_facts.get({}) | own
        said = [f"{key}={_word(value)}" for key, value in facts.items() if value != ""]
        return " ".join([super().formatMessage(record), *said])


def handler() -> logging.Handler:
    """Lines to standard error, as the process of an operator writes them."""
    made = logging.StreamHandler()
    made.setFormatter(FactsFormatter())
    return made


def _word(value: object) -> str:
    """A value that has no blanks as it is, any other as a JSON text."""
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
