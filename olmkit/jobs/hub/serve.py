"""Serve a hub: the same pages as in a folder, rendered on request.

A changed catalog or previewed bundle replaces the old one at once; if it cannot be read, the old
pages are still served.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from olmkit.base.diagnostics import OlmkitError
from olmkit.edges import folder as folders
from olmkit.edges.network import http_server
from olmkit.edges.network.hub_server import HubApi
from olmkit.hub.builds.files import Look
from olmkit.hub.builds.on_request import OnRequest
from olmkit.hub.looks.environment import IMAGE_POLICY, POLICY
from olmkit.jobs.catalog.serving import changes
from olmkit.jobs.hub import sources
from olmkit.jobs.hub.options import SourceOptions

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access

_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_PREVIOUS: Final = "This page shows its previous state."
_QUIET: Final = 0.5  # seconds between two checks of the previewed bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """`reload`: seconds between two checks for changes; 0: none. `bundle` is also previewed."""

    host: str = "127.0.0.1"
    port: int = 8080
    title: str = ""
    reload: float = 2.0
    bundle: Path | None = None
    source: SourceOptions = field(default_factory=SourceOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """The running server."""

    address: str
    packages: int
    pages: int
    failed: tuple[str, ...]


async def serve(
    references: Sequence[str],
    options: ServeOptions,
    access: Access,
    *,
    ready: Callable[[Serving], None],
    failed: Callable[[OlmkitError], None],
    stop: asyncio.Event,
) -> None:
    """Serve until `stop` is set; `ready` is called at the start and after each change.

    Raises `InputError` for a catalog that cannot be read at the start, and `ConfigurationError` if
    the server cannot listen on the address.
    """
    # The state is read first, so that a change during the read is detected.
    known = await _states(references, options, access) if options.reload else {}
    site = await _site(references, options, access)
    api = HubApi(policy=POLICY, image_policy=IMAGE_POLICY, is_local=options.host in _LOOPBACK)
    listener = http_server.HttpServer(
        "the hub", api.application, (options.host or None, options.port)
    )
    _answer_from(api, site)
    running = asyncio.ensure_future(listener.run())
    stopping = asyncio.ensure_future(stop.wait())
    watching: asyncio.Future[None] | None = None
    try:
        await listener.wait_until_ready()
        if running.done():
            running.result()
        address = _address(options.host, listener.port)
        ready(_describe_server(address, site))

        def changed(now: OnRequest) -> None:
            nonlocal site
            site = now
            _answer_from(api, now)
            ready(_describe_server(address, now))

        def unreadable(error: OlmkitError) -> None:
            site.say(
                f"The catalog changed and cannot be read: {error.message}. {_PREVIOUS}", _revision()
            )
            _answer_from(api, site)
            failed(error)

        waiting: list[asyncio.Future[Any]] = [running, stopping]
        if options.reload:
            watching = asyncio.ensure_future(
                _watch(references, options, access, known, changed, unreadable)
            )
            waiting.append(watching)
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for one in (running, watching):
            if one is not None and one.done():
                one.result()
    finally:
        for task in (running, stopping, watching):
            if task is not None:
                task.cancel()
        await asyncio.wait([running])


async def _site(references: Sequence[str], options: ServeOptions, access: Access) -> OnRequest:
    found = await sources.read(references, options.source, access, bundle=options.bundle)
    title = options.title or ", ".join(one.name for one in found)
    is_live = bool(options.reload) and options.host in _LOOPBACK
    look = Look(title=title, is_live=is_live)
    return await asyncio.to_thread(OnRequest, found, look, _revision())


def _revision() -> str:
    return secrets.token_hex(8)


def _answer_from(api: HubApi, site: OnRequest) -> None:
    api.moved = site.moved
    api.answer_from(site.find)


async def _watch(
    references: Sequence[str],
    options: ServeOptions,
    access: Access,
    known: Mapping[str, str],
    changed: Callable[[OnRequest], None],
    failed: Callable[[OlmkitError], None],
) -> None:
    """Check for changes from the `known` state until cancelled.

    Files that are being written are read once they are stable.
    """
    while True:
        await asyncio.sleep(options.reload)
        now = await _states(references, options, access)
        if now == known or "" in now.values():
            continue
        await asyncio.sleep(min(options.reload, _QUIET))
        if await _states(references, options, access) != now:
            continue
        known = now
        try:
            changed(await _site(references, options, access))
        except OlmkitError as error:
            failed(error)


async def _states(
    references: Sequence[str], options: ServeOptions, access: Access
) -> Mapping[str, str]:
    found = {one: await changes.state(one, access) for one in references}
    if options.bundle is not None:
        try:
            found["\0"] = await asyncio.to_thread(folders.fingerprint, options.bundle)
        except OSError:
            found["\0"] = ""
    return found


def _describe_server(address: str, site: OnRequest) -> Serving:
    return Serving(address=address, packages=site.packages, pages=site.pages, failed=site.failed)


def _address(host: str, port: int) -> str:
    shown = f"[{host}]" if ":" in host else host or "0.0.0.0"  # noqa: S104
    return f"http://{shown}:{port}/"
