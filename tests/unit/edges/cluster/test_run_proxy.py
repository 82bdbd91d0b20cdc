"""The proxy of runs: its clients, its identity at the API server, refused requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import aiohttp
import pytest
from aiohttp import web

from olmkit.edges.cluster.connection import Connection
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.cluster.run_proxy import GrantedRequest, RefusedRequestError, RunProxy, with_body
from olmkit.edges.network.http_server import HttpServer


class Access:
    """Records requests; refuses `PUT`."""

    def __init__(self) -> None:
        self.answers: list[tuple[str, int, bytes]] = []

    async def prepared(self, request: GrantedRequest) -> GrantedRequest:
        if request.method == "PUT":
            raise RefusedRequestError("not this one")
        return with_body(request, {"changed": True}) if request.method == "POST" else request

    async def answered(self, request: GrantedRequest, status: int, body: bytes) -> None:
        self.answers.append((request.path, status, body))


class Harness:
    def __init__(self, proxy: RunProxy, session: aiohttp.ClientSession) -> None:
        self.proxy, self.session = proxy, session
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.seen.append(
            (request.method, request.raw_path, dict(request.headers), await request.read())
        )
        if request.path == "/api/v1/nothing":
            return web.json_response({"kind": "Status", "code": 404}, status=404)
        return web.json_response({"path": request.path})


def run(test: Callable[[Harness, str, Access], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with aiohttp.ClientSession() as session:
            rigs: list[Harness] = []

            async def answer(request: web.Request) -> web.Response:
                return await rigs[0].answer(request)

            application = web.Application()
            application.router.add_route("*", "/{rest:.*}", answer)
            upstream = HttpServer("upstream", application, ("127.0.0.1", 0))
            tasks = [asyncio.create_task(upstream.run())]
            await upstream.wait_until_ready()
            config = ClusterConfig(
                server=f"http://127.0.0.1:{upstream.port}", headers={"X-Operator": "yes"}
            )
            proxy = RunProxy(Connection(config, user_agent="test"))
            tasks.append(asyncio.create_task(proxy.run()))
            await proxy.wait_until_ready()
            rigs.append(Harness(proxy, session))
            access = Access()
            try:
                with proxy.grant(access) as url:
                    await test(rigs[0], url, access)
            finally:
                for task in tasks:
                    task.cancel()

    asyncio.run(whole())


def test_a_request_is_forwarded_as_the_operator() -> None:
    async def scenario(harness: Harness, url: str, access: Access) -> None:
        sent = {"Authorization": "Bearer mine", "Impersonate-User": "root", "Cookie": "a=b"}
        async with harness.session.get(f"{url}/api/v1/pods?limit=5", headers=sent) as answer:
            assert (answer.status, await answer.json()) == (200, {"path": "/api/v1/pods"})
        method, path, headers, _ = harness.seen[0]
        assert (method, path, headers["X-Operator"]) == ("GET", "/api/v1/pods?limit=5", "yes")
        assert not {"Authorization", "Impersonate-User", "Cookie"} & set(headers)
        assert access.answers == [("/api/v1/pods", 200, b'{"path": "/api/v1/pods"}')]
        async with harness.session.get(f"{url}/api/v1/nothing") as answer:
            assert answer.status == 404
        async with harness.session.post(f"{url}/api/v1/pods", json={"a": 1}) as answer:
            assert answer.status == 200
        assert json.loads(harness.seen[-1][3]) == {"changed": True}

    run(scenario)


def test_a_path_without_the_token_of_a_run_is_refused() -> None:
    async def scenario(harness: Harness, url: str, _: Access) -> None:
        base = url.rpartition("/run/")[0]
        for path in ("", "/api/v1/pods", "/run/", "/run//api/v1/pods", "/run/x/api/v1/pods"):
            async with harness.session.get(base + path) as answer:
                assert answer.status == 403, path
        with harness.proxy.grant(Access()) as other:
            assert other != url
        async with harness.session.get(f"{other}/api/v1/pods") as answer:
            assert answer.status == 403
        assert harness.seen == []

    run(scenario)


@pytest.mark.parametrize(
    "path",
    ["/", "/metrics", "/logs/x", "/apixyz", "/api/../metrics", "/api/%2e%2E/metrics", "/api/./x"],
)
def test_only_plain_paths_of_the_api_are_forwarded(path: str) -> None:
    from yarl import URL

    async def scenario(harness: Harness, url: str, _: Access) -> None:
        async with harness.session.get(URL(url + path, encoded=True)) as answer:
            assert answer.status == 403
        assert harness.seen == []

    run(scenario)


def test_a_refused_request_has_the_reason() -> None:
    async def scenario(harness: Harness, url: str, _: Access) -> None:
        async with harness.session.put(f"{url}/api/v1/pods/a", json={}) as answer:
            found = await answer.json()
        assert (answer.status, found["kind"], found["message"]) == (403, "Status", "not this one")
        async with harness.session.options(f"{url}/api/v1/pods") as answer:
            assert answer.status == 403
        upgrade = {"Upgrade": "SPDY/3.1", "Connection": "Upgrade"}
        async with harness.session.post(f"{url}/api/v1/pods/a/exec", headers=upgrade) as answer:
            assert answer.status == 501
        assert harness.seen == []

    run(scenario)
