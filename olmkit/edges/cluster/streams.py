"""Commands in containers and ports of pods, over a WebSocket with channels.

The first byte of each message is its channel. Commands: 0 is the input, 1 the output, 2 the errors,
3 the Status with which the command ended; version 5 of the protocol can also end the input, with
channel 255. Ports: each has a channel for data and one for errors, and the first message of each
has the number of the port. Source: `remotecommand` and `portforward` of Kubernetes
(`v5.channel.k8s.io`, `v4.channel.k8s.io`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from olmkit.edges.network.http_library import aiohttp
from olmkit.kube.api import ClusterError, Unreachable

INPUT_PROTOCOLS = ("v5.channel.k8s.io",)
OUTPUT_PROTOCOLS = ("v4.channel.k8s.io",)
FORWARD_PROTOCOLS = ("v4.channel.k8s.io",)

_PART = 32 * 1024
_STDIN, _CLOSE = b"\x00", b"\xff"


async def execute(
    socket: aiohttp.ClientWebSocketResponse, stdin: bytes | None
) -> AsyncGenerator[tuple[int, bytes], None]:
    """Yield the messages of a command with their channels; `stdin` is sent meanwhile, and ended.

    Raises `ClusterError` if the server cannot end the input of a command.
    """
    if stdin is not None and socket.protocol not in INPUT_PROTOCOLS:
        raise ClusterError("the API server cannot end the input of a command: it is too old")
    sending = asyncio.create_task(_send(socket, stdin)) if stdin is not None else None
    try:
        async for message in socket:
            if message.type is aiohttp.WSMsgType.BINARY and message.data:
                yield message.data[0], message.data[1:]
    finally:
        if sending is not None:
            sending.cancel()
            # The command may end without reading all of its input.
            with contextlib.suppress(asyncio.CancelledError, aiohttp.ClientError, OSError):
                await sending


async def _send(socket: aiohttp.ClientWebSocketResponse, data: bytes) -> None:
    for start in range(0, len(data), _PART):
        await socket.send_bytes(_STDIN + data[start : start + _PART])
    await socket.send_bytes(_CLOSE + _STDIN)


class PodPipe:
    """Implements `olmkit.kube.api.Pipe` over one port of a pod."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, name: str) -> None:
        self._socket = socket
        self._name = name
        self._begun: set[int] = set()

    async def read(self) -> bytes:
        """Return the received data, at least one byte, or empty at the end."""
        async for message in self._socket:
            if message.type is not aiohttp.WSMsgType.BINARY or not message.data:
                continue
            channel, data = message.data[0], message.data[1:]
            if channel not in self._begun:
                self._begun.add(channel)  # the number of the port
                data = data[2:]
            if channel == 1 and data:
                raise ClusterError(f"{self._name}: {data.decode('utf-8', 'replace').strip()}")
            if channel == 0 and data:
                return bytes(data)
        return b""

    async def write(self, data: bytes) -> None:
        """Send data; raises `ClusterError` if the connection has ended."""
        try:
            for start in range(0, len(data), _PART):
                await self._socket.send_bytes(_STDIN + data[start : start + _PART])
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable(f"{self._name}: the connection has ended", temporary=True) from error
