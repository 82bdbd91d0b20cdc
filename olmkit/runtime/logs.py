"""Structured log lines: what happened, and the object and reconcile it belongs to.

Messages are constant, so that they can be searched and counted; variable values follow as
`key=value`, or as keys of a JSON object. Every line that any code logs during a reconcile names the
object and the reconcile. The JSON keys and the formats of times are those of zap, the logging
library of controller-runtime.
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
    """Formats time, level, logger and message in one line, then the facts passed as `extra`.

    Facts that are empty strings are omitted. `time` is one of `TIMES`; `tracebacks=False` omits
    tracebacks.
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
            facts.setdefault("error", _error_text(error))
        pairs = [f"{key}={_word(value)}" for key, value in facts.items()]
        return " ".join([super().formatMessage(record), *pairs])

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the base's name
        return super().formatException(ei) if self._tracebacks else ""


class JsonFormatter(logging.Formatter):
    """Formats each line as a JSON object: `level`, `ts`, `logger`, `msg`, the facts, `stacktrace`.

    Numbers and booleans keep their type, all other values become strings. A fact with the name of a
    fixed key gets the suffix `_`.
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
            facts.setdefault("error", _error_text(error))
        for key, value in facts.items():
            line[f"{key}_" if key in _FIXED else key] = _plain(value)
        if record.exc_info and self._tracebacks:
            line["stacktrace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


_LEVEL_OF_ZAP = {"WARNING": "warn", "CRITICAL": "error"}


def handler(
    form: str = "text", *, time: str = "iso8601", tracebacks: bool = True
) -> logging.Handler:
    """Return a logging handler that writes to standard error, as operators do."""
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


def _error_text(error: BaseException) -> str:
    """Return an error's message on one line, or its type if the message is empty."""
    return str(error) or type(error).__name__


def _word(value: object) -> str:
    """Return a value without spaces unchanged, and any other as a JSON string."""
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
