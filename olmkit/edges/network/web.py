"""The HTTP client, with timeouts, retries, TLS and proxies.

Requests and responses are plain values and chunks; the HTTP library's types are used only here.
Messages never contain secrets: URLs are redacted once, here, and headers are never shown. Redirects
are followed in this module, so that credentials are sent only to their host.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TypeVar

from yarl import URL

from olmkit.base.diagnostics import ConfigurationError, OlmkitError, RemoteError
from olmkit.base.streams import closing
from olmkit.edges.network import proxies, urls
from olmkit.edges.network.header_values import parse_retry_after
from olmkit.edges.network.http_library import aiohttp
from olmkit.edges.network.pace import Deadline, Pace, TooSlow

T = TypeVar("T")

_log = logging.getLogger(__name__)

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_READING = frozenset({"GET", "HEAD"})
_MAX_REDIRECTS = 5
_CHUNK = 256 * 1024
# For a body that is read as a whole: a server that sends a byte from time to time must not block.
_WHOLE_BODY = 300.0
_DAY = 86_400.0
# Statuses for temporary errors: request timeout, too early, too many requests, and server errors.
TEMPORARY_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True, kw_only=True)
class WebOptions:
    """The network settings; `http_proxy` and others are read from the environment."""

    plain_http: bool = False
    ca_file: str | None = None
    skip_tls_verify: bool = False
    connect_timeout: float = 15.0  # a registry behind a slow VPN still responds within this time
    # Between two pieces of a response, and between the request and the head of its response;
    # registries hash whole layers before they respond to a push.
    read_timeout: float = 120.0
    attempts: int = 6  # with the waits below: some seconds for an outage to end
    connect_attempts: int = 3  # no server: more often a wrong port than a restart
    slow_attempts: int = 2  # each needs a whole timeout, without visible progress
    first_wait: float = 0.2
    longest_wait: float = 15.0
    longest_retry_after: float = 60.0  # a server that wants more than this is reported, not obeyed
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    option_prefix: str = ""  # a prefix of option names in hints, such as `target-`


@dataclass(eq=False)
class UnreachableError(RemoteError):
    """No server responds at this address."""


@dataclass(eq=False)
class NotEncryptedError(RemoteError):
    """The server does not use TLS."""


@dataclass(eq=False)
class SlowError(RemoteError):
    """The server is too slow."""


class Reply:
    """A response whose body has not been read; `window` is the time limit without data."""

    def __init__(self, response: aiohttp.ClientResponse, url: URL, window: float) -> None:
        self._response = response
        self._url = url
        self._window = window
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers

    @property
    def url(self) -> str:
        """Return the URL of the response, redacted."""
        return urls.redact(str(self._url))

    @property
    def full_url(self) -> str:
        """Return the URL of the response. It may contain secrets."""
        return str(self._url)

    @property
    def location(self) -> str:
        """Return the absolute URL of the `Location` header, or None. It may contain secrets.

        Raises `RemoteError` if the header is not a URL.
        """
        return self.resolve(self.headers.get("Location", ""))

    def resolve(self, text: str) -> str:
        """Return `text` of this response as an absolute URL, empty if it is empty.

        Raises `RemoteError` if it is not a URL.
        """
        return str(urls.join(self._url, text)) if text else ""

    def listed(self, name: str) -> str:
        """Return the values of a header that may be repeated, as one list."""
        return ", ".join(self._response.headers.getall(name, ()))

    def is_from(self, origin: str) -> bool:
        """Return whether the host of `origin` sent this response, not one that it redirects to."""
        return urls.same_origin(str(self._url), origin)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives; raise `SlowError` if it is too slow."""
        pace = Pace(self._window)
        try:
            while chunk := await pace.take(self._response.content.read(_CHUNK)):
                yield chunk
        except TooSlow:
            raise SlowError(f"`{_shown_host(self._url)}` sends less than 1 kB per second") from None
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _translate(error, self._url) from shown_error(error)

    async def read(self, limit: int) -> bytes:
        """Return the body as a whole; raise `RemoteError` if it is longer than `limit` bytes."""
        data = bytearray()
        try:
            async with asyncio.timeout(_WHOLE_BODY), closing(self.chunks()) as chunks:
                async for chunk in chunks:
                    data += chunk
                    if len(data) > limit:
                        raise RemoteError(
                            f"the response of `{self.url}` is larger than {limit} bytes"
                        )
        except TimeoutError:
            raise RemoteError(
                f"the response of `{self.url}` does not end within {_WHOLE_BODY:.0f} seconds"
            ) from None
        return bytes(data)

    @property
    def retry_after(self) -> float:
        """Return for how many seconds the server accepts no request; 0 if unknown."""
        return parse_retry_after(self.headers.get("Retry-After", ""), time.time())


