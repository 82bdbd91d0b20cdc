"""The metrics of a catalog server, in the text format of Prometheus.

gRPC calls have the names of go-grpc-middleware, HTTP requests that of catalogd, so that existing
dashboards show them; each also has the label `catalog`.
"""

from __future__ import annotations

import time

from olmkit.base.diagnostics import ConfigurationError

try:
    import prometheus_client
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
    from prometheus_client.openmetrics import exposition as openmetrics
except ImportError as missing:
    raise ConfigurationError(
        "metrics need the Prometheus library, which is not installed",
        hint='install it with `pip install "olmkit[serve]"`',
    ) from missing

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_CALL = ("grpc_type", "grpc_service", "grpc_method")
# The buckets of the libraries with the same names.
_GRPC_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_HTTP_BOUNDS = (
    *(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.6, 2, 2.4, 2.8, 3.2, 3.6, 4, 10),
)


class CatalogMetrics:
    """The series of one process that serves catalogs, and those of the process itself."""

    def __init__(self) -> None:
        # A second series for the age of each would double the scraped data; Go has none.
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.started = Counter(
            "grpc_server_started_total",
            "Total number of RPCs started on the server.",
            (*_CALL, "catalog"),
            registry=registry,
        )
        self.handled = Counter(
            "grpc_server_handled_total",
            "Total number of RPCs completed on the server, regardless of success or failure.",
            (*_CALL, "grpc_code", "catalog"),
            registry=registry,
        )
        self.handling = Histogram(
            "grpc_server_handling_seconds",
            "Response latency (seconds) of RPCs that the server has handled.",
            (*_CALL, "catalog"),
            buckets=_GRPC_BOUNDS,
            registry=registry,
        )
        self.requests = Histogram(
            "catalogd_http_request_duration_seconds",
            "Duration of requests over HTTP in seconds.",
            ("code", "catalog"),
            buckets=_HTTP_BOUNDS,
            registry=registry,
        )
        self.open = Gauge(
            "olmkit_catalog_open_calls",
            "Number of calls and requests that are being answered.",
            ("protocol", "catalog"),
            registry=registry,
        )
        self._declare_catalogs(registry)
        self._digests: dict[str, str] = {}

    def _declare_catalogs(self, registry: CollectorRegistry) -> None:
        self._info = Gauge(
            "olmkit_catalog_info",
            "The catalog that is served; digest names its content. The value is 1.",
            ("catalog", "digest"),
            registry=registry,
        )
        self._loaded = Gauge(
            "olmkit_catalog_loaded_timestamp_seconds",
            "Time at which the content that is served was loaded.",
            ("catalog",),
            registry=registry,
        )
        self._packages = Gauge(
            "olmkit_catalog_packages", "Number of packages.", ("catalog",), registry=registry
        )
        self._bundles = Gauge(
            "olmkit_catalog_bundles", "Number of bundles.", ("catalog",), registry=registry
        )
        self._reloads = Counter(
            "olmkit_catalog_reloads_total",
            "Number of changes of the catalog that were seen; the old content stays on an error.",
            ("catalog", "result"),
            registry=registry,
        )

    def of(self, catalog: str) -> CallMetrics:
        """Return the observer of the calls of one catalog; its series exist from then on."""
        for protocol in ("grpc", "http"):
            self.open.labels(protocol, catalog)
        for result in ("success", "error"):
            self._reloads.labels(catalog, result)
        return CallMetrics(self, catalog)

    def requests_of(self) -> RequestMetrics:
        """Return the observer of the HTTP requests, which covers all catalogs."""
        return RequestMetrics(self)

    def loaded(self, catalog: str, *, digest: str, packages: int, bundles: int) -> None:
        """Record that the catalog is now served from this content."""
        old = self._digests.get(catalog)
        if old is not None and old != digest:
            self._info.remove(catalog, old)
        self._digests[catalog] = digest
        self._info.labels(catalog, digest).set(1)
        self._loaded.labels(catalog).set(time.time())
        self._packages.labels(catalog).set(packages)
        self._bundles.labels(catalog).set(bundles)

    def reloaded(self, catalog: str, *, success: bool) -> None:
        """Record that a change was applied or rejected."""
        self._reloads.labels(catalog, "success" if success else "error").inc()

    def expose(self, accept: str) -> tuple[bytes, str]:
        """Return the form that an `Accept` header requests, and its content type."""
        if "application/openmetrics-text" in accept:
            body: bytes = openmetrics.generate_latest(self._registry)  # type: ignore[no-untyped-call]
            return body, openmetrics.CONTENT_TYPE_LATEST
        return prometheus_client.generate_latest(self._registry), _TEXT


class CallMetrics:
    """Observes the calls of one catalog; implements `server.CallObserver`."""

    def __init__(self, metrics: CatalogMetrics, catalog: str) -> None:
        self._metrics = metrics
        self._catalog = catalog
        self._open = metrics.open.labels("grpc", catalog)

    def started(self, kind: str, service: str, method: str) -> None:
        self._metrics.started.labels(kind, service, method, self._catalog).inc()
        self._open.inc()

    def handled(self, kind: str, service: str, method: str, code: str, seconds: float) -> None:
        self._open.dec()
        self._metrics.handled.labels(kind, service, method, code, self._catalog).inc()
        self._metrics.handling.labels(kind, service, method, self._catalog).observe(seconds)


class RequestMetrics:
    """Observes the HTTP requests; implements `http_api.RequestObserver`."""

    def __init__(self, metrics: CatalogMetrics) -> None:
        self._metrics = metrics

    def started(self, catalog: str) -> None:
        self._metrics.open.labels("http", catalog).inc()

    def handled(self, catalog: str, status: int, seconds: float) -> None:
        self._metrics.open.labels("http", catalog).dec()
        self._metrics.requests.labels(str(status), catalog).observe(seconds)
