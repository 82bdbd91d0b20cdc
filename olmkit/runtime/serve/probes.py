"""The probes of the kubelet: is the process alive, and is it ready.

Checks have names; each has its own path below `/healthz` or `/readyz`, and the
two paths run all of theirs. Why a check fails is in the log and not in the
answer, since probes have no credentials. Leadership is not part of
readiness: a replica that waits for it is ready, or a rollout would never end.
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
"""Passes when it returns; the error that it raises is why it does not."""


class CheckFailed(Exception):  # noqa: N818 - a fact, not a fault
    """What a check found wrong, in words."""


async def ping() -> None:
    """The event loop answers, that is all."""


def manager_ready(manager: Manager) -> Check:
    """Caches are filled and everything but what needs leadership has started."""

    async def check() -> None:
        if not manager.ready:
            raise CheckFailed("the manager has not started yet, or is stopping")

    return check


def informers_synced(cache: Cache) -> Check:
    """Every kind that is watched has been listed once."""

    async def check() -> None:
        missing = ", ".join(str(informer.gvk) for informer in cache.unsynced())
        if missing:
            raise CheckFailed(f"not listed yet: {missing}")

    return check


def loop_keeps_up(manager: Manager, *, limit: float = 5.0) -> Check:
    """The event loop was not blocked for more than `limit` seconds at the last look."""

    async def check() -> None:
        behind = manager.lag.behind()
        if behind > limit:
            raise CheckFailed(f"the event loop was blocked for {behind:.1f} s")

    return check


def watches_granted(cache: Cache) -> Check:
    """The server refuses no kind that was not listed yet.

    For readiness: who lacks a right or a CRD does not do its work, and a new process would
    not either. Kinds that were not listed for other reasons do not count: their lists may
    wait for a conversion, which reaches only a pod that is ready.
    """

    async def check() -> None:
        refused = "; ".join(str(one.refusal) for one in cache.informers if one.refusal)
        if refused:
            raise CheckFailed(f"the server refuses: {refused}")

    return check


def watches_kept(cache: Cache, *, patience: float = 300.0) -> Check:
    """No watch has been failing for more than `patience` seconds.

    A watch that the server accepts is well, even when nothing comes on it. The check fails
    only when the server cannot be reached, or refuses the watch: then the copy of the objects
    grows old. For liveness: a new process gets a new connection and new credentials.
    What the server refused from the start is left to `watches_granted`.
    """

    async def check() -> None:
        now = asyncio.get_running_loop().time()
        lost = sorted(name for name, last in _failing(cache) if now - last > patience)
        if lost:
            raise CheckFailed(f"not kept for {patience:g} s: {', '.join(lost)}")

    return check


def _failing(cache: Cache) -> Iterator[tuple[str, float]]:
    """Watches with an error since they were last kept, and when that was."""
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
    """Serves both paths; without checks a path answers 404, as if it were not there."""
    application = web.Application()
    for path, checks in ((live_path, live), (ready_path, ready)):
        if checks:
            _Probe(path, checks).add_to(application.router)
    return HttpServer("probes", application, address)


class _Probe:
    """One path and those of its checks below it."""

    def __init__(self, path: str, checks: Mapping[str, Check]) -> None:
        self._path = path
        self._word = path.strip("/")
        self._checks = checks
        self._reasons: dict[str, str] = {}  # why checks failed, as the log knows it

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
            # It runs every few seconds; a reason is logged once.
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
