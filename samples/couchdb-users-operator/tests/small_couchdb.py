"""A small CouchDB on loopback: sessions, and the documents of `_users`."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


class SmallCouchDB:
    """Answers as CouchDB does; tests can read and change `sessions` and `users`."""

    def __init__(self, name: str, password: str) -> None:
        self.url = ""
        self.sessions: set[str] = set()
        self.logins = 0
        self.users: dict[str, dict[str, Any]] = {}
        self.passwords: dict[str, str] = {}
        self.writes = 0
        self.is_down = False
        self._account = {"name": name, "password": password}

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[SmallCouchDB]:
        app = web.Application(middlewares=[self._guard])
        app.router.add_post("/_session", self._log_in)
        app.router.add_delete("/_session", self._log_out)
        app.router.add_get("/_users/{id}", self._get)
        app.router.add_put("/_users/{id}", self._put)
        app.router.add_delete("/_users/{id}", self._delete)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        try:
            yield self
        finally:
            await runner.cleanup()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if self.is_down:
            return _said(503, "service_unavailable", "the node is in maintenance mode")
        is_login = request.method == "POST" and request.path == "/_session"
        if not is_login and request.cookies.get("AuthSession") not in self.sessions:
            return _said(401, "unauthorized", "You are not a server admin.")
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _log_in(self, request: web.Request) -> web.Response:
        if await request.json() != self._account:
            return _said(401, "unauthorized", "Name or password is incorrect.")
        token = secrets.token_hex(8)
        self.sessions.add(token)
        self.logins += 1
        answer = web.json_response({"ok": True})
        answer.set_cookie("AuthSession", token, httponly=True)
        return answer

    async def _log_out(self, request: web.Request) -> web.Response:
        self.sessions.discard(request.cookies["AuthSession"])
        return web.json_response({"ok": True})

    async def _get(self, request: web.Request) -> web.Response:
        found = self.users.get(request.match_info["id"])
        return web.json_response(found) if found else _said(404, "not_found", "missing")

    async def _put(self, request: web.Request) -> web.Response:
        key, document = request.match_info["id"], await request.json()
        found = self.users.get(key)
        if document.get("_rev") != (found or {}).get("_rev"):
            return _said(409, "conflict", "Document update conflict.")
        if password := document.pop("password", None):
            self.passwords[key] = password
            document["derived_key"] = secrets.token_hex(8)
        self.writes += 1
        document["_rev"] = f"{self.writes}-{secrets.token_hex(8)}"
        self.users[key] = document
        return web.json_response({"ok": True, "id": key, "rev": document["_rev"]}, status=201)

    async def _delete(self, request: web.Request) -> web.Response:
        key = request.match_info["id"]
        found = self.users.get(key)
        if found is None:
            return _said(404, "not_found", "missing")
        if request.query.get("rev") != found["_rev"]:
            return _said(409, "conflict", "Document update conflict.")
        del self.users[key]
        return web.json_response({"ok": True})


def _said(status: int, error: str, reason: str) -> web.Response:
    return web.json_response({"error": error, "reason": reason}, status=status)
