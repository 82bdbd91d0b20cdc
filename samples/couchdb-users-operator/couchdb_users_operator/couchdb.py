"""The database server: a session, and its users. This module is independent of Kubernetes.

CouchDB stores a user as a document of the database `_users`. A change names the revision
that was read, so that it is refused if another client changed the user in between.
https://docs.couchdb.org/en/stable/intro/security.html
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote

import aiohttp

_LOG = logging.getLogger(__name__)
_LIMITS = aiohttp.ClientTimeout(total=20)


class DatabaseError(Exception):
    """The server cannot be reached, or refuses; the message contains no secret."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The address of the server, and the operator's credentials there."""

    url: str
    name: str
    password: str


class CouchDB:
    """One session for the whole process: opened before the controllers, closed after them.

    It is a context of the manager. The session is a cookie, which CouchDB renews; if it is
    missing or has expired, for example after a restart of the server, the next request opens one.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._http: aiohttp.ClientSession | None = None
        self._login = asyncio.Lock()
        self._logins = 0

    async def __aenter__(self) -> Self:
        # Also keep cookies of a server with an IP address as its name.
        jar = aiohttp.CookieJar(unsafe=True)
        self._http = aiohttp.ClientSession(timeout=_LIMITS, cookie_jar=jar)
        await self._open()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._http is not None:
            async with self._http:
                with contextlib.suppress(DatabaseError):
                    await self._send("DELETE", "/_session")
            self._http = None

    async def user(self, name: str) -> dict[str, Any] | None:
        """Return the document of a user, or None."""
        status, found = await self._ask("GET", _path(name))
        if status == 404:
            return None
        return _checked(status, found)

    async def put(self, document: Mapping[str, Any]) -> None:
        """Create a user, or change the one with the revision `_rev`."""
        status, said = await self._ask("PUT", _path(document["name"]), json=dict(document))
        _checked(status, said)

    async def delete(self, name: str, revision: str) -> None:
        """Delete the user with this revision; a missing one is accepted."""
        status, said = await self._ask("DELETE", _path(name), params={"rev": revision})
        if status != 404:
            _checked(status, said)

    async def _open(self) -> None:
        """Open the session; if the server is not reachable, the first request does it."""
        try:
            await self._log_in()
        except DatabaseError as error:
            _LOG.warning("no session yet", extra={"error": str(error)})

    async def _log_in(self) -> None:
        account = {"name": self._settings.name, "password": self._settings.password}
        status, said = await self._send("POST", "/_session", json=account)
        _checked(status, said)
        self._logins += 1

    async def _ask(self, method: str, path: str, **more: Any) -> tuple[int, dict[str, Any]]:
        """Send a request within the session; if it has expired, retry once with a new one."""
        logins = self._logins
        status, said = await self._send(method, path, **more)
        if status != 401:
            return status, said
        async with self._login:
            if logins == self._logins:  # of many refused requests, one logs in
                await self._log_in()
        return await self._send(method, path, **more)

    async def _send(self, method: str, path: str, **more: Any) -> tuple[int, dict[str, Any]]:
        if self._http is None:
            raise DatabaseError("there is no session")
        try:
            async with self._http.request(method, self._settings.url + path, **more) as response:
                said = await response.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise DatabaseError(f"the database does not answer: {type(error).__name__}") from error
        return response.status, said if isinstance(said, dict) else {}


def _path(name: str) -> str:
    return "/_users/" + quote(f"org.couchdb.user:{name}", safe="")


def _checked(status: int, said: dict[str, Any]) -> dict[str, Any]:
    if status >= 400:
        raise DatabaseError(f"{said.get('error', status)}: {said.get('reason', 'refused')}")
    return said
