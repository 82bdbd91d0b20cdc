"""OpenTelemetry traces of reconciles and their requests.

Each reconcile is a span; its requests are child spans and carry the trace context (`traceparent`,
W3C Trace Context). Requests outside reconciles, such as watches and leases, are not traced.
Attributes follow OpenTelemetry's semantic conventions where these exist. Bodies, headers and
queries are never part of a span.

OpenTelemetry is imported only if traces are requested: `from_environment` returns None without the
environment variables of its specification.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from olmkit import __version__
from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.cluster.sent_requests import FAILED

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer, TracerProvider

_LOG = logging.getLogger(__name__)

_NAME = "olmkit.runtime"
_FLUSH = 3.0  # seconds to send the last spans
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


class Traces:
    """Creates the spans of one process.

    `provider` is one of `opentelemetry.sdk.trace`, with the exporters that the author chose.
    """

    def __init__(self, provider: TracerProvider) -> None:
        from opentelemetry.propagate import inject
        from opentelemetry.trace import SpanKind, get_current_span

        self._tracer: Tracer = provider.get_tracer(_NAME, __version__)
        self._provider = provider
        self._current = get_current_span
        self._inject = inject
        self._client_kind = SpanKind.CLIENT

    @contextlib.contextmanager
    def of_pass(self, controller: str, facts: Mapping[str, str]) -> Iterator[PassSpan]:
        """Return the span of a reconcile; `facts` are those of its log lines."""
        attributes = {f"olmkit.{key}": value for key, value in facts.items() if value}
        with self._tracer.start_as_current_span(
            f"reconcile {controller}",
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            yield PassSpan(span)

    def of_request(self, method: str, host: str, path: str) -> _RequestSpan | None:
        """Return the span of a request of a reconcile; for `HttpCluster(tracer=…)`."""
        if not self._current().is_recording():
            return None
        span = self._tracer.start_span(
            method,
            kind=self._client_kind,
            attributes={
                "http.request.method": method,
                "server.address": host,
                "url.path": path,
            },
        )
        return _RequestSpan(span, self._headers(span))

    def _headers(self, span: Span) -> Sequence[tuple[str, str]]:
        from opentelemetry.trace import set_span_in_context

        carrier: dict[str, str] = {}
        self._inject(carrier, set_span_in_context(span))
        return tuple(carrier.items())

    async def flush(self) -> None:
        """Send the remaining spans and end; gives up after three seconds."""
        shutdown = getattr(self._provider, "shutdown", None)
        if shutdown is None:
            return
        # A separate thread: one of the loop's executor would delay the end of the process.
        loop, sent = asyncio.get_running_loop(), asyncio.Event()

        def send() -> None:
            shutdown()
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(sent.set)

        threading.Thread(target=send, daemon=True, name="traces").start()
        try:
            async with asyncio.timeout(_FLUSH):
                await sent.wait()
        except TimeoutError:
            _LOG.warning("the last traces were not sent", extra={"seconds": _FLUSH})


class PassSpan:
    """The span of a reconcile."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self.trace_id = f"{span.get_span_context().trace_id:032x}"

    def ended(self, outcome: str, error: BaseException | None = None) -> None:
        """Record the outcome of the reconcile; the span ends with its `with` block."""
        from opentelemetry.trace import Status, StatusCode

        self._span.set_attribute("olmkit.outcome", outcome)
        if error is not None:
            self._span.set_attribute("error.type", type(error).__qualname__)
            self._span.record_exception(error)
            self._span.set_status(Status(StatusCode.ERROR, str(error)))


class _RequestSpan:
    """Implements `sent_requests.RequestSpan`."""

    def __init__(self, span: Span, headers: Sequence[tuple[str, str]]) -> None:
        self._span = span
        self.headers = headers

    def ended(self, code: str) -> None:
        from opentelemetry.trace import Status, StatusCode

        if code == FAILED:
            self._span.set_status(Status(StatusCode.ERROR))
        else:
            self._span.set_attribute("http.response.status_code", int(code))
            if int(code) >= 400:
                self._span.set_attribute("error.type", code)
                self._span.set_status(Status(StatusCode.ERROR))
        self._span.end()


def from_environment(environment: Mapping[str, str], *, service: str) -> Traces | None:
    """Return the traces that the environment requests; None if none, or without packages.

    Traces are sent if `OTEL_TRACES_EXPORTER` is `otlp` or `console`, or if an OTLP endpoint is set;
    the exporter `none` or `OTEL_SDK_DISABLED=true` turns them off. Spans are sent as protobuf over
    HTTP. `service` is the default of `OTEL_SERVICE_NAME`. The library reads sampling, headers and
    limits from the environment. Raises `ConfigurationError` for an unknown exporter.
    """
    chosen = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    has_endpoint = any(environment.get(name, "").strip() for name in _ENDPOINTS)
    is_off = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if is_off or chosen == "none" or not (chosen or has_endpoint):
        return None
    if chosen not in ("", "otlp", "console"):
        raise ConfigurationError(
            f"`OTEL_TRACES_EXPORTER` is `{chosen}`, which is not `otlp`, `console` or `none`"
        )
    try:
        return Traces(_provider(chosen or "otlp", environment, service))
    except ImportError as error:
        _LOG.warning(
            "traces are not sent: a package is missing",
            extra={"package": error.name or "", "hint": 'install "olmkit-runtime[otel]"'},
        )
        return None


def _provider(exporter: str, environment: Mapping[str, str], service: str) -> TracerProvider:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider as Provider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter

    made: SpanExporter
    if exporter == "console":
        made = ConsoleSpanExporter()
    else:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        made = OTLPSpanExporter()
    name = environment.get("OTEL_SERVICE_NAME", "") or service
    provider = Provider(resource=Resource.create({"service.name": name}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(made))
    return provider
