"""Traces of passes and requests, and no cost without them."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Mapping

import pytest
from aiohttp import web
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.network.http_server import HttpServer
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK
from olmkit.runtime import traces
from olmkit.runtime.manager import Manager
from olmkit.runtime.traces import Traces
from olmkit.runtime.work.builder import ControllerBuilder
from olmkit.runtime.work.reconcile import Request, TerminalError
from olmkit.testing.apiserver.server import ApiServer
from olmkit.testing.registry import free_port

TOY = GVK(group="toys.example.com", version="v1", kind="Toy")
SECRET = GVK(group="", version="v1", kind="Secret")
RESOURCES = [Resource(gvk=TOY, plural="toys"), Resource(gvk=SECRET, plural="secrets")]
TOKEN = "token-of-this-process"
PASSWORD = "cGFzc3dvcmQtb2YtYS1kYXRhYmFzZQ=="


class Labeler:
    """Writes a Secret; fails permanently for one of two objects."""

    def __init__(self, manager: Manager, done: asyncio.Event) -> None:
        self._client = manager.client
        self._done = done
        self._left = {"good", "bad"}

    async def reconcile(self, request: Request) -> None:
        try:
            if request.name == "bad":
                raise TerminalError("cannot be painted")
            await self._client.apply(
                {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {"name": "s", "namespace": request.namespace},
                    "data": {"password": PASSWORD},
                }
            )
            await self._client.direct.get(SECRET, Request("s", request.namespace))
            await self._client.direct.get(SECRET, Request("none", request.namespace))
        finally:
            self._left.discard(request.name)
            if not self._left:
                self._done.set()


def _run(seen: Traces | None) -> None:
    async def scenario() -> None:
        done = asyncio.Event()
        async with ApiServer.of(RESOURCES).serving() as server:
            config = ClusterConfig(server=server.url, headers=(("X-Key", TOKEN),))
            tracer = None if seen is None else seen.of_request
            async with HttpCluster(config, tracer=tracer) as cluster:
                for name in ("good", "bad"):
                    manifest = {
                        "apiVersion": "toys.example.com/v1",
                        "kind": "Toy",
                        "metadata": {"name": name, "namespace": "default"},
                    }
                    await cluster.create(RESOURCES[0], manifest)
                manager = Manager(cluster, name="toy", traces=seen)
                painter = Labeler(manager, done)
                manager.add_controller(ControllerBuilder().watches_for(TOY).build(painter))
                running = asyncio.create_task(manager.run())
                async with asyncio.timeout(20):
                    await done.wait()
                    await asyncio.sleep(0.05)  # until the work after a pass is done
                manager.stop()
                await running

    asyncio.run(scenario())


@pytest.fixture
def collected() -> tuple[Traces, InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Traces(provider), exporter


def _attributes(span: ReadableSpan) -> Mapping[str, object]:
    return dict(span.attributes or {})


def test_a_pass_is_a_span_and_its_requests_are_below_it(
    collected: tuple[Traces, InMemorySpanExporter],
) -> None:
    seen, exporter = collected
    _run(seen)
    spans = exporter.get_finished_spans()
    passes = {
        _attributes(one)["olmkit.object"]: one for one in spans if one.name == "reconcile toy"
    }
    assert passes.keys() == {"default/good", "default/bad"}
    good, bad = passes["default/good"], passes["default/bad"]
    assert _attributes(good)["olmkit.outcome"] == "success"
    assert _attributes(bad)["olmkit.outcome"] == "terminal_error"
    assert not bad.status.is_ok
    requests = [one for one in spans if one.name != "reconcile toy"]
    # Watches are not part of a pass.
    assert all(one.parent is not None for one in requests)
    assert {one.parent.span_id for one in requests if one.parent} == {good.context.span_id}
    said = [
        (_attributes(one)["url.path"], _attributes(one)["http.response.status_code"])
        for one in requests
    ]
    assert ("/api/v1/namespaces/default/secrets/s", 200) in said
    assert ("/api/v1/namespaces/default/secrets/none", 404) in said
    assert PASSWORD not in str([one.to_json() for one in spans])
    assert TOKEN not in str([one.to_json() for one in spans])


def test_the_server_receives_the_trace_of_a_request(
    collected: tuple[Traces, InMemorySpanExporter],
) -> None:
    seen, _ = collected
    heard: list[str | None] = []

    async def answer(request: web.Request) -> web.Response:
        heard.append(request.headers.get("traceparent"))
        return web.json_response({})

    async def scenario() -> str:
        application = web.Application()
        application.router.add_get("/version", answer)
        server = HttpServer("api", application, ("127.0.0.1", 0))
        serving = asyncio.create_task(server.run())
        await server.wait_until_ready()
        config = ClusterConfig(server=f"http://127.0.0.1:{server.port}")
        try:
            async with HttpCluster(config, tracer=seen.of_request) as cluster:
                await cluster.version()
                with seen.of_pass("toy", {}) as span:
                    await cluster.version()
        finally:
            serving.cancel()
            await asyncio.wait([serving])
        return span.trace_id

    trace_id = asyncio.run(scenario())
    assert heard[0] is None
    assert (heard[1] or "").startswith(f"00-{trace_id}-")


def test_debug_lines_show_passes_and_requests_and_no_secret(
    collected: tuple[Traces, InMemorySpanExporter], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    _run(collected[0])
    records = [vars(record) for record in caplog.records]
    by_message: dict[str, list[dict[str, object]]] = {}
    for one in records:
        by_message.setdefault(str(one["msg"]), []).append(one)
    (done,) = by_message["reconciled"]
    assert done["outcome"] == "success"
    assert isinstance(done["seconds"], float)
    assert len(str(done["trace_id"])) == 32
    (failed,) = by_message["reconcile failed, terminal error"]
    assert isinstance(failed["seconds"], float)
    requests = [(one["method"], one["path"], one["code"]) for one in by_message["request"]]
    assert ("PATCH", "/api/v1/namespaces/default/secrets/s", "201") in requests
    assert ("GET", "/api/v1/namespaces/default/secrets/none", "404") in requests
    for message in ("controller starts", "controller works", "watch is synced"):
        assert by_message[message], message
    assert [one["levelname"] for one in by_message["manager has stopped"]] == ["INFO"]
    assert PASSWORD not in str(records)
    assert TOKEN not in str(records)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"},
        {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"},
    ],
    ids=["none", "exporter", "disabled"],
)
def test_without_the_option_there_are_no_traces(environment: Mapping[str, str]) -> None:
    assert traces.from_environment(environment, service="toy") is None


def test_an_unknown_exporter_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="`jaeger`, which is not"):
        traces.from_environment({"OTEL_TRACES_EXPORTER": "jaeger"}, service="toy")


def test_missing_packages_do_not_stop_the_operator(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    found = traces.from_environment({"OTEL_TRACES_EXPORTER": "otlp"}, service="toy")
    assert found is None
    assert [record.message for record in caplog.records] == [
        "traces are not sent: a package is missing"
    ]


def test_spans_are_sent_to_a_collector_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies: list[bytes] = []

    async def take(request: web.Request) -> web.Response:
        bodies.append(await request.read())
        return web.Response(content_type="application/x-protobuf")

    async def scenario() -> None:
        application = web.Application()
        application.router.add_post("/v1/traces", take)
        server = HttpServer("collector", application, ("127.0.0.1", 0))
        serving = asyncio.create_task(server.run())
        await server.wait_until_ready()
        url = f"http://127.0.0.1:{server.port}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": url}
        made = traces.from_environment(environment, service="toy-operator")
        assert made is not None
        with made.of_pass("toy", {"object": "default/good"}):
            pass
        await made.flush()
        serving.cancel()
        await asyncio.wait([serving])

    asyncio.run(scenario())
    body = b"".join(bodies)
    assert b"reconcile toy" in body
    assert b"toy-operator" in body


def test_an_unreachable_collector_does_not_delay_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    monkeypatch.setattr(traces, "_FLUSH", 0.3)

    async def scenario() -> float:
        made = traces.from_environment({"OTEL_EXPORTER_OTLP_ENDPOINT": url}, service="toy")
        assert made is not None
        with made.of_pass("toy", {}):
            pass
        initialized = asyncio.get_running_loop().time()
        await made.flush()
        return asyncio.get_running_loop().time() - initialized

    assert asyncio.run(scenario()) < 3


def test_an_operator_without_traces_does_not_import_their_library() -> None:
    program = (
        "import sys, olmkit.runtime.process\n"
        "from olmkit.runtime import traces\n"
        "assert traces.from_environment({}, service='toy') is None\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"
