"""Log messages about a watch, and how often they are repeated."""

from __future__ import annotations

import asyncio
import logging

import pytest

from olmkit.kube.api import ClusterError, Forbidden
from olmkit.runtime.watch.watch_health import Contact
from olmkit.testing import clock

FACTS = {"kind": "Pod"}


def test_an_error_is_logged_once_and_again_if_it_changes_or_lasts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        contact = Contact(FACTS)
        for _ in range(10):
            contact.failed("cannot list", Forbidden("no", hint="grant it"))
            contact.listed()  # no information about the watch
            await asyncio.sleep(20)
        contact.failed("cannot list", ClusterError("another"))
        await asyncio.sleep(299)
        contact.failed("cannot list", ClusterError("another"))
        await asyncio.sleep(2)
        contact.failed("cannot list", ClusterError("another"))
        contact.kept()
        contact.kept()

    with caplog.at_level(logging.INFO):
        clock.run(scenario())
    said = [(one.message, vars(one).get("error"), vars(one).get("hint")) for one in caplog.records]
    assert said == [
        ("cannot list", "no", "grant it"),
        ("cannot list", "another", ""),
        ("cannot list", "another", ""),
        ("the watch works again", None, None),
    ]
    assert {vars(one)["kind"] for one in caplog.records} == {"Pod"}


def test_loss_and_recovery_are_logged_and_only_the_watch_renews_the_contact() -> None:
    async def scenario() -> None:
        told: list[str] = []
        contact = Contact(FACTS, changed=lambda: told.append(str(contact.failure)))
        contact.begin()
        initialized = contact.last
        await asyncio.sleep(5)
        contact.failed("the watch was closed at once")
        contact.listed()
        assert contact.last == initialized
        contact.kept()
        assert contact.last == initialized + 5
        assert told == ["the watch was closed at once", "None"]

    clock.run(scenario())
