"""What the kubelet asks: is the process alive, and is it ready.

Checks have names; each has its own path below `/healthz` or `/readyz`, and the
two paths ask all of theirs. Why a check fails stands in the log and not in the
answer, since probes ask without credentials. Leadership is no part of
readiness: a replica that waits for it is ready, or a rollout would never end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from olmkit.runtime.cache import Cache
from olmkit.runtime.manager import Manager
from olmkit.runtime.serving import HttpServer

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


def watches_kept(cache: Cache, *, patience: float = 300.0) -> Check:
    """No watch has been failing for more than `patience` seconds.

    A watch on which nothing happens is well; one that cannot be begun again serves ever
    older objects. For liveness: a new process gets a new connection and new credentials.
    """
    failing: dict[str, float] = {}

    async def check() -> None:
        now = asyncio.get_running_loop().time()
        found = {
            name: failing.get(name, now) if contact is None else contact
            for name, contact in _failing(cache)
        }
        failing.clear()
        failing.update(found)
        lost = [name for name, since in found.items() if now - since > patience]
        if lost:
            raise CheckFailed(f"not kept for {patience:g} s: {', '.join(sorted(lost))}")

    return check


def _failing(cache: Cache) -> list[tuple[str, float | None]]:
    """Watches with an error since their last contact, and when that was."""
    found: list[tuple[str, float | None]] = []
    for informer in cache.informers:
        form = " (metadata)" if informer.metadata_only else ""
        if informer.failure is not None:
            found.append((f"{informer.gvk}{form}", None))
        for namespace, reflector in informer.reflectors.items():
            if reflector.failure is not None:
                place = f" in {namespace}" if namespace else ""
                found.append((f"{informer.gvk}{form}{place}", reflector.last_contact))
    return found


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
            _route(application, path, checks)
    return HttpServer("probes", application, address)


def _route(application: web.Application, path: str, checks: Mapping[str, Check]) -> None:
    word = path.strip("/")

    async def ask_all(request: web.Request) -> web.Response:
        return await _all(word, checks, request)

    application.router.add_get(path, ask_all)
    application.router.add_get(f"{path}/", ask_all)
    for name, check in checks.items():
        application.router.add_get(f"{path}/{name}", _one(word, name, check))


async def _all(word: str, checks: Mapping[str, Check], request: web.Request) -> web.Response:
    excluded = set(request.query.getall("exclude", ()))
    lines, is_well = [], True
    for name in sorted(checks):
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok")
        elif await _passes(word, name, checks[name]):
            lines.append(f"[+]{name} ok")
        else:
            is_well = False
            lines.append(f"[-]{name} failed: reason withheld")
    unknown = sorted(excluded - checks.keys())
    if unknown:
        named = ", ".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {named}")
    if is_well and "verbose" not in request.query:
        return _answer("ok", 200)
    lines.append(f"{word} check {'passed' if is_well else 'failed'}")
    return _answer("".join(f"{line}\n" for line in lines), 200 if is_well else 500)


def _one(
    word: str, name: str, check: Check
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def ask(_: web.Request) -> web.Response:
        if await _passes(word, name, check):
            return _answer("ok", 200)
        return _answer(f"[-]{name} failed: reason withheld\n", 500)

    return ask


async def _passes(word: str, name: str, check: Check) -> bool:
    try:
        await check()
    except Exception as error:
        _LOG.warning("check failed", extra={"probe": word, "check": name, "error": str(error)})
        return False
    return True


def _answer(text: str, status: int) -> web.Response:
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache"}
    return web.Response(text=text, status=status, headers=headers)
