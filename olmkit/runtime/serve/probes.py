"""Liveness and readiness probes.

Each check has a name and its own path below `/healthz` or `/readyz`; these two paths run all their
checks. The reason of a failed check is in the log and not in the response, since probes have no
credentials. Readiness does not depend on leadership: a replica that waits for it is ready,
otherwise a rollout would never finish.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping

from olmkit.edges.network.http_server import HttpServer
from olmkit.edges.network.server_library import web
from olmkit.runtime.manager import Manager
from olmkit.runtime.watch.cache import Cache

_LOG = logging.getLogger(__name__)

Check = Callable[[], Awaitable[None]]
"""A check: it passes if it returns, and fails if it raises an error."""


class CheckFailed(Exception):  # noqa: N818 - a fact, not a fault
    """A check failed; the message is the reason."""


async def ping() -> None:
    """Pass if the event loop responds."""


def manager_ready(manager: Manager) -> Check:
    """Return a check that passes once caches are filled and all but the leader's part runs."""

    async def check() -> None:
        if not manager.ready:
            raise CheckFailed("the manager is starting or stopping")

    return check


def informers_synced(cache: Cache) -> Check:
    """Return a check that passes once every watched kind was listed."""

    async def check() -> None:
        missing = ", ".join(str(informer.gvk) for informer in cache.unsynced())
        if missing:
            raise CheckFailed(f"not yet listed: {missing}")

    return check


def loop_keeps_up(manager: Manager, *, limit: float = 5.0) -> Check:
    """Return a check that fails if the event loop was blocked for more than `limit` seconds."""

    async def check() -> None:
        behind = manager.lag.behind()
        if behind > limit:
            raise CheckFailed(f"the event loop was blocked for {behind:.1f} s")

    return check


def watches_granted(cache: Cache) -> Check:
    """Return a check that fails if the API server refuses to list a kind.

    Use it for readiness: without a permission or a CRD the operator cannot work, and a restart
    would not help. Kinds that were not listed for other reasons do not fail the check: their lists
    may wait for a conversion webhook, which reaches only ready pods.
    """

    async def check() -> None:
        refused = "; ".join(str(one.refusal) for one in cache.informers if one.refusal)
        if refused:
            raise CheckFailed(f"the server refuses: {refused}")

    return check


def watches_kept(cache: Cache, *, patience: float = 300.0) -> Check:
    """Return a check that fails if a watch has been failing for more than `patience` seconds.

    A watch that the server accepts is healthy, even without events. The check fails only if the
    server cannot be reached or rejects the watch, so that the cache becomes stale. Use it for
    liveness: a restarted process gets a new connection and new credentials. `watches_granted`
    covers watches that the server rejected from the start.
    """

    async def check() -> None:
        now = asyncio.get_running_loop().time()
        lost = sorted(name for name, last in _failing(cache) if now - last > patience)
        if lost:
            raise CheckFailed(f"failing for {patience:g} s: {', '.join(lost)}")

    return check


def _failing(cache: Cache) -> Iterator[tuple[str, float]]:
    """Yield the watches that are failing, and when each last worked."""
    for informer in cache.informers:
        if informer.refusal is not None:
            continue
        form = " (metadata)" if informer.metadata_only else ""
        for namespace, contact in informer.contacts():
            if contact.failure is not None:
                place = f" in {namespace}" if namespace else ""
                yield f"{informer.gvk}{form}{place}", contact.last


def server(
    address: tuple[str | None, int],
    *,
    live: Mapping[str, Check] | None = None,
    ready: Mapping[str, Check] | None = None,
    live_path: str = "/healthz",
    ready_path: str = "/readyz",
) -> HttpServer:
    """Return a server for both paths; a path without checks returns 404."""
    application = web.Application()
    for path, checks in ((live_path, live), (ready_path, ready)):
        if checks:
            _Probe(path, checks).add_to(application.router)
    return HttpServer("probes", application, address)


class _Probe:
    """One probe path and the paths of its checks."""

    def __init__(self, path: str, checks: Mapping[str, Check]) -> None:
        self._path = path
        self._word = path.strip("/")
        self._checks = checks
        self._reasons: dict[str, str] = {}  # the logged reasons of failed checks

    def add_to(self, router: web.UrlDispatcher) -> None:
        router.add_get(self._path, self._all)
        router.add_get(f"{self._path}/", self._all)
        for name in self._checks:
            router.add_get(f"{self._path}/{name}", functools.partial(self._one, name))

    async def _all(self, request: web.Request) -> web.Response:
        excluded = set(request.query.getall("exclude", ()))
        lines, is_well = [], True
        for name in sorted(self._checks):
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
            elif await self._passes(name):
                lines.append(f"[+]{name} ok")
            else:
                is_well = False
                lines.append(f"[-]{name} failed: reason withheld")
        unknown = sorted(excluded - self._checks.keys())
        if unknown:
            named = ", ".join(f'"{name}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {named}")
        if is_well and "verbose" not in request.query:
            return _answer("ok", 200)
        lines.append(f"{self._word} check {'passed' if is_well else 'failed'}")
        return _answer("".join(f"{line}\n" for line in lines), 200 if is_well else 500)

    async def _one(self, name: str, _: web.Request) -> web.Response:
        if await self._passes(name):
            return _answer("ok", 200)
        return _answer(f"[-]{name} failed: reason withheld\n", 500)

    async def _passes(self, name: str) -> bool:
        facts = {"probe": self._word, "check": name}
        try:
            await self._checks[name]()
        except Exception as error:
            # The probe runs every few seconds; each reason is logged once.
            if self._reasons.get(name) != str(error):
                self._reasons[name] = str(error)
                _LOG.warning("check failed", extra=facts | {"error": str(error)})
            return False
        if self._reasons.pop(name, None) is not None:
            _LOG.info("check passes again", extra=facts)
        return True


def _answer(text: str, status: int) -> web.Response:
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache"}
    return web.Response(text=text, status=status, headers=headers)
