"""Send requests to an API server: one HTTP session, its credentials and its retries.

A request is repeated only if the server allows it (429 and 5xx with `Retry-After`), and once after
a 401 that fresh credentials may fix. It is not repeated after a refusal because of a webhook that
does not respond: if the server cannot convert stored objects, it responds with a `Retry-After` of
half a minute, and only the caller knows whether that will ever work. Network errors are
`Unreachable`; a refusal of the server is the error in its Status.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import math
import os
import re
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.cluster import failures, watch_stream
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.cluster.sent_requests import FAILED, Observer, SentRequests, Tracer
from olmkit.edges.network import proxies, urls, web
from olmkit.edges.network.http_library import aiohttp
from olmkit.kube.api import (
    ClusterError,
    TooLargeResourceVersion,
    Unauthorized,
    error_from_status,
)

_LOG = logging.getLogger(__name__)

REQUEST_TIMEOUT = 30.0
_CONNECT_TIMEOUT = 10.0
_MAX_BODY = 512 * 1024 * 1024
_MAX_MESSAGE = 16 * 1024 * 1024  # for a command in a container
_MAX_RETRIES = 10
_MAX_DELAY = 60.0  # for all retries of a request
_MAX_WARNINGS = 1000  # messages that are remembered, to log each only once
_UNFIT = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")  # in the value of a header
_WARNING = re.compile(r'299 \S+ "(?P<text>(?:[^"\\]|\\.)*)"')

Headers = Sequence[tuple[str, str]]


class Connection:
    """Sends requests as one user; every method raises `ClusterError`.

    The credentials may also raise `ConfigurationError`, or `RemoteError` for an exec plug-in.
    """

    def __init__(
        self,
        config: ClusterConfig,
        *,
        user_agent: str,
        observer: Observer | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self._config = config
        self.host = urlsplit(config.server).netloc
        self._user_agent = user_agent
        self._sent = SentRequests(self.host, observer, tracer)
        self._session: aiohttp.ClientSession | None = None
        self._proxy: str | None = None
        self._certificate: tuple[bytes, bytes] | None = None
        self._authority: bytes | None = None
        self._is_distrusted = False  # the server's certificate did not match the CA
        self._retired: aiohttp.ClientSession | None = None  # its streams may end
        self._warned: set[str] = set()

    async def close(self) -> None:
        sessions = (self._session, self._retired)
        self._session = self._retired = None
        for session in sessions:
            if session is not None:
                await session.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        seconds: float = REQUEST_TIMEOUT,
        headers: Headers = (),
    ) -> bytes:
        """Send one request, and return the whole response."""
        response = await self._open(
            method,
            path,
            params=params,
            body=body,
            content_type=content_type,
            accept=accept,
            limits=aiohttp.ClientTimeout(total=seconds, sock_connect=_CONNECT_TIMEOUT),
            headers=headers,
        )
        try:
            return await _read(response)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable(error) from web.shown_error(error)
        finally:
            response.release()

    async def stream(
        self,
        path: str,
        *,
        params: Mapping[str, str],
        accept: str,
        seconds: float,
        idle: float,
        opened: Callable[[], None] | None = None,
        headers: Headers = (),
    ) -> AsyncGenerator[bytes, None]:
        """Yield the lines of a response until it ends, `seconds` pass, or it is `idle`.

        `opened` is called when the server has responded, before the first line.
        """
        response = await self._open(
            "GET",
            path,
            params=params,
            accept=accept,
            limits=aiohttp.ClientTimeout(total=seconds, sock_connect=_CONNECT_TIMEOUT),
            head_first=True,
            headers=headers,
        )
        if opened is not None:
            opened()
        try:
            async for line in watch_stream.lines(response.content.readany, idle):
                yield line
        except aiohttp.ClientError as error:
            raise self._unreachable(error) from web.shown_error(error)
        except TimeoutError:
            return
        finally:
            _cut(response)

    @contextlib.asynccontextmanager
    async def forward(
        self, method: str, target: str, *, headers: Mapping[str, str], body: bytes | None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Forward a request of another program as this user, once; yield the response or error.

        `target` is path and query; `headers` have no credentials and no hop-by-hop headers.
        """
        authorization = await self._config.credentials.authorization()
        found = [*headers.items(), *_pairs(self._config.headers)]
        if authorization:
            found.append(("Authorization", authorization))
        _check_headers(found)
        session = await self._open_session()
        sent = self._sent.begin(method, target)
        try:
            async with session.request(
                method,
                urls.parse(self._config.server + target),
                data=body,
                headers=found,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT),
                proxy=self._proxy,
                server_hostname=self._config.server_name,
                allow_redirects=False,
                auto_decompress=False,
            ) as response:
                sent.ended(str(response.status))
                if response.status == 401:
                    self._config.credentials.refused(authorization)
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            sent.ended(FAILED)
            raise self._unreachable(error) from web.shown_error(error)
        finally:
            sent.given_up()

    async def parts(
        self,
        path: str,
        *,
        params: Mapping[str, str],
        accept: str,
        seconds: float | None,
        headers: Headers = (),
    ) -> AsyncGenerator[bytes, None]:
        """Yield a response as it arrives, until it ends; `seconds` None: no time limit."""
        response = await self._open(
            "GET",
            path,
            params=params,
            accept=accept,
            limits=aiohttp.ClientTimeout(total=seconds, sock_connect=_CONNECT_TIMEOUT),
            head_first=True,
            headers=headers,
        )
        try:
            while chunk := await response.content.readany():
                yield chunk
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable(error) from web.shown_error(error)
        finally:
            _cut(response)

    @contextlib.asynccontextmanager
    async def socket(
        self,
        path: str,
        *,
        params: Iterable[tuple[str, str]],
        protocols: Sequence[str],
        headers: Headers = (),
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """Open a WebSocket to a subresource with one of the `protocols`, the best first."""
        authorization = await self._config.credentials.authorization()
        session = await self._open_session()
        sent = self._sent.begin("GET", path)
        carried = [*_pairs(self._config.headers), *headers, *sent.headers]
        if authorization:
            carried.append(("Authorization", authorization))
        _check_headers(carried)
        try:
            async with session.ws_connect(
                self._config.server + path,
                params=list(params),
                headers=carried,
                protocols=protocols,
                proxy=self._proxy,
                server_hostname=self._config.server_name,
                max_msg_size=_MAX_MESSAGE,
            ) as opened:
                sent.ended("101")
                yield opened
        except aiohttp.WSServerHandshakeError as error:
            sent.ended(str(error.status))
            refused = await self._reason(path, params, headers, error.status)
            words = f"the API server refuses `{path}`: it answered {error.status}"
            raise (
                refused or error_from_status({"message": words}, code=error.status)
            ) from web.shown_error(error)
        except (aiohttp.ClientError, OSError) as error:
            sent.ended(FAILED)
            raise self._unreachable(error) from web.shown_error(error)
        finally:
            sent.given_up()

    async def _reason(
        self, path: str, params: Iterable[tuple[str, str]], headers: Headers, code: int
    ) -> ClusterError | None:
        """Return why the server does not upgrade a connection; None if it gives no reason.

        That response cannot be read, so the request is repeated without the upgrade, which starts
        no command.
        """
        limits = aiohttp.ClientTimeout(total=_CONNECT_TIMEOUT)
        target = f"{path}?{urlencode(list(params))}"
        try:
            async with asyncio.timeout(_CONNECT_TIMEOUT):
                (await self._open("GET", target, limits=limits, headers=headers)).release()
        except ClusterError as error:
            return error if error.code == code and "pgrade" not in str(error) else None
        except TimeoutError:
            pass
        return None

    async def _open(
        self,
        method: str,
        path: str,
        *,
        limits: aiohttp.ClientTimeout,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        head_first: bool = False,
        headers: Headers = (),
    ) -> aiohttp.ClientResponse:
        """Return the response's head after the server has accepted the request.

        `head_first`: the body takes long, so the head has its own time limit, and the body is not
        compressed.
        """
        fresh = False
        attempt = 0
        delay = 0.0
        while True:
            sent = self._sent.begin(method, path)
            try:
                async with asyncio.timeout(REQUEST_TIMEOUT if head_first else None):
                    authorization = await self._config.credentials.authorization()
                    response = await self._send_once(
                        method,
                        path,
                        authorization,
                        params=params,
                        body=body,
                        content_type=content_type,
                        accept=accept,
                        limits=limits,
                        plain=head_first,
                        more=[*headers, *sent.headers],
                    )
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                sent.ended(FAILED)
                raise self._unreachable(error) from web.shown_error(error)
            except BaseException:
                sent.given_up()
                raise
            sent.ended(str(response.status))
            self._log_warnings(response)
            if response.status < 400:
                return response
            refused = await self._refusal(response, authorization)
            if (
                isinstance(refused, Unauthorized)
                and not fresh
                and self._config.credentials.refused(authorization)
            ):
                fresh = True
                continue
            attempt += 1
            if refused.retry_after is None or not refused.temporary:
                raise refused
            if isinstance(refused, TooLargeResourceVersion) or refused.is_of_webhook:
                raise refused  # the caller can do something else immediately
            delay += refused.retry_after
            if attempt > _MAX_RETRIES or delay > _MAX_DELAY:
                raise refused
            await asyncio.sleep(refused.retry_after)

    async def _send_once(
        self,
        method: str,
        path: str,
        authorization: str | None,
        *,
        params: Mapping[str, str] | None,
        body: bytes | None,
        content_type: str,
        accept: str,
        limits: aiohttp.ClientTimeout,
        plain: bool,
        more: Headers,
    ) -> aiohttp.ClientResponse:
        headers = [("Accept", accept), *_pairs(self._config.headers), *more]
        if plain:
            headers.append(("Accept-Encoding", "identity"))
        if authorization:
            headers.append(("Authorization", authorization))
        _check_headers(headers)
        if body is not None:
            headers.append(("Content-Type", content_type))
        session = await self._open_session()
        return await session.request(
            method,
            self._config.server + path,
            params=params,
            data=body,
            headers=headers,
            timeout=limits,
            proxy=self._proxy,
            server_hostname=self._config.server_name,
            allow_redirects=False,
        )

    async def _open_session(self) -> aiohttp.ClientSession:
        certificate = self._config.credentials.certificate()
        old = self._session
        if old is not None and certificate == self._certificate and not self._has_new_authority():
            return old
        context = self._config.ssl_context(certificate)
        self._certificate = certificate
        self._authority = self._config.authority()
        self._proxy = self._config.proxy or proxies.proxy_for(self._config.server, os.environ)
        if self._proxy is not None and urlsplit(self._proxy).scheme not in ("http", "https"):
            raise ConfigurationError(
                "the proxy for the API server does not answer with HTTP",
                hint="correct `https_proxy`, or list the API server in `no_proxy`",
            )
        self._session = made = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0,  # each watch needs a connection, and workers need theirs
                ssl=context if context is not None else True,
                socket_factory=_socket,
            ),
            headers={"User-Agent": self._user_agent},
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        # An exec plug-in returned a new client certificate; running requests keep the old one.
        ended, self._retired = self._retired, old
        if ended is not None:
            await ended.close()
        return made

    def _has_new_authority(self) -> bool:
        """Return whether the CA was renewed; checked if a certificate did not match the old one."""
        asked, self._is_distrusted = self._is_distrusted, False
        return asked and self._config.authority() != self._authority

    async def _refusal(
        self, response: aiohttp.ClientResponse, authorization: str | None
    ) -> ClusterError:
        try:
            body = await _read(response, limit=1024 * 1024)
        except (aiohttp.ClientError, TimeoutError, ClusterError):
            body = b""
        finally:
            response.release()
        try:
            status = json.loads(body)
        except (ValueError, RecursionError):
            status = None
        if not isinstance(status, dict) or status.get("kind") != "Status":
            words = body[:200].decode("utf-8", "replace").strip()
            status = {"message": f"the API server answered {response.status}: {words}".rstrip(": ")}
        error = error_from_status(
            status, code=response.status, retry_after=_retry_after(response.headers)
        )
        return failures.explain(error, host=self.host, authorization=authorization)

    def _log_warnings(self, response: aiohttp.ClientResponse) -> None:
        """Log the server's warnings, each message once."""
        for header in response.headers.getall("Warning", ()):
            found = _WARNING.match(header)
            text = found["text"].replace('\\"', '"') if found else ""
            if text and text not in self._warned and len(self._warned) < _MAX_WARNINGS:
                self._warned.add(text)
                _LOG.warning("the API server warns: %s", text, extra={"warning": text})

    def _unreachable(self, error: BaseException) -> ClusterError:
        self._is_distrusted = self._is_distrusted or failures.is_distrust(error)
        return failures.unreachable(error, self.host)


