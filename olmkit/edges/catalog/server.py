"""Serves a catalog over gRPC, as OLM v0 expects it.

The port opens at once, and health is NOT_SERVING until the catalog is read, so that a port in use
is reported within a second, and a probe waits. Earlier calls are held until the catalog is read,
because clients of `opm serve` never see an unread one. Requests and responses are bytes: a
`RegistryApi` returns encoded messages, and the protobuf library is never loaded.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import os
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, Final, Protocol

from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.base.protobuf import enum, strings
from olmkit.catalog.serve.registry_api import BadQuestionError, NotFoundError, RegistryApi
from olmkit.edges.catalog import reflection
from olmkit.edges.network.certificate_files import CertificateRenewals, Pair

# The core of the library writes to stderr by itself; our exceptions have the relevant errors.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

try:
    import grpc
    import grpc.aio
except ImportError as missing:
    raise ConfigurationError(
        "serving a catalog needs the gRPC library, which is not installed",
        hint='install it with `pip install "olmkit[serve]"`',
    ) from missing

Answer = Callable[[RegistryApi, bytes], bytes]
Answers = Callable[[RegistryApi, bytes], Iterable[bytes]]

EXPERIMENTAL = "x-acknowledge-experimental"
# More concurrent calls than in any cluster; beyond that, clients get RESOURCE_EXHAUSTED. One
# address can use half of them, so that it does not block others. `Check` is exempt.
MAX_CALLS: Final = 1000
MAX_CALLS_OF_ONE: Final = 500
# Per connection; further calls wait in the client.
_MAX_STREAMS: Final = MAX_CALLS_OF_ONE + 100
# A limit for calls that are refused at once.
_MAX_RPCS: Final = 10_000
# Seconds for which a call waits for the catalog; large ones are read in less time.
_HOLD: Final = 120.0
# Time for running calls to end after SIGTERM; a pod has 30 s in total.
_GRACE = 5.0
_SERVING, _NOT_SERVING = 1, 2


def _three(request: bytes) -> tuple[str, str, str]:
    first, second, third = strings(request, 3)
    return first, second, third


def _two(request: bytes) -> tuple[str, str]:
    first, second = strings(request, 2)
    return first, second


def _one(request: bytes) -> str:
    return strings(request, 1)[0]


_SINGLE: dict[str, Answer] = {
    "GetPackage": lambda registry, request: registry.get_package(_one(request)),
    "GetBundle": lambda registry, request: registry.get_bundle(*_three(request)),
    "GetBundleForChannel": lambda registry, request: registry.get_bundle_for_channel(
        *_two(request)
    ),
    "GetBundleThatReplaces": lambda registry, request: registry.get_bundle_that_replaces(
        *_three(request)
    ),
    "GetDefaultBundleThatProvides": lambda registry, request: registry.default_bundle_that_provides(
        _three(request)
    ),
}
_STREAMS: dict[str, Answers] = {
    "ListPackages": lambda registry, _request: registry.list_packages(),
    "ListBundles": lambda registry, _request: registry.list_bundles(),
    "GetChannelEntriesThatReplace": lambda registry, request: registry.channel_entries_that_replace(
        _one(request)
    ),
    "GetChannelEntriesThatProvide": lambda registry, request: registry.channel_entries_that_provide(
        _three(request)
    ),
    "GetLatestChannelEntriesThatProvide": lambda registry, request: (
        registry.latest_channel_entries_that_provide(_three(request))
    ),
}
_API = "api.Registry"
_CUSTOM = "ExperimentalListPackageCustomSchemas"
_HEALTH = "grpc.health.v1.Health"
_REFLECT = "ServerReflectionInfo"
_UNARY, _STREAM = "unary", "server_stream"
_REFLECTION = ("grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection")
_SERVICES = ("api.ExperimentalRegistry", "api.Registry", _HEALTH, *_REFLECTION)


class CallObserver(Protocol):
    """Observes the server; `kind` is `unary`, `server_stream` or `bidi_stream`."""

    def started(self, kind: str, service: str, method: str) -> None:
        """Record that a call was received."""

    def handled(self, kind: str, service: str, method: str, code: str, seconds: float) -> None:
        """Record that a call ended with the code, written as in Go: `OK`, `NotFound`."""


class CatalogServer:
    """One listening server; it responds after `answer_from` was called."""

    def __init__(
        self, observer: CallObserver | None = None, *, connection_age: float | None = None
    ) -> None:
        """`connection_age`: seconds after which a client has to connect again; None for never.

        Calls that are running at that time end on their connection.
        """
        self._observer = observer
        self._registry: RegistryApi | None = None
        self._check_store: Callable[[], None] = lambda: None
        self._calls: Counter[str] = Counter()
        self.lost = asyncio.Event()
        self._stopping = False
        self._changed = asyncio.Event()
        # Without the first option, a second server could bind the same port and get half of the
        # calls.
        options = [("grpc.so_reuseport", 0), ("grpc.max_concurrent_streams", _MAX_STREAMS)]
        if connection_age is not None:
            options.append(("grpc.max_connection_age_ms", round(connection_age * 1000)))
        self._server = grpc.aio.server(maximum_concurrent_rpcs=_MAX_RPCS, options=options)
        self._server.add_generic_rpc_handlers(
            (
                _handlers(_API, self._registry_methods()),
                _handlers(
                    "api.ExperimentalRegistry",
                    {
                        _CUSTOM: _stream(
                            self._call(_STREAM, "api.ExperimentalRegistry", _CUSTOM)(
                                self._custom_blobs
                            )
                        )
                    },
                ),
                _handlers(
                    _HEALTH,
                    {
                        "Check": grpc.unary_unary_rpc_method_handler(
                            self._call(_UNARY, _HEALTH, "Check", counted=False)(self._check)
                        ),
                        "Watch": _stream(self._call(_STREAM, _HEALTH, "Watch")(self._watch)),
                    },
                ),
                *(
                    _handlers(
                        service,
                        {
                            _REFLECT: grpc.stream_stream_rpc_method_handler(
                                self._call("bidi_stream", service, _REFLECT)(_reflect)
                            )
                        },
                    )
                    for service in _REFLECTION
                ),
            )
        )

    async def start(self, host: str, port: int, tls: CertificateRenewals | None = None) -> int:
        """Listen and return the port, a free one for 0. An empty `host` means all addresses.

        With `tls`, new connections get the current certificate in its files. Raises `RemoteError`
        if the address is not available, and `ConfigurationError` for files that are not a
        certificate and its key.
        """
        _try_address(host, port)
        target = f"[{host}]" if ":" in host else host or "[::]"
        credentials = None if tls is None else _credentials(tls)
        try:
            bound: int = (
                self._server.add_insecure_port(f"{target}:{port}")
                if credentials is None
                else self._server.add_secure_port(f"{target}:{port}", credentials)
            )
        except RuntimeError as error:
            raise RemoteError(f"cannot listen on `{address(host, port)}`") from error
        await self._server.start()
        return bound

    def answer_from(self, registry: RegistryApi, check: Callable[[], None] = lambda: None) -> None:
        """Start to respond; health is SERVING until `check` raises `OSError`."""
        self._registry = registry
        self._check_store = check
        self.lost.clear()
        self._notify()

    def hold(self) -> None:
        """Hold calls until `answer_from`; health is NOT_SERVING."""
        self._registry = None
        self._notify()

    async def stop(self) -> None:
        """Accept no new calls, wait for running ones, and cancel those that still run."""
        self._stopping = True
        self._notify()
        await self._server.stop(_GRACE)

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _registry_methods(self) -> dict[str, Any]:
        return {name: self._single(name, answer) for name, answer in _SINGLE.items()} | {
            name: self._stream_method(name, answers) for name, answers in _STREAMS.items()
        }

    def _single(self, name: str, answer: Answer) -> Any:
        async def method(request: bytes, context: Any) -> bytes:
            try:
                return answer(await self._require_registry(context), request)
            except _REFUSALS as error:
                await self._refuse(error, context)
                return b""

        return grpc.unary_unary_rpc_method_handler(self._call(_UNARY, _API, name)(method))

    def _stream_method(self, name: str, answers: Answers) -> Any:
        async def method(request: bytes, context: Any) -> None:
            try:
                for item in answers(await self._require_registry(context), request):
                    await context.write(item)
            except _REFUSALS as error:
                await self._refuse(error, context)

        return _stream(self._call(_STREAM, _API, name)(method))

    async def _custom_blobs(self, request: bytes, context: Any) -> None:
        given = next((v for k, v in context.invocation_metadata() if k == EXPERIMENTAL), "")
        if given != "true":
            return
        try:
            registry = await self._require_registry(context)
            for item in registry.list_custom_blobs(*_two(request)):
                await context.write(item)
        except _REFUSALS as error:
            await self._refuse(error, context)

    async def _require_registry(self, context: Any) -> RegistryApi:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_HOLD):
                while self._registry is None and not self._stopping:
                    await self._changed.wait()
        if self._registry is None:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the catalog is still being read")
        assert self._registry is not None  # noqa: S101 - abort raises
        return self._registry

    async def _refuse(self, error: Exception, context: Any) -> None:
        if isinstance(error, OSError):
            self._lose()
        await _refuse(error, context)

    def _lose(self) -> None:
        """Report that the catalog's file was changed or is unreadable; the owner rebuilds it."""
        if self._registry is not None:
            self.hold()
            self.lost.set()

    def _call(
        self, kind: str, service: str, name: str, *, counted: bool = True
    ) -> Callable[[Callable[..., Any]], Any]:
        """Return a decorator for a method's function, which limits and observes its calls."""

        def decorate(method: Callable[..., Any]) -> Any:
            bounded = self._limit_calls(method) if counted else method
            if self._observer is None:
                return bounded
            return _observe(self._observer, (kind, service, name), bounded)

        return decorate

    def _limit_calls(self, method: Callable[..., Awaitable[Any]]) -> Any:
        """Return the method, which is refused if one address or all have too many open calls."""

        @functools.wraps(method)
        async def counted(request: Any, context: Any) -> Any:
            client = _address_of(context.peer())
            if self._calls.total() >= MAX_CALLS or self._calls[client] >= MAX_CALLS_OF_ONE:
                await context.abort(
                    grpc.StatusCode.RESOURCE_EXHAUSTED,
                    f"{MAX_CALLS} calls are open, or {MAX_CALLS_OF_ONE} of this client, which is "
                    "the limit; try again later",
                )
            self._calls[client] += 1
            try:
                return await method(request, context)
            finally:
                self._calls[client] -= 1
                if not self._calls[client]:
                    del self._calls[client]

        return counted

    @property
    def _status(self) -> bytes:
        ready = self._registry is not None and not self._stopping
        return enum(1, _SERVING if ready else _NOT_SERVING)

    async def _check(self, request: bytes, context: Any) -> bytes:
        # Any name is accepted, like in `opm serve`: OLM requests `Registry`.
        try:
            _one(request)
        except ValueError as error:
            await _refuse(error, context)
        try:
            self._check_store()
        except OSError:
            self._lose()
        return self._status

    async def _watch(self, _request: bytes, context: Any) -> None:
        sent = b""
        while True:
            changed = self._changed
            if self._status != sent:
                sent = self._status
                await context.write(sent)
                continue  # it may have changed while it was written
            if self._stopping:
                return
            await changed.wait()


