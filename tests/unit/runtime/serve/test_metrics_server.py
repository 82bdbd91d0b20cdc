"""The clients of the metrics server, and their answers."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

import aiohttp
import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.kube.api import Cluster, ClusterError, Resource
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime import metrics
from olmkit.runtime.metrics import Registry
from olmkit.runtime.serve import certificates, metrics_server
from olmkit.runtime.serve.metrics_server import AccessReviewer
from olmkit.testing import clock


@dataclass
class Reviewer:
    """The two reviews of the port: `good` can read /metrics, `poor` cannot, `down` gets no answer.

    The client of `alone` has no credentials.
    """

    asked: list[str] = field(default_factory=list)

    async def resource(self, api_version: str, kind: str) -> Resource:
        gvk = GVK.parse(api_version, kind)
        return Resource(gvk=gvk, plural=f"{kind.lower()}s", namespaced=False)

    async def create(self, resource: Resource, manifest: Manifest) -> Manifest:
        self.asked.append(resource.gvk.kind)
        spec = manifest["spec"]
        if resource.gvk.kind == "TokenReview":
            if spec["token"] == "down":
                raise ClusterError("no answer", temporary=True)
            if spec["token"] == "alone":
                raise ConfigurationError("the operator has no credentials")
            known = spec["token"] in ("good", "poor")
            user = {"username": spec["token"], "groups": ["g"]}
            return {"status": {"authenticated": known, "user": user}}
        attributes = spec["nonResourceAttributes"]
        return {"status": {"allowed": spec["user"] == "good" and attributes["verb"] == "get"}}


async def verdict(access: AccessReviewer, header: str, verb: str = "get") -> int:
    return await access.verdict(header, path="/metrics", verb=verb)


@pytest.mark.parametrize(
    ("header", "verb", "status", "asked"),
    [
        ("", "get", 401, 0),
        ("Basic good", "get", 401, 0),
        ("Bearer ", "get", 401, 0),
        ("Bearer \udcff", "get", 401, 0),
        ("Bearer bad", "get", 401, 1),
        ("Bearer poor", "get", 403, 2),
        ("bearer good", "get", 200, 2),
        ("Bearer good", "delete", 403, 2),
        ("Bearer down", "get", 500, 5),
        ("Bearer alone", "get", 500, 1),
    ],
)
def test_token_and_user_decide(header: str, verb: str, status: int, asked: int) -> None:
    reviewer = Reviewer()
    access = AccessReviewer(cast("Cluster", reviewer))
    assert clock.run(verdict(access, header, verb)) == status
    assert len(reviewer.asked) == asked


def test_reviews_are_cached_for_a_while() -> None:
    reviewer = Reviewer()
    access = AccessReviewer(cast("Cluster", reviewer))

    async def work() -> None:
        for _ in range(3):
            assert await verdict(access, "Bearer good") == 200
        assert len(reviewer.asked) == 2
        await asyncio.sleep(61)
        await verdict(access, "Bearer good")
        assert reviewer.asked[2:] == ["TokenReview"]
        await asyncio.sleep(301)
        await verdict(access, "Bearer good")
        assert reviewer.asked[3:] == ["TokenReview", "SubjectAccessReview"]

    clock.run(work())


def test_a_scrape_has_the_series_of_the_registry_and_the_process() -> None:
    registry = Registry()
    registry.counter("things_total", "Things").inc(3)

    async def work() -> None:
        tls = certificates.context(None, None)
        access = AccessReviewer(cast("Cluster", Reviewer()))
        server = metrics_server.server(("127.0.0.1", 0), registry, tls=tls, access=access)
        running = asyncio.create_task(server.run())
        await server.wait_until_ready()
        url = f"https://127.0.0.1:{server.port}"

        async def get(path: str, token: str) -> tuple[int, str, Any]:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            async with session.get(url + path, headers=headers, ssl=False) as answer:
                return answer.status, await answer.text(), answer.headers

        async with aiohttp.ClientSession() as session:
            status, text, headers = await get("/metrics", "good")
            assert status == 200
            assert "things_total 3.0\n" in text
            assert "process_cpu_seconds_total" in text
            assert headers["Content-Type"] == metrics.TEXT
            assert (await get("/metrics", ""))[0] == 401
            assert (await get("/other", ""))[0] == 401
            assert (await get("/other", "good"))[0] == 404
        running.cancel()
        await asyncio.wait([running])

    asyncio.run(work())


def test_long_answers_are_compressed_on_request() -> None:
    registry = Registry()
    family = registry.counter("things_total", "Things", ("name",))
    for number in range(100):
        family.labels(f"thing-{number}")

    async def work() -> None:
        server = metrics_server.server(("127.0.0.1", 0), registry)
        running = asyncio.create_task(server.run())
        await server.wait_until_ready()
        async with aiohttp.ClientSession() as session:
            url = f"http://127.0.0.1:{server.port}/metrics"
            async with session.get(url, headers={"Accept-Encoding": "gzip"}) as answer:
                assert answer.headers["Content-Encoding"] == "gzip"
                assert 'things_total{name="thing-99"} 0' in await answer.text()
        running.cancel()
        await asyncio.wait([running])

    asyncio.run(work())
