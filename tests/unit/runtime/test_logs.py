"""The log lines of an operator."""

from __future__ import annotations

import io
import json
import logging
import re
from typing import Any

import pytest

from olmkit.runtime import logs
from olmkit.runtime.work.controller import reconcile_facts


def _line(
    message: str,
    facts: dict[str, Any],
    *,
    error: Exception | None = None,
    form: str = "text",
    time: str = "iso8601",
    tracebacks: bool = True,
) -> str:
    out = io.StringIO()
    handler = logs.handler(form, time=time, tracebacks=tracebacks)
    assert isinstance(handler, logging.StreamHandler)
    handler.setStream(out)
    logger = logging.Logger("operator")
    logger.addHandler(handler)
    logger.warning(message, extra=facts, exc_info=error)
    return out.getvalue()


def test_key_value_pairs_follow_the_message() -> None:
    line = _line("cannot list", {"kind": "Site", "watched_namespace": ""})
    assert line.endswith(" WARNING operator cannot list kind=Site\n")


@pytest.mark.parametrize(
    ("value", "word"),
    [("plain", "plain"), ("two words", '"two words"'), ('a"b', '"a\\"b"'), ("a\nb", '"a\\nb"')],
)
def test_a_value_cannot_look_like_another_pair_or_line(value: str, word: str) -> None:
    assert _line("m", {"error": value}).endswith(f" m error={word}\n")


def test_a_line_within_a_pass_names_the_pass() -> None:
    token = reconcile_facts.set({"controller": "site", "object": "default/home"})
    try:
        line = _line("page is large", {"bytes": 1024})
    finally:
        reconcile_facts.reset(token)
    assert line.endswith(" page is large controller=site object=default/home bytes=1024\n")


def test_a_traceback_follows_the_pairs() -> None:
    lines = _line("reconcile failed", {"object": "a/b"}, error=ValueError("no")).splitlines()
    assert lines[0].endswith("reconcile failed object=a/b")
    assert lines[-1] == "ValueError: no"


def test_tracebacks_are_omitted_on_request_and_the_error_is_kept() -> None:
    text = _line("reconcile failed", {}, error=ValueError("no way"), tracebacks=False)
    assert text.rstrip("\n").endswith('reconcile failed error="no way"')
    line = json.loads(_line("m", {}, error=KeyError(), form="json", tracebacks=False))
    assert line["error"] == "KeyError"
    assert "stacktrace" not in line


def test_json_has_the_keys_of_zap_on_one_line() -> None:
    token = reconcile_facts.set({"controller": "site", "object": "default/home"})
    try:
        facts = {
            "bytes": 3,
            "ok": True,
            "load": float("nan"),
            "kind": "",
            "level": "x",
            "at": "a\nb",
        }
        text = _line("page is large", facts, error=ValueError("no"), form="json")
    finally:
        reconcile_facts.reset(token)
    assert text.count("\n") == 1
    line = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    stacktrace = line.pop("stacktrace")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("ts"))
    assert line == {
        "level": "warn",
        "logger": "operator",
        "msg": "page is large",
        "controller": "site",
        "object": "default/home",
        "bytes": 3,
        "ok": True,
        "load": "nan",
        "level_": "x",
        "at": "a\nb",
        "error": "no",
    }
    assert stacktrace.endswith("ValueError: no")


@pytest.mark.parametrize(
    ("time", "form"),
    [
        ("rfc3339", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"),
        ("rfc3339nano", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"),
        ("epoch", r"\d{10}\.\d+"),
        ("millis", r"\d{13}\.\d+"),
        ("nano", r"\d{19}"),
    ],
)
def test_times_have_the_formats_of_zap(time: str, form: str) -> None:
    assert re.match(rf"{form} WARNING ", _line("m", {}, time=time))
