"""The proxy that fails: on command, or at random from a seed."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import aiohttp
import pytest

from olmkit.testing.faults import Fault, FaultProxy
from olmkit.testing.loopback import serving

BODY = b"x" * 100_000


async def hello(request: Any) -> Any:
    from aiohttp import web

    return web.Response(body=BODY, headers={"X-Asked": request.path_qs})


async def ask(plan: Any, rate: float = 0.0, times: int = 1) -> list[Any]:
    """Return the status and size of each answer, or the kind of error."""
    found: list[Any] = []
    async with serving(hello) as host:
        async with (
            FaultProxy(
                upstream=f"http://{host}", plan=plan, rate=rate, source=random.Random(5)
            ) as proxy,
            aiohttp.ClientSession() as client,
        ):
            for _ in range(times):
                try:
                    # An upload, so that the client does not retry automatically.
                    async with client.post(f"http://{proxy.host}/a?b=c", data=BODY) as answer:
                        found.append((answer.status, len(await answer.read())))
                except aiohttp.ClientError as error:
                    found.append(type(error))
    return found


def test_without_a_fault_all_requests_pass() -> None:
    assert asyncio.run(ask(None)) == [(200, len(BODY))]


@pytest.mark.parametrize(
    ("fault", "status"),
    [(Fault.TOO_MANY, 429), (Fault.ERROR, 500), (405, 405), (Fault.SLOW, 200)],
)
def test_a_planned_answer_is_returned(fault: Fault | int, status: int) -> None:
    [(found, _)] = asyncio.run(ask(lambda *_: fault))
    assert found == status


@pytest.mark.parametrize(
    "fault", [Fault.CUT_BEFORE, Fault.CUT_REQUEST, Fault.CUT_ANSWER, Fault.CUT_AFTER]
)
def test_a_closed_connection_is_an_error(fault: Fault) -> None:
    [found] = asyncio.run(ask(lambda *_: fault))
    assert isinstance(found, type)
    assert issubclass(found, aiohttp.ClientError)


def test_the_same_seed_has_the_same_faults() -> None:
    first = asyncio.run(ask(None, rate=0.5, times=20))
    assert first == asyncio.run(ask(None, rate=0.5, times=20))
    assert 3 < sum(found == (200, len(BODY)) for found in first) < 18
