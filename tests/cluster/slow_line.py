"""A slow connection to the API server: what the client sends arrives some milliseconds later.

    slow_line.py OWN-HOST:PORT HOST:PORT MILLISECONDS

OLM v0 repeats its checks of a ClusterServiceVersion that is being installed without any pause,
and lists three kinds of objects each time. Next to the API server, that is a hundred checks per
second, for which OLM, the API server and etcd use a whole core until the pods are ready. Over a
line like that of a real cluster, OLM does the same work with far fewer repetitions.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque


class Server(asyncio.Protocol):
    """The connection to the API server. Its answers are not delayed."""

    def __init__(self, client: asyncio.Transport) -> None:
        self._client = client

    def data_received(self, data: bytes) -> None:
        self._client.write(data)

    def connection_lost(self, _: Exception | None) -> None:
        self._client.close()


class Client(asyncio.Protocol):
    """The connection of a client. `target` is the API server's host and port."""

    def __init__(self, target: tuple[str, int], delay: float) -> None:
        self._target = target
        self._delay = delay
        self._waiting: deque[bytes] = deque()
        self._server: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._connecting = asyncio.ensure_future(self._connect())

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._server, _ = await loop.create_connection(
                lambda: Server(self._transport), *self._target
            )
        except OSError:
            self._transport.close()
            return
        while self._waiting:
            self._server.write(self._waiting.popleft())

    def data_received(self, data: bytes) -> None:
        self._waiting.append(data)
        asyncio.get_running_loop().call_later(self._delay, self._pass_on)

    def _pass_on(self) -> None:
        if self._server is not None and self._waiting:
            self._server.write(self._waiting.popleft())

    def connection_lost(self, _: Exception | None) -> None:
        if self._server is not None:
            self._server.close()


def address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


async def main(own: str, target: str, milliseconds: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Client(address(target), milliseconds / 1000), *address(own)
    )
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
