"""What a log line of an operator says."""

from __future__ import annotations

import io
import logging
from typing import Any

import pytest

from olmkit.runtime import logs
from olmkit.runtime.work.controller import reconcile_facts


def _line(message: str, facts: dict[str, Any], *, error: Exception | None = None) -> str:
    out = io.StringIO()
    handler = logs.handler()
    assert isinstance(handler, logging.StreamHandler)
    handler.setStream(out)
    logger = logging.Logger("operator")
    logger.addHandler(handler)
    logger.warning(message, extra=facts, exc_info=error)
    return out.getvalue()


def test_facts_that_say_something_stand_behind_the_message() -> None:
    line = _line("cannot list", {"kind": "Site", "watched_namespace": ""})
    assert line.endswith(" WARNING operator cannot list kind=Site\n")


@pytest.mark.parametrize(
    ("value", "word"),
    [("plain", "plain"), ("two words", '"two words"'), ('a"b', '"a\\"b"'), ("a\nb", '"a\\nb"')],
)
def test_a_value_cannot_be_taken_for_another_fact_or_line(value: str, word: str) -> None:
    assert _line("m", {"error": value}).endswith(f" m error={word}\n")


def test_a_line_from_within_a_pass_says_which() -> None:
    token = reconcile_facts.set({"controller": "site", "object": "default/home"})
    try:
        line = _line("page is large", {"bytes": 1024})
    finally:
        reconcile_facts.reset(token)
    assert line.endswith(" page is large controller=site object=default/home bytes=1024\n")


def test_a_traceback_comes_after_the_facts() -> None:
    lines = _line("reconcile failed", {"object": "a/b"}, error=ValueError("no")).splitlines()
    assert lines[0].endswith("reconcile failed object=a/b")
    assert lines[-1] == "ValueError: no"
