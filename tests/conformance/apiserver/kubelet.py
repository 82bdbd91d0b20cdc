"""The part of a node that serves its pods: logs, commands and ports, with known answers.

A real API server forwards these requests to the kubelet of the pod's node; the double has
handlers for them.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from aiohttp import WSMsgType, web

from olmkit.runtime.serve import certificates

if TYPE_CHECKING:
    from conftest import World

LINES = ["one", "two", "three"]
NODE = "node"


async def log(request: web.Request) -> web.StreamResponse:
    query = request.query
    lines = ["before"] if query.get("previous") == "true" else LINES
    if "tailLines" in query:
        lines = lines[-int(query["tailLines"]) :]
    if "sinceSeconds" in query:
        lines = [f"since {query['sinceSeconds']}"]
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    await response.prepare(request)
    for line in lines:
        await response.write(f"{line}\n".encode())
    if query.get("follow") == "true":
        await asyncio.sleep(0.2)
        await response.write(b"later")
    return response


async def execute(request: web.Request) -> web.StreamResponse:
    """`echo WORD…`, `false`, and `cat` of the input."""
    socket = web.WebSocketResponse(protocols=("v5.channel.k8s.io", "v4.channel.k8s.io"))
    await socket.prepare(request)
    command = request.query.getall("command")
    status: dict[str, Any] = {"status": "Success"}
    match command:
        case ["echo", *words]:
            await socket.send_bytes(b"\x01" + " ".join(words).encode())
            await socket.send_bytes(b"\x02warned")
        case ["cat"]:
            async for message in socket:
                if message.type is not WSMsgType.BINARY or message.data[:1] == b"\xff":
                    break
                await socket.send_bytes(b"\x01" + message.data[1:])
        case _:
            causes = [{"reason": "ExitCode", "message": "3"}]
            status = {
                "status": "Failure",
                "reason": "NonZeroExitCode",
                "details": {"causes": causes},
            }
    await socket.send_bytes(b"\x03" + json.dumps(status).encode())
    await socket.close()
    return socket


async def forward(request: web.Request) -> web.StreamResponse:
    """Send back all received data."""
    socket = web.WebSocketResponse(protocols=("v4.channel.k8s.io",))
    await socket.prepare(request)
    port = int(request.query.get("port") or request.query["ports"])
    for channel in (b"\x00", b"\x01"):
        await socket.send_bytes(channel + port.to_bytes(2, "little"))
    if port == 1:
        await socket.send_bytes(b"\x01nothing listens on port 1")
        await socket.close()
    async for message in socket:
        if message.type is WSMsgType.BINARY and message.data[0] == 0:
            await socket.send_bytes(b"\x00" + message.data[1:].upper())
    return socket


@asynccontextmanager
async def serving(world: World, pod: str) -> AsyncIterator[None]:
    """Answer for one pod."""
    path = world.path("pods", pod)
    if world.is_double:
        handlers = {f"{path}/log": log, f"{path}/exec": execute, f"{path}/portforward": forward}
        world.server.handlers.update(handlers)
        yield
        return
    application = web.Application()
    application.router.add_get("/containerLogs/{n}/{p}/{c}", log)
    application.router.add_route("*", "/exec/{n}/{p}/{c}", execute)
    application.router.add_route("*", "/portForward/{n}/{p}", forward)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=_tls())
    await site.start()
    port = runner.addresses[0][1]
    try:
        await world.ask("DELETE", world.path("nodes", NODE))
        await world.make("nodes", NODE)
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        answer = await world.patch("nodes", NODE, {"status": status}, sub="status")
        assert answer.status == 200, answer.body
        yield
    finally:
        await runner.cleanup()
        await asyncio.sleep(0.3)  # until TLS has ended on both sides


def _tls() -> ssl.SSLContext:
    return certificates.context(None, None)