def _cut(response: aiohttp.ClientResponse) -> None:
    """End a stream that may continue, without waiting for the other end.

    Closing TLS waits for the server's close notification, and often the loop has ended by then.
    """
    transport = response.connection.transport if response.connection is not None else None
    response.close()
    if transport is not None:
        transport.abort()


async def _read(response: aiohttp.ClientResponse, limit: int = _MAX_BODY) -> bytes:
    parts: list[bytes] = []
    size = 0
    while chunk := await response.content.readany():
        size += len(chunk)
        if size > limit:
            raise ClusterError(f"the API server's answer is larger than {limit >> 20} MiB")
        parts.append(chunk)
    return b"".join(parts)


def _check_headers(headers: list[tuple[str, str]]) -> None:
    """Reject invalid headers here, because the library's error would show a secret."""
    for name, value in headers:
        if _UNFIT.search(value):
            raise ConfigurationError(f"the value of `{name}` cannot be sent in an HTTP header")


def _pairs(headers: Any) -> list[tuple[str, str]]:
    return list(headers.items() if isinstance(headers, Mapping) else headers)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    try:
        seconds = float(headers["Retry-After"])
    except (KeyError, ValueError):
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _socket(address: tuple[Any, ...]) -> socket.socket:
    """Return a socket that detects a lost peer within a minute."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family=family, type=kind, proto=protocol)
    made.setblocking(False)
    if family in (socket.AF_INET, socket.AF_INET6):
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
            if hasattr(socket, option):
                made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