def _observe(
    observer: CallObserver, called: tuple[str, str, str], method: Callable[..., Awaitable[Any]]
) -> Any:
    async def observed(request: Any, context: Any) -> Any:
        observer.started(*called)
        begin = time.perf_counter()
        code = "OK"
        try:
            return await method(request, context)
        except asyncio.CancelledError:
            code = "Canceled"
            raise
        except Exception:
            code = _code_name(context.code())
            raise
        finally:
            observer.handled(*called, code, time.perf_counter() - begin)

    return observed


def _code_name(code: Any) -> str:
    """Return the name of a status as Go writes it: `RESOURCE_EXHAUSTED` → `ResourceExhausted`.

    For an exception that is not an abort, the library returns UNKNOWN.
    """
    known = [one for one in grpc.StatusCode if code in (one, one.value[0])]
    if not known or known[0] is grpc.StatusCode.OK:
        return "Unknown"
    return "".join(part.capitalize() for part in known[0].name.split("_"))


def _credentials(tls: CertificateRenewals) -> Any:
    pair = tls.read()
    if pair is None:
        raise ConfigurationError(
            f"`{tls.certificate}` and `{tls.key}` are not a certificate and its key: "
            "one of them cannot be read"
        )

    def configuration(pair: Pair) -> Any:
        return grpc.ssl_server_certificate_configuration([(pair.key, pair.certificate)])

    def renewed() -> Any:
        # The library calls this for each new connection, in its own thread.
        try:
            found = tls.renewed()
        except ConfigurationError:
            return None  # the current one stays
        return None if found is None else configuration(found)

    return grpc.dynamic_ssl_server_credentials(configuration(pair), renewed)


