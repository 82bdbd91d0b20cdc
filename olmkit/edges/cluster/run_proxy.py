"""A proxy of the API server on loopback, with a separate path for each process.

Each grant has a random token in its path; other paths are refused, and the token is revoked when
the grant ends. Credentials in a request are dropped, and the operator's are used: a process never
gets more permissions than the operator has. The token is in the URL path, because not all clients
send headers or users over plain HTTP.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from olmkit.base.diagnostics import OlmkitError
from olmkit.edges.cluster.connection import Connection
from olmkit.edges.network.http_server import HttpServer
from olmkit.edges.network.server_library import web

_LOG = logging.getLogger(__name__)
_PREFIX = "/run/"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
_SENT = ("accept", "accept-encoding", "content-type", "user-agent")
_RETURNED = ("content-type", "content-encoding", "retry-after", "warning", "etag")
_PLACES = re.compile(r"/(api|apis|openapi|version|healthz|livez|readyz)(/|$)")
_STEP_UP = re.compile(r"(?:\.|%2[eE]){1,2}")
_BODY = 32 << 20  # bytes of a request
_KEPT = 16 << 20  # bytes of a response that are inspected
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantedRequest:
    """A request of a process: `path` and `query` as received."""

    method: str
    path: str
    query: str = ""
    content_type: str = ""
    body: bytes | None = None

    @property
    def is_watch(self) -> bool:
        """Return whether the request is a watch, whose response does not end by itself."""
        return bool(re.search(r"(^|&)(watch|follow)=(true|1)(&|$)", self.query))


@dataclass(eq=False)
class RefusedRequestError(Exception):
    """The request is not allowed; the message says why."""

    message: str


class GrantPolicy(Protocol):
    """Checks the requests of one grant."""

    async def prepared(self, request: GrantedRequest) -> GrantedRequest:
        """Return the request to forward; raise `RefusedRequestError`."""

    async def answered(self, request: GrantedRequest, status: int, body: bytes) -> None:
        """Process the JSON of a response, unless it is a stream or very large."""


class RunProxy:
    """A runnable that serves until it is cancelled; call `grant` while it runs."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._grants: dict[str, GrantPolicy] = {}
        application = web.Application(client_max_size=_BODY)
        application.router.add_route("*", "/{rest:.*}", self._answer)
        self._server = HttpServer("the proxy of runs", application, ("127.0.0.1", 0))

    async def run(self) -> None:
        """Serve until cancelled."""
        try:
            await self._server.run()
        finally:
            await self._connection.close()

    async def wait_until_ready(self) -> None:
        """Return when it listens."""
        await self._server.wait_until_ready()

    @contextlib.contextmanager
    def grant(self, access: GrantPolicy) -> Iterator[str]:
        """Return the URL of the API server for this access, until the end of the block."""
        token = secrets.token_urlsafe(32)
        self._grants[token] = access
        try:
            yield f"http://127.0.0.1:{self._server.port}{_PREFIX}{token}"
        finally:
            del self._grants[token]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        raw, _, query = request.raw_path.partition("?")
        token, slash, rest = raw.removeprefix(_PREFIX).partition("/")
        access = self._grants.get(token) if raw.startswith(_PREFIX) else None
        if access is None:
            return _refusal(403, "this path belongs to no run")
        path = slash + rest
        if request.method not in _METHODS or not _is_plain(path):
            return _refusal(403, f"a run may not send `{request.method}` to this path")
        if "upgrade" in request.headers:
            return _refusal(501, "connections to containers are not passed through")
        asked = GrantedRequest(
            method=request.method,
            path=path,
            query=query,
            content_type=request.headers.get("Content-Type", ""),
            body=await request.read() if request.can_read_body else None,
        )
        try:
            sent = await access.prepared(asked)
            return await self._forward(request, sent, access)
        except RefusedRequestError as error:
            return _refusal(403, error.message)
        except OlmkitError as error:
            _LOG.warning("request of a run failed", extra={"error": error.message})
            return _refusal(503, error.message)

    async def _forward(
        self, request: web.Request, sent: GrantedRequest, access: GrantPolicy
    ) -> web.StreamResponse:
        headers = {name: request.headers[name] for name in _SENT if name in request.headers}
        if sent.content_type:
            headers["content-type"] = sent.content_type
        # Inspected responses are not compressed.
        headers["accept-encoding"] = "identity"
        target = sent.path + (f"?{sent.query}" if sent.query else "")
        async with self._connection.forward(
            sent.method, target, headers=headers, body=sent.body
        ) as answer:
            found = {name: answer.headers[name] for name in _RETURNED if name in answer.headers}
            made = web.StreamResponse(status=answer.status, headers=found)
            if answer.content_length is not None and request.method != "HEAD":
                made.content_length = answer.content_length
            await made.prepare(request)
            stream = answer.content.iter_chunked(_CHUNK)
            if _is_kept(sent, found):
                # Inspected before the run sees it: secrets must be known before they can be
                # printed.
                kept = bytearray()
                async for chunk in stream:
                    kept += chunk
                    if len(kept) > _KEPT:
                        break
                else:
                    await access.answered(sent, answer.status, bytes(kept))
                await made.write(bytes(kept))
            async for chunk in stream:
                await made.write(chunk)
            await made.write_eof()
            return made


def with_body(request: GrantedRequest, value: object) -> GrantedRequest:
    """Return the request with this value as its JSON body."""
    return replace(request, body=json.dumps(value).encode())


def _is_kept(request: GrantedRequest, headers: Mapping[str, str]) -> bool:
    kind = headers.get("content-type", "")
    return kind.startswith("application/json") and not request.is_watch


def _is_plain(path: str) -> bool:
    """Return whether the path is an API path without segments such as `..`."""
    steps = path.split("/")
    return bool(_PLACES.match(path)) and not any(_STEP_UP.fullmatch(one) for one in steps)


def _refusal(code: int, message: str) -> web.Response:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": {403: "Forbidden", 501: "NotImplemented"}.get(code, "ServiceUnavailable"),
        "code": code,
    }
    return web.json_response(status, status=code)