class Web:
    """A client with its connections; an asynchronous context manager."""

    def __init__(self, options: WebOptions, *, source: random.Random | None = None) -> None:
        self.options = options
        # Only spreads retries; predicting it has no benefit.
        self._random = source or random.Random()  # noqa: S311
        self._session: aiohttp.ClientSession | None = None
        self._tls: ssl.SSLContext | bool | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    @contextlib.asynccontextmanager
    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | AsyncIterator[bytes] | None = None,
        follow: bool = True,
    ) -> AsyncIterator[Reply]:
        """Send one request; the response is open inside the `with`. Any status is a response.

        Raises `RemoteError` without a response. Redirects are followed for requests without a body,
        and without `Authorization` to another host, where only reading requests are redirected.
        """
        target = urls.parse(url)
        sent = dict(headers or {})
        for _ in range(_MAX_REDIRECTS + 1):
            async with self._open(method, target, sent, body) as reply:
                leads = reply.headers.get("Location", "") if reply.status in _REDIRECTS else ""
                if not (leads and follow and body is None):
                    yield reply
                    return
                following = urls.join(target, leads)
                elsewhere = not urls.same_origin(str(following), str(target))
                if elsewhere and method not in _READING:
                    yield reply
                    return
            if urls.is_downgrade(str(target), str(following)):
                raise RemoteError(
                    f"`{urls.redact(str(target))}` redirects to `{urls.redact(str(following))}`, "
                    "which is not encrypted"
                )
            if elsewhere:
                sent.pop("Authorization", None)
            target = following
        raise RemoteError(f"`{urls.redact(url)}` redirects more than {_MAX_REDIRECTS} times")

    async def retry(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `work`, which is retried while its errors are temporary."""
        for attempt in range(1, self.options.attempts + 1):
            try:
                return await work()
            except OlmkitError as error:
                if not getattr(error, "temporary", False) or attempt >= self.attempts(error):
                    raise
                failed = error
            await self.pause(attempt, failed)
        raise AssertionError("unreachable")

    def attempts(self, error: OlmkitError) -> int:
        """Return the number of attempts for `error`, including the first one."""
        limits: dict[type[OlmkitError], int] = {
            UnreachableError: self.options.connect_attempts,
            SlowError: self.options.slow_attempts,
        }
        return min(self.options.attempts, limits.get(type(error), self.options.attempts))

    async def pause(self, failures: int, error: OlmkitError) -> None:
        """Wait after so many failures, at least as long as the server of `error` requests.

        Raises `error` if that is too long.
        """
        asked = float(getattr(error, "retry_after", 0.0))
        if asked > self.options.longest_retry_after:
            later = f"in {asked:.0f} seconds" if asked < _DAY else "tomorrow"
            error.hint = f"try again {later}"
            raise error
        _log.debug("waiting before another attempt: %s", error.message)
        wait = min(self.options.first_wait * 2 ** (failures - 1), self.options.longest_wait)
        # Jitter: clients that failed together must not retry together.
        await asyncio.sleep(max(asked, wait * (0.5 + self._random.random() / 2)))

    @contextlib.asynccontextmanager
    async def _open(
        self,
        method: str,
        url: URL,
        headers: Mapping[str, str],
        body: bytes | AsyncIterator[bytes] | None,
    ) -> AsyncIterator[Reply]:
        session = self._client()
        deadline = Deadline(self.options.read_timeout + 2 * self.options.connect_timeout)
        async with contextlib.AsyncExitStack() as stack:
            sent = body
            if body is not None and not isinstance(body, bytes):
                sent = deadline.pieces(body)
                stack.push_async_callback(_end, sent)
            try:
                async with deadline.watch(body):
                    response = await session.request(
                        method,
                        url,
                        headers=headers,
                        data=sent,
                        allow_redirects=False,
                        ssl=self._trusted() if url.scheme == "https" else True,
                        proxy=proxies.proxy_for(str(url), self.options.environment),
                    )
            except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
                raise _translate(error, url, self.options.option_prefix) from shown_error(error)
            stack.callback(response.release)
            _log.debug("%s %s: %d", method, urls.redact(str(url)), response.status)
            yield Reply(response, url, self.options.read_timeout)

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                # Callers limit the number of requests; none waits for a free connection.
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(
                    total=None,  # a large layer on a slow connection takes a long time
                    connect=2 * self.options.connect_timeout,  # with several addresses and TLS
                    sock_connect=self.options.connect_timeout,
                    sock_read=self.options.read_timeout,
                ),
                auto_decompress=False,  # a compressed layer is content, not an encoding
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": "olmkit", "Accept-Encoding": "identity"},
                read_bufsize=4 * _CHUNK,
            )
        return self._session

    def _trusted(self) -> ssl.SSLContext | bool:
        if self._tls is None:
            self._tls = trusted(self.options)
        return self._tls


def trusted(options: WebOptions) -> ssl.SSLContext | bool:
    """Return the trusted CAs: those of the system and of `--ca-file`.

    True means only the system's, which the HTTP library has already read: reading them takes as
    long as a small push. Raises `ConfigurationError` if that file cannot be read or has no
    certificate.
    """
    if options.ca_file is None and not options.skip_tls_verify:
        return True
    context = ssl.create_default_context()
    if options.ca_file is not None:
        try:
            context.load_verify_locations(options.ca_file)
        except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
            reason = (error.strerror or str(error)).lower()
            raise ConfigurationError(f"cannot read `{options.ca_file}`: {reason}") from None
        except (ssl.SSLError, ValueError, OSError):
            raise ConfigurationError(
                f"`{options.ca_file}` holds no certificate",
                hint="`--ca-file` takes certificates in PEM form",
            ) from None
    if options.skip_tls_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def shown_error(error: BaseException) -> BaseException | None:
    """Return the cause that a traceback may show; some causes contain whole URLs with secrets."""
    return None if isinstance(error, aiohttp.ClientResponseError | aiohttp.InvalidURL) else error


def _translate(error: BaseException, url: URL, prefix: str = "") -> RemoteError:
    """Return an error of the HTTP library as our own, with a fix if one is known."""
    if (ours := _find_own_error(error)) is not None:
        return ours
    host = _shown_host(url)
    match error:
        case aiohttp.ClientProxyConnectionError() | aiohttp.ClientHttpProxyError():
            return RemoteError(
                f"cannot reach `{host}` through the proxy",
                hint="check the variables `https_proxy`, `http_proxy` and `no_proxy`",
                temporary=True,
            )
        case aiohttp.ClientConnectorCertificateError() | ssl.SSLCertVerificationError():
            return _certificate_error(error, host, prefix)
        case aiohttp.ClientConnectorDNSError():
            return RemoteError(
                f"cannot reach `{host}`: there is no such host",
                hint="check the name and the network",
                temporary=False,
            )
        case aiohttp.ClientSSLError() | ssl.SSLError():
            return NotEncryptedError(
                f"cannot reach `{host}`: the TLS handshake failed",
                hint=f"pass `--{prefix}plain-http` if it uses HTTP without TLS",
                temporary=False,
            )
        case ConnectionRefusedError():
            return UnreachableError(
                f"cannot reach `{host}`: connection refused",
                hint="check that it runs, and its address and port",
                temporary=True,
            )
        case aiohttp.ClientConnectorError():
            return (
                _translate(error.os_error, url, prefix)
                if _differs(error)
                else _unreachable_error(error, host)
            )
        case TimeoutError():
            return SlowError(f"`{host}` does not answer in time", temporary=True)
        case aiohttp.InvalidURL() | ValueError():
            return RemoteError(f"`{urls.redact(str(url))}` is not a valid URL")
        case aiohttp.ClientError():
            return RemoteError(f"the connection to `{host}` was interrupted", temporary=True)
        case _:
            return _unreachable_error(error, host)


async def _end(content: AsyncIterator[bytes]) -> None:
    """End a body that the server did not read completely, unless the library is about to."""
    with contextlib.suppress(RuntimeError):  # it is running: its task has been cancelled
        async with closing(content):
            pass


def _shown_host(url: URL) -> str:
    return f"{url.host}:{url.explicit_port}" if url.explicit_port else str(url.host)


def _find_own_error(error: BaseException | None) -> RemoteError | None:
    """Return our own error if the sent content has failed."""
    for _ in range(5):
        if error is None or isinstance(error, RemoteError):
            return error
        error = error.__cause__
    return None


def _differs(error: aiohttp.ClientConnectorError) -> bool:
    return isinstance(error.os_error, ConnectionRefusedError | ssl.SSLError)


def _certificate_error(error: BaseException, host: str, prefix: str) -> RemoteError:
    inner = getattr(error, "certificate_error", error)
    reason = getattr(inner, "verify_message", "") or "it cannot be verified"
    hint = f"name the authority that signed it with `--{prefix}ca-file`"
    if "expired" in reason:
        hint = f"renew the certificate of `{host}`"
    elif "not yet valid" in reason:
        hint = f"correct the clock of this machine or of `{host}`"
    elif "mismatch" in reason:
        hint = f"use a name of the certificate, or let `{host}` have a certificate for that name"
    return RemoteError(
        f"cannot trust the certificate of `{host}`: {reason.rstrip('.')}",
        hint=hint,
        temporary=False,
    )


def _unreachable_error(error: BaseException, host: str) -> RemoteError:
    reason = getattr(error, "strerror", None) or "the connection failed"
    return UnreachableError(f"cannot reach `{host}`: {str(reason).lower()}", temporary=True)
