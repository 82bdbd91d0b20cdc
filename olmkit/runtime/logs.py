"""Log lines with all their facts: what happened, and to which object in which pass.

Messages are constant, so that they can be searched and counted; what differs is
behind them as `key=value`, or as keys of a JSON object. Whatever is logged while an object is
reconciled, by whomever, says which object and which pass it was. The keys of JSON and the forms
of times are those of zap, the library of controller-runtime.
"""

from __future__ import annotations

import datetime
import json
import logging
import math
import re
from collections.abc import Mapping
from typing import Any

from olmkit.runtime.work.controller import reconcile_facts

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")
TIMES = ("iso8601", "rfc3339", "rfc3339nano", "epoch", "millis", "nano")

_USUAL = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_PLAIN = re.compile(r"[^\s\"=\\\x00-\x1f\x7f]+")
_FIXED = frozenset({"level", "ts", "logger", "msg", "stacktrace"})


class FactsFormatter(logging.Formatter):
    """Time, level, logger and message in one line, then the facts that were given as `extra`.

    A fact that is an empty text says nothing, and is left out. `time` is one of `TIMES`;
    `tracebacks` False leaves tracebacks out.
    """

    def __init__(self, *, time: str = "iso8601", tracebacks: bool = True) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._time = time
        self._tracebacks = tracebacks

    def formatTime(  # noqa: N802 - the base's name
        self, record: logging.LogRecord, datefmt: str | None = None
    ) -> str:
        del datefmt
        return str(_time(record.created, self._time))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the base's name
        facts = _facts(record)
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not self._tracebacks:
            facts.setdefault("error", _said(error))
        said = [f"{key}={_word(value)}" for key, value in facts.items()]
        return " ".join([super().formatMessage(record), *said])

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the base's name
        return super().formatException(ei) if self._tracebacks else ""


class JsonFormatter(logging.Formatter):
    """One JSON object in each line: `level`, `ts`, `logger`, `msg`, the facts, `stacktrace`.

    Numbers and truth values stay what they are, any other value is a text. A fact whose name is
    that of a fixed key has `_` behind it.
    """

    def __init__(self, *, time: str = "iso8601", tracebacks: bool = True) -> None:
        super().__init__()
        self._time = time
        self._tracebacks = tracebacks

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "level": _LEVEL_OF_ZAP.get(record.levelname, record.levelname.lower()),
            "ts": _time(record.created, self._time),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        facts = _facts(record)
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            facts.setdefault("error", _said(error))
        for key, value in facts.items():
            line[f"{key}_" if key in _FIXED else key] = _plain(value)
        if record.exc_info and self._tracebacks:
            line["stacktrace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


_LEVEL_OF_ZAP = {"WARNING": "warn", "CRITICAL": "error"}


def handler(
    form: str = "text", *, time: str = "iso8601", tracebacks: bool = True
) -> logging.Handler:
    """Lines to standard error, as the process of an operator writes them."""
    made = logging.StreamHandler()
    formatter = JsonFormatter if form == "json" else FactsFormatter
    made.setFormatter(formatter(time=time, tracebacks=tracebacks))
    return made


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    own = {key: value for key, value in record.__dict__.items() if key not in _USUAL}
    facts: Mapping[str, Any] = reconcile_facts.get({}) | own
    return {key: value for key, value in facts.items() if value != ""}


def _time(created: float, form: str) -> str | float:
    if form == "epoch":
        return round(created, 6)
    if form == "millis":
        return round(created * 1e3, 3)
    if form == "nano":
        return int(created * 1e9)
    kept = {"rfc3339": "seconds", "rfc3339nano": "microseconds"}.get(form, "milliseconds")
    moment = datetime.datetime.fromtimestamp(created, datetime.UTC)
    return moment.isoformat(timespec=kept).replace("+00:00", "Z")


def _plain(value: object) -> object:
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)


def _said(error: BaseException) -> str:
    """What an error says, on one line; its type when it says nothing."""
    return str(error) or type(error).__name__


def _word(value: object) -> str:
    """A value that has no blanks as it is, any other as a JSON text."""
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