def _address_of(peer: str) -> str:
    """Return the address of a client without its port: `ipv4:10.0.0.1:4711` → `ipv4:10.0.0.1`."""
    return peer.rpartition(":")[0] or peer


def address(host: str, port: int) -> str:
    """Return `host:port` as people write it."""
    if not host:
        return f"0.0.0.0:{port}"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def _reflect(requests: AsyncIterator[bytes], context: Any) -> None:
    async for request in requests:
        try:
            answer = reflection.answer(request, _SERVICES, reflection.shipped_descriptors())
        except ValueError as error:
            await _refuse(error, context)
        else:
            await context.write(answer)


_REFUSALS = (NotFoundError, BadQuestionError, ValueError, OSError)


async def _refuse(error: Exception, context: Any) -> None:
    code = grpc.StatusCode
    match error:
        case NotFoundError():
            # Not NOT_FOUND: clients of `opm serve` get this code.
            await context.abort(code.UNKNOWN, str(error))
        case BadQuestionError():
            await context.abort(code.INVALID_ARGUMENT, str(error))
        case OSError():
            await context.abort(code.INTERNAL, f"cannot read the catalog: {error}")
        case _:
            await context.abort(code.INTERNAL, f"cannot read the request: {error}")


def _handlers(service: str, methods: dict[str, Any]) -> Any:
    return grpc.method_handlers_generic_handler(service, methods)


def _stream(method: Callable[[bytes, Any], Awaitable[None]]) -> Any:
    return grpc.unary_stream_rpc_method_handler(method)


def _try_address(host: str, port: int) -> None:
    """Bind and close, because the library does not report why it cannot bind."""
    if not 0 <= port <= 65535:
        raise ConfigurationError(f"`{port}` is not a port: ports go from 0 to 65535")
    try:
        found = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, kind, protocol, _, target = found[0]
        with socket.socket(family, kind, protocol) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(target)
            # Two sockets may bind one address as long as neither listens.
            trial.listen(1)
    except OSError as error:
        where = address(host, port)
        if error.errno == errno.EADDRINUSE:
            raise RemoteError(
                f"cannot listen on `{where}`: the port is taken",
                hint="name another one with `--port`, or `--port 0` for any that is free",
            ) from error
        words = error.strerror or str(error)
        raise RemoteError(f"cannot listen on `{where}`: {words}") from error
