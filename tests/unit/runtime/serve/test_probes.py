"""The answers to the kubelet."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import aiohttp
import pytest

from olmkit.kube.api import Cluster, ClusterError, Forbidden
from olmkit.kube.objects import GVK
from olmkit.runtime.manager import Manager
from olmkit.runtime.serve import probes
from olmkit.runtime.serve.probes import CheckFailed
from olmkit.runtime.watch.cache import Cache
from olmkit.testing import clock

POD = GVK(group="", version="v1", kind="Pod")


async def broken() -> None:
    raise CheckFailed("secret words")


@asynccontextmanager
async def asking(**checks: probes.Check) -> AsyncIterator[str]:
    server = probes.server(("127.0.0.1", 0), live={"ping": probes.ping}, ready=checks)
    running = asyncio.create_task(server.run())
    await server.wait_until_ready()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        running.cancel()
        await asyncio.wait([running])


def ask(path: str, **checks: probes.Check) -> tuple[int, str]:
    async def work() -> tuple[int, str]:
        async with asking(**checks) as url, aiohttp.ClientSession() as session:
            async with session.get(url + path) as answer:
                return answer.status, await answer.text()

    return asyncio.run(work())


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/healthz", 200, "ok"),
        ("/healthz/ping", 200, "ok"),
        ("/healthz/other", 404, "404: Not Found"),
        ("/healthz?verbose", 200, "[+]ping ok\nhealthz check passed\n"),
        (
            "/readyz",
            500,
            "[-]broken failed: reason withheld\n[+]ping ok\nreadyz check failed\n",
        ),
        ("/readyz/broken", 500, "[-]broken failed: reason withheld\n"),
        ("/readyz/ping", 200, "ok"),
        ("/readyz?exclude=broken", 200, "ok"),
        (
            "/readyz?verbose&exclude=broken&exclude=none",
            200,
            (
                "[+]broken excluded: ok\n[+]ping ok\n"
                'warn: some health checks cannot be excluded: no matches for "none"\n'
                "readyz check passed\n"
            ),
        ),
        (
            "/readyz?verbose=1&exclude=ping",
            500,
            "[-]broken failed: reason withheld\n[+]ping excluded: ok\nreadyz check failed\n",
        ),
    ],
)
def test_paths_answer_as_the_kubelet_and_users_expect(path: str, status: int, text: str) -> None:
    assert ask(path, ping=probes.ping, broken=broken) == (status, text)


def test_a_path_without_checks_does_not_exist() -> None:
    assert ask("/readyz")[0] == 404


def test_the_reason_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    assert "secret" not in ask("/readyz", broken=broken)[1]
    assert caplog.records[-1].error == "secret words"  # type: ignore[attr-defined]


def test_the_reason_is_logged_once_for_any_number_of_requests(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reasons = ["a", "a", "b", "b", "", "b"]

    async def changing() -> None:
        if reason := reasons.pop(0):
            raise CheckFailed(reason)

    async def work() -> None:
        async with asking(changing=changing) as url, aiohttp.ClientSession() as session:
            for path in ("", "/changing", "", "", "", ""):
                async with session.get(f"{url}/readyz{path}"):
                    pass

    with caplog.at_level(logging.INFO, logger=probes.__name__):
        asyncio.run(work())
    said = [(one.message, vars(one).get("error")) for one in caplog.records if "check" in vars(one)]
    assert said == [
        ("check failed", "a"),
        ("check failed", "b"),
        ("check passes again", None),
        ("check failed", "b"),
    ]


def test_readiness_follows_the_manager() -> None:
    manager = Manager(cast("Cluster", None), name="test")

    async def work() -> None:
        check = probes.manager_ready(manager)
        with pytest.raises(CheckFailed):
            await check()
        manager.ready = True
        await check()

    asyncio.run(work())


def test_an_informer_without_its_first_list_is_named() -> None:
    async def work() -> None:
        cache = Cache(cast("Cluster", None))
        await probes.informers_synced(cache)()
        cache.informer(POD)
        with pytest.raises(CheckFailed, match="Pod"):
            await probes.informers_synced(cache)()

    asyncio.run(work())


def test_a_refused_watch_fails_readiness_and_not_liveness() -> None:
    async def work() -> None:
        cache = Cache(cast("Cluster", None))
        [(_, contact)] = cache.informer(POD).contacts()
        await probes.watches_granted(cache)()
        contact.begin()
        contact.failed("cannot list", Forbidden("no list for you"))
        await asyncio.sleep(3600)
        with pytest.raises(CheckFailed, match="no list for you"):
            await probes.watches_granted(cache)()
        await probes.watches_kept(cache)()
        contact.failed("cannot list", ClusterError("down"))
        await probes.watches_granted(cache)()
        with pytest.raises(CheckFailed, match="failing for"):
            await probes.watches_kept(cache)()

    clock.run(work())


def test_a_watch_that_cannot_be_kept_open_fails_liveness_after_a_while() -> None:
    async def work() -> None:
        cache = Cache(cast("Cluster", None))
        check = probes.watches_kept(cache, patience=60)
        [(_, contact)] = cache.informer(POD).contacts()
        contact.begin()
        await check()
        contact.failed("cannot list", ClusterError("down"))
        await asyncio.sleep(59)
        await check()
        await asyncio.sleep(2)
        with pytest.raises(CheckFailed, match="Pod"):
            await check()
        contact.kept()
        await check()
        contact.failed("cannot list", ClusterError("down again"))
        await check()

    clock.run(work())
