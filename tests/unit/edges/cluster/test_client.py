"""The API server over HTTP: the requests, the error of each refusal, the retries."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import inspect
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.credentials import TokenFileCredentials
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import (
    AlreadyExists,
    ClusterError,
    Conflict,
    EventType,
    Forbidden,
    Gone,
    Invalid,
    NoSuchKind,
    NotFound,
    PatchType,
    Propagation,
    Resource,
    TooLargeResourceVersion,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from olmkit.kube.objects import GVK
from olmkit.testing import clock, loopback
from olmkit.testing.apiserver import refusals as api_refusals
from olmkit.testing.apiserver.refusals import Refusal
from olmkit.testing.apiserver.server import ApiServer
from olmkit.testing.faults import Fault

MAP = GVK(group="", version="v1", kind="ConfigMap")
MAPS = Resource(gvk=MAP, plural="configmaps")
THINGS = Resource(
    gvk=GVK(group="tests.example.com", version="v1", kind="Thing"),
    plural="things",
    subresources=frozenset({"status"}),
)


def _map(name: str, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "n"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata} | fields


def run_scenario(
    work: Callable[[ApiServer, HttpCluster], Awaitable[None]],
    *,
    prepare: Callable[[ApiServer], None] = lambda _: None,
    **config: Any,
) -> ApiServer:
    server = ApiServer.of([MAPS, THINGS])
    prepare(server)

    async def steps() -> None:
        async with server.serving():
            async with HttpCluster(ClusterConfig(server=server.url, **config)) as cluster:
                await work(server, cluster)

    clock.run(steps(), patience=0.001)
    return server


async def _heard(handler: Callable[[web.Request], Any], work: Any, **config: Any) -> None:
    """A server whose answers come from one function."""

    async def answer(request: web.Request) -> web.StreamResponse:
        found = handler(request)
        answered: web.StreamResponse = await found if inspect.isawaitable(found) else found
        return answered

    async with (
        loopback.serving(answer) as host,
        HttpCluster(ClusterConfig(server=f"http://{host}", **config)) as cluster,
    ):
        await work(cluster)


def test_verbs_send_their_requests() -> None:
    async def work(server: ApiServer, cluster: HttpCluster) -> None:
        made = await cluster.create(MAPS, _map("a", data={"x": "1"}), field_manager="me")
        assert await cluster.get(MAPS, "a", namespace="n") == made
        replaced = await cluster.replace(MAPS, made | {"data": {"x": "2"}})
        assert replaced["data"] == {"x": "2"}
        patch = [{"op": "replace", "path": "/data/x", "value": "3"}]
        patched = await cluster.patch(MAPS, "a", patch, type=PatchType.JSON, namespace="n")
        assert patched["data"] == {"x": "3"}
        await cluster.create(MAPS, _map("b"), dry_run=True)
        assert server.get("configmaps", "b", "n") is None
        with pytest.raises(Conflict):
            await cluster.delete(MAPS, "a", namespace="n", uid="other")
        await cluster.delete(MAPS, "a", namespace="n", propagation=Propagation.BACKGROUND)
        await cluster.create(MAPS, _map("c"))
        await cluster.delete_collection(MAPS, namespace="n")
        assert server.all("configmaps") == []
        found = await cluster.version()
        assert found["major"] == "1"

    run_scenario(work)


@pytest.mark.parametrize(
    ("refusal", "error", "words"),
    [
        (api_refusals.not_found(MAPS, "a"), NotFound, 'configmaps "a" not found'),
        (api_refusals.exists(MAPS, "a"), AlreadyExists, "already exists"),
        (api_refusals.conflict(MAPS, "a"), Conflict, "has been modified"),
        (api_refusals.unauthorized(), Unauthorized, "Unauthorized"),
        (api_refusals.forbidden(MAPS, "a", "get", "me", "n"), Forbidden, 'User "me" cannot get'),
        (api_refusals.expired("too old"), Gone, "too old"),
        (api_refusals.too_large_version(9, 1), TooLargeResourceVersion, "Too large"),
        (Refusal(422, "Invalid", "no"), Invalid, "no"),
        (Refusal(429, "TooManyRequests", "slow down"), TooManyRequests, "slow down"),
        (Refusal(500, "InternalError", "broken"), ClusterError, "broken"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_refusal_has_its_error(
    refusal: Refusal, error: type[ClusterError], words: str
) -> None:
    async def work(server: ApiServer, cluster: HttpCluster) -> None:
        server.plan = lambda _, __: refusal
        with pytest.raises(error, match=words) as raised:
            await cluster.get(MAPS, "a", namespace="n")
        assert type(raised.value) is error
        assert raised.value.code == refusal.code
        assert len(server.requests) == 1, (
            "the answer had no Retry-After, so there is no second request"
        )

    run_scenario(work)


@pytest.mark.parametrize(
    ("body", "words"), [("bad gateway\n", "bad gateway"), ("[" * 200_000, r"\[\[")]
)
def test_a_refusal_without_a_message_has_its_status_code(body: str, words: str) -> None:
    async def scenario() -> None:
        async def work(cluster: HttpCluster) -> None:
            with pytest.raises(ClusterError, match=f"the API server answered 502: {words}"):
                await cluster.get(MAPS, "a", namespace="n")

        await _heard(lambda _: web.Response(status=502, text=body), work)

    asyncio.run(scenario())


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_client_that_must_wait_waits_and_tries_again(code: int) -> None:
    refusals = [Refusal(code, "", "later", retry_after=7) for _ in range(3)]

    async def work(server: ApiServer, cluster: HttpCluster) -> None:
        server.put("configmaps", _map("a"))
        server.plan = lambda _, __: refusals.pop() if refusals else None
        began = asyncio.get_running_loop().time()
        assert await cluster.get(MAPS, "a", namespace="n")
        assert 21 <= asyncio.get_running_loop().time() - began < 22

    run_scenario(work)


def test_retries_end_after_ten_tries() -> None:
    async def work(server: ApiServer, cluster: HttpCluster) -> None:
        server.plan = lambda _, __: Refusal(429, "TooManyRequests", "later", retry_after=1)
        with pytest.raises(TooManyRequests):
            await cluster.create(MAPS, _map("a"))
        assert len(server.writes()) == 11

    run_scenario(work)


def test_retries_end_after_a_minute() -> None:
    async def work(server: ApiServer, cluster: HttpCluster) -> None:
        server.plan = lambda _, __: Refusal(429, "TooManyRequests", "later", retry_after=25)
        began = asyncio.get_running_loop().time()
        with pytest.raises(TooManyRequests):
            await cluster.get(MAPS, "a", namespace="n")
        assert 50 <= asyncio.get_running_loop().time() - began < 51

    run_scenario(work)


def test_objects_that_cannot_be_converted_are_not_retried() -> None:
    """Kubernetes 1.36 answers this from its cache, and tells clients to wait for 30 seconds."""
    text = (
        "storage is (re)initializing: failed to list a.example.com/v2, Kind=A: conversion "
        'webhook for a.example.com/v1, Kind=A failed: Post "https://gone.n.svc:443/": '
        'service "gone" not found'
    )

    async def work(server: ApiServer, cluster: HttpCluster) -> None:
        server.plan = lambda _, __: Refusal(429, "TooManyRequests", text, retry_after=30)
        began = asyncio.get_running_loop().time()
        with pytest.raises(TooManyRequests) as caught:
            await cluster.list_page(MAPS)
        assert caught.value.is_of_webhook
        assert asyncio.get_running_loop().time() - began < 1
        assert len(server.requests) == 1

    run_scenario(work)


def test_a_resource_version_that_is_too_large_is_not_retried() -> None:
    async def work(server: ApiServer, cluster: HttpCluster) -> None:
        began = asyncio.get_running_loop().time()
        with pytest.raises(TooLargeResourceVersion):
            await cluster.list_page(MAPS, resource_version="9999")
        assert asyncio.get_running_loop().time() - began < 1
        assert len(server.requests) == 1

    run_scenario(work)


def test_a_token_is_read_again_after_it_was_refused(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")

    def prepare(server: ApiServer) -> None:
        server.authenticates = True
        server.users = {"old": {"username": "me"}}

    async def work(server: ApiServer, cluster: HttpCluster) -> None:
        await cluster.list_page(MAPS)
        server.users = {"new": {"username": "me"}}
        token.write_text("new\n")
        await cluster.list_page(MAPS)
        server.users = {}
        with pytest.raises(Unauthorized) as raised:
            await cluster.list_page(MAPS)
        assert "new" not in str(raised.value)
        assert len(server.requests) == 5, "one retry and no more"

    run_scenario(work, prepare=prepare, credentials=TokenFileCredentials(token))


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, 4000.0], ids=["cut", "no answer"])
def test_a_server_that_does_not_answer_is_unreachable(fault: Fault | float) -> None:
    async def work(server: ApiServer, cluster: HttpCluster) -> None:
        server.plan = lambda _, __: fault
        with pytest.raises(Unreachable, match=r"cannot reach the API server at `127\.0\.0\.1:"):
            await cluster.create(MAPS, _map("a"))
        began = asyncio.get_running_loop().time()
        with pytest.raises(Unreachable):
            async for _ in cluster.watch(MAPS, resource_version="1", timeout_seconds=600):
                pass
        assert asyncio.get_running_loop().time() - began < 31, "the headers have their own limit"

    run_scenario(work)


def test_a_port_without_a_server_is_unreachable() -> None:
    async def scenario() -> None:
        async with HttpCluster(ClusterConfig(server="http://127.0.0.1:1")) as cluster:
            with pytest.raises(Unreachable, match="refused") as raised:
                await cluster.version()
            assert raised.value.temporary

    asyncio.run(scenario())


def test_a_watch_has_events_and_ends_with_the_server() -> None:
    async def work(server: ApiServer, cluster: HttpCluster) -> None:
        seen = []
        async for event in cluster.watch(MAPS, resource_version="100", timeout_seconds=10):
            seen.append((event.type, json.loads(event.object)["metadata"]["name"]))
            if event.type is EventType.ADDED:
                server.remove("configmaps", "a", "n")
                server.end_watches()
        assert seen == [(EventType.ADDED, "a"), (EventType.DELETED, "a")]

    run_scenario(work, prepare=lambda server: server.put("configmaps", _map("a")) and None)


def test_a_stalled_watch_is_ended_by_the_client() -> None:
    async def work(server: ApiServer, cluster: HttpCluster) -> None:
        began = asyncio.get_running_loop().time()
        asyncio.get_running_loop().call_later(5, server.freeze_watches)
        async for _ in cluster.watch(MAPS, resource_version="100", timeout_seconds=550):
            pass
        assert 149 < asyncio.get_running_loop().time() - began < 252

    run_scenario(work)


def _lines(*lines: bytes) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.headers["Accept-Encoding"] == "identity", "a stream is not compressed"
        response = web.StreamResponse()
        await response.prepare(request)
        for line in lines:
            await response.write(line)
        return response

    return answer


def _line(name: str, filling: int = 0) -> bytes:
    one = {"metadata": {"name": name}, "data": "x" * filling}
    return json.dumps({"type": "ADDED", "object": one}).encode() + b"\n"


@pytest.mark.parametrize(
    ("lines", "seen", "error"),
    [
        ((_line("a") + _line("b"),), 2, None),
        ((_line("a")[:10], _line("a")[10:-1], b"\n"), 1, None),
        ((_line("big", 3_000_000),), 1, None),
        ((_line("a"), b"\n\n", _line("b")), 2, None),
        ((_line("a"), _line("b")[:-9]), 1, None),
        ((_line("a"), b"nonsense\n", _line("b")), 1, "a line that is not an event"),
        ((b'{"type":"NEWS","object":{}}\n',), 0, "a line that is not an event"),
        ((b'{"type":"ERROR","object":{"code":410,"reason":"Expired"}}\n',), 0, "answered 410"),
        ((b'{"type":"ERROR","object":{"code":500,"message":"broken"}}\n',), 0, "broken"),
    ],
    ids=["two", "halves", "3 MB", "empty", "cut off", "nonsense", "unknown", "gone", "broken"],
)
def test_lines_of_a_watch_are_events(
    lines: tuple[bytes, ...], seen: int, error: str | None
) -> None:
    found: list[bytes] = []

    async def work(cluster: HttpCluster) -> None:
        async for event in cluster.watch(MAPS, resource_version="1"):
            found.append(event.object)  # noqa: PERF401 - as they come

    async def scenario() -> None:
        if error is None:
            await _heard(_lines(*lines), work)
            return
        with pytest.raises(ClusterError, match=error) as raised:
            await _heard(_lines(*lines), work)
        assert not isinstance(raised.value, Unreachable)

    asyncio.run(scenario())
    assert len(found) == seen


def test_lists_can_be_compressed_and_items_are_the_servers_bytes() -> None:
    item = b'{"metadata":{"name":"a"},"unknown":{"kept":1.50}}'
    body = (
        b'{"kind":"ConfigMapList","metadata":{"resourceVersion":"5","continue":"t"},"items":[%s]}'
    )

    async def answer(request: web.Request) -> web.Response:
        assert "gzip" in request.headers["Accept-Encoding"]
        packed = gzip.compress(body % item)
        return web.Response(body=packed, headers={"Content-Encoding": "gzip"})

    async def work(cluster: HttpCluster) -> None:
        page = await cluster.list_page(MAPS)
        assert (page.resource_version, page.continue_token) == ("5", "t")
        assert page.items == [item]

    asyncio.run(_heard(answer, work))


def test_a_list_without_items_is_empty_and_an_invalid_one_is_an_error() -> None:
    answers = [
        b'{"kind":"ConfigMapList","metadata":{"resourceVersion":"1"},"items":null}',
        b'{"kind":"Status","status":"Success","metadata":{}}',
        b"{}",
        b"[]",
        b"nonsense",
    ]

    async def work(cluster: HttpCluster) -> None:
        assert (await cluster.list_page(MAPS)).items == []
        for words in ("is not a list", "is not a list", "cannot be read", "cannot be read"):
            with pytest.raises(ClusterError, match=words):
                await cluster.list_page(MAPS)

    asyncio.run(_heard(lambda _: web.Response(body=answers.pop(0)), work))


def test_user_agent_and_impersonation_are_sent() -> None:
    heard: list[Any] = []

    async def answer(request: web.Request) -> web.Response:
        heard.append(request.headers)
        return web.json_response({})

    async def work(cluster: HttpCluster) -> None:
        await cluster.version()

    headers = [("Impersonate-User", "a-user"), ("Impersonate-Group", "a")]
    asyncio.run(_heard(answer, work, headers=headers))
    assert heard[0]["Impersonate-User"] == "a-user"
    assert heard[0]["User-Agent"].startswith("olmkit/")


def test_each_warning_of_the_server_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    headers = {"Warning": '299 - "v1beta1 is \\"old\\""'}

    async def work(cluster: HttpCluster) -> None:
        for _ in range(3):
            await cluster.version()

    with caplog.at_level(logging.WARNING):
        asyncio.run(_heard(lambda _: web.json_response({}, headers=headers), work))
    assert [vars(one).get("warning") for one in caplog.records] == ['v1beta1 is "old"']


def test_kinds_are_discovered_once_and_again_after_a_miss() -> None:
    async def work(server: ApiServer, cluster: HttpCluster) -> None:
        found = await cluster.resource("tests.example.com/v1", "Thing")
        assert (found.plural, found.subresources) == ("things", {"status"})
        await cluster.resource("tests.example.com/v1", "Thing")
        assert len(server.requests) == 1
        for _ in range(3):
            with pytest.raises(NoSuchKind, match="does not know the kind `Late`"):
                await cluster.resource("tests.example.com/v1", "Late")
        assert len(server.requests) == 2, "the same missing kind is not requested again at once"
        late = Resource(gvk=GVK(group="tests.example.com", version="v1", kind="Late"), plural="l")
        server.collections |= ApiServer.of([late]).collections
        await asyncio.sleep(6)
        assert (await cluster.resource("tests.example.com/v1", "Late")).plural == "l"

    run_scenario(work)


@pytest.mark.parametrize(
    ("version", "kind", "hint"),
    [
        ("tests.example.com/v1", "Things", "`tests.example.com/v1` has the kind `Thing`"),
        ("tests.example.com/v1", "thing", "`tests.example.com/v1` has the kind `Thing`"),
        ("tests.example.com/v2", "Thing", "the cluster has `Thing` in the version `v1`"),
        ("tests.example.com/v1", "Place", "install its CustomResourceDefinition first"),
        ("other.example.com/v1", "Thing", "install its CustomResourceDefinition first"),
    ],
)
def test_the_error_for_a_missing_kind_names_the_available_ones(
    version: str, kind: str, hint: str
) -> None:
    async def work(_: ApiServer, cluster: HttpCluster) -> None:
        with pytest.raises(NoSuchKind) as raised:
            await cluster.resource(version, kind)
        assert raised.value.hint == hint

    run_scenario(work)


def test_old_servers_are_queried_by_version() -> None:
    listed = {
        "kind": "APIResourceList",
        "resources": [
            {"name": "things", "kind": "Thing", "namespaced": True, "verbs": ["get"]},
            {"name": "things/status", "kind": "Thing", "namespaced": True, "verbs": ["get"]},
        ],
    }

    async def answer(request: web.Request) -> web.Response:
        if request.path == "/apis":
            return web.json_response({"kind": "APIGroupList", "groups": []})
        return web.json_response(listed)

    async def work(cluster: HttpCluster) -> None:
        found = await cluster.resource("tests.example.com/v1", "Thing")
        assert (found.plural, found.namespaced) == ("things", True)
        assert found.subresources == {"status"}

    asyncio.run(_heard(answer, work))


@pytest.mark.parametrize("name", ["a", "a#b", "a?b", "a b", "a\nb", "a;b", "rôle:a@b", "a\\b", "#"])
def test_a_name_selects_one_object_and_no_other(name: str) -> None:
    async def work(server: ApiServer, cluster: HttpCluster) -> None:
        for one in {"a", "ab", name.replace("\n", "")}:
            server.put("configmaps", _map(one))
        with contextlib.suppress(NotFound):
            assert (await cluster.get(MAPS, name, namespace="n"))["metadata"]["name"] == name
        with contextlib.suppress(NotFound):
            await cluster.delete(MAPS, name, namespace="n")
        left = {one["metadata"]["name"] for one in server.all("configmaps")}
        assert {"a", "ab"} - left <= {name}

    run_scenario(work)


@pytest.mark.parametrize("namespace", ["n/../m", "..", "n%2f..", "\ud800"])
def test_a_namespace_that_would_change_the_path_is_refused(namespace: str) -> None:
    async def work(server: ApiServer, cluster: HttpCluster) -> None:
        manifest = _map("a") | {"metadata": {"name": "a", "namespace": namespace}}
        for asked in (
            cluster.get(MAPS, "a", namespace=namespace),
            cluster.list_page(MAPS, namespace=namespace),
            cluster.create(MAPS, manifest),
            cluster.replace(MAPS, manifest),
            cluster.patch(MAPS, "a", {}, type=PatchType.MERGE, namespace=namespace),
            cluster.delete(MAPS, "a", namespace=namespace),
            cluster.delete_collection(MAPS, namespace=namespace),
        ):
            with pytest.raises(ConfigurationError):
                await asked
        assert server.requests == []

    run_scenario(work)


@pytest.mark.parametrize("name", ["", "a/b", "..", "a%2fb", "\ud800"])
def test_a_name_that_would_change_the_path_is_refused(name: str) -> None:
    async def work(server: ApiServer, cluster: HttpCluster) -> None:
        with pytest.raises(ConfigurationError):
            await cluster.get(MAPS, name, namespace="n")
        assert server.requests == []

    run_scenario(work)


def test_an_object_that_is_not_json_is_invalid_input() -> None:
    async def work(_: ApiServer, cluster: HttpCluster) -> None:
        with pytest.raises(InputError, match="cannot be written as JSON"):
            await cluster.create(MAPS, _map("a", data={"x": object()}))

    run_scenario(work)


def test_requests_are_observed_with_their_answers() -> None:
    seen: list[tuple[str, str, str]] = []

    async def scenario() -> None:
        server = ApiServer.of([MAPS])
        async with server.serving():
            config = ClusterConfig(server=server.url)
            async with HttpCluster(config, observer=lambda *one: seen.append(one)) as cluster:
                await cluster.list_page(MAPS)
                with pytest.raises(NotFound):
                    await cluster.get(MAPS, "a", namespace="n")
                server.plan = lambda _, __: Fault.CUT_BEFORE
                with pytest.raises(Unreachable):
                    await cluster.create(MAPS, _map("a"))

    asyncio.run(scenario())
    assert [(method, code) for method, _, code in seen] == [
        ("GET", "200"),
        ("GET", "404"),
        ("POST", "<error>"),
    ]
