"""Serves the metrics of a process to users whom the cluster authorizes.

It replaces the kube-rbac-proxy sidecar: the API server reviews the bearer token (TokenReview), then
whether the user may `get` the path (SubjectAccessReview). The results are cached by a hash of the
token, never by the token.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar

from olmkit.base.diagnostics import OlmkitError
from olmkit.edges.network import metrics_page
from olmkit.edges.network.http_server import HttpServer
from olmkit.edges.network.server_library import web
from olmkit.kube.api import Cluster, ClusterError
from olmkit.kube.objects import Manifest
from olmkit.runtime.metrics import Registry

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

_REVIEW_TIMEOUT = 10.0
_KNOWN_TOKEN = 60.0
_ALLOWED = 300.0
_DENIED = 30.0
_TRIES, _PAUSE, _FACTOR = 5, 0.5, 1.5
_MAX_KEPT = 1024


class AccessReviewer:
    """Decides who may read a path: 200, 401, 403, or 500 if the API server cannot be reached."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._users: _Kept[Mapping[str, Any] | None] = _Kept()
        self._verdicts: _Kept[bool] = _Kept()

    async def verdict(self, authorization: str, *, path: str, verb: str) -> int:
        """Return the HTTP status for a request with this `Authorization` header."""
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token or not token.isascii():
            return 401
        secret = hashlib.sha256(token.encode()).hexdigest()
        try:
            async with asyncio.timeout(_REVIEW_TIMEOUT):
                user = await self._users.get(secret, lambda: self._authenticate(token))
                if user is None:
                    return 401
                key = f"{secret} {verb} {path}"
                allowed = await self._verdicts.get(
                    key, lambda: self._authorize(user, path=path, verb=verb)
                )
        except (OlmkitError, TimeoutError) as error:
            _LOG.error("cannot review access", extra={"error": str(error) or "timed out"})
            return 500
        return 200 if allowed else 403

    async def _authenticate(self, token: str) -> tuple[Mapping[str, Any] | None, float]:
        status = await self._review("authentication.k8s.io/v1", "TokenReview", {"token": token})
        user = status.get("user")
        known = status.get("authenticated") is True and isinstance(user, Mapping)
        return (user if known else None), _KNOWN_TOKEN

    async def _authorize(
        self, user: Mapping[str, Any], *, path: str, verb: str
    ) -> tuple[bool, float]:
        spec: dict[str, Any] = {
            "user": user.get("username", ""),
            "groups": user.get("groups") or [],
            "uid": user.get("uid", ""),
            "extra": user.get("extra") or {},
            "nonResourceAttributes": {"path": path, "verb": verb},
        }
        status = await self._review("authorization.k8s.io/v1", "SubjectAccessReview", spec)
        allowed = status.get("allowed") is True
        return allowed, _ALLOWED if allowed else _DENIED

    async def _review(self, api_version: str, kind: str, spec: Manifest) -> Mapping[str, Any]:
        review: Manifest = {"apiVersion": api_version, "kind": kind, "metadata": {}, "spec": spec}
        pause = _PAUSE
        for tried in range(1, _TRIES + 1):
            try:
                resource = await self._cluster.resource(api_version, kind)
                answer = await self._cluster.create(resource, review)
            except ClusterError as error:
                if not error.temporary or tried == _TRIES:
                    raise
                await asyncio.sleep(pause)
                pause *= _FACTOR
            else:
                status = answer.get("status")
                return status if isinstance(status, Mapping) else {}
        raise AssertionError("unreachable")


class _Kept(Generic[T]):
    """A bounded cache of review results that expire."""

    def __init__(self) -> None:
        self._answers: dict[str, tuple[T, float]] = {}

    async def get(self, key: str, ask: Callable[[], Awaitable[tuple[T, float]]]) -> T:
        now = asyncio.get_running_loop().time()
        found = self._answers.get(key)
        if found is not None and now < found[1]:
            return found[0]
        answer, seconds = await ask()
        self._answers.pop(key, None)
        while len(self._answers) >= _MAX_KEPT:
            self._answers.pop(next(iter(self._answers)))
        self._answers[key] = (answer, now + seconds)
        return answer


def server(
    address: tuple[str | None, int],
    registry: Registry,
    *,
    tls: ssl.SSLContext | None = None,
    access: AccessReviewer | None = None,
) -> HttpServer:
    """Return a server for `/metrics`, with the metrics of the registry and of the process.

    `access` protects every path of this server, including unknown ones.
    """

    @web.middleware
    async def guard(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if access is not None:
            status = await access.verdict(
                request.headers.get("Authorization", ""),
                path=request.path,
                verb=request.method.lower(),
            )
            if status != 200:
                headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
                return web.Response(status=status, text=_WORDS[status], headers=headers)
        return await handler(request)

    application = web.Application(middlewares=[guard])
    metrics_page.add(application, registry.expose)
    return HttpServer("metrics", application, address, tls=tls)


_WORDS = {
    401: "a valid bearer token is needed",
    403: "this user may not read the path",
    500: "the API server did not answer the access review",
}
