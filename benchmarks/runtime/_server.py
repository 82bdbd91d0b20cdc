"""A fast API server for benchmarks: one kind, thousands of objects, one process.

It answers the requests of controllers (discovery in both forms, lists in pages, watches with
and without initial events, writes of the status) from prepared bytes, so
that the benchmark measures the client. Paths below `/bench` control it.

    python _server.py COUNT BYTES     prints its port; ends when its stdin is closed
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote

GROUP, VERSION, KIND, PLURAL = "bench.example.com", "v1", "Thing", "things"
NAMESPACES = 20
_PATH = f"/apis/{GROUP}/{VERSION}"
_VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]
_BURST = 256 * 1024  # bytes of events that are written at once

_MANAGED = (
    '"managedFields":[{"manager":"kubectl-client-side-apply","operation":"Update","apiVersion":'
    '"bench.example.com/v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":'
    '{"f:metadata":{"f:labels":{".":{},"f:app.kubernetes.io/name":{}}},"f:spec":{".":{},'
    '"f:size":{},"f:text":{}}}}]'
)


@dataclass(slots=True)
class Thing:
    """One object; `head` and `tail` are the bytes that never change."""

    name: str
    namespace: str
    head: bytes
    tail: bytes
    version: int
    generation: int = 1
    size: int = 1
    observed: int = 1

    def dump(self) -> bytes:
        return b'%b"resourceVersion":"%d","generation":%d},"spec":{"size":%d,%b{"observed":%d}}' % (
            self.head,
            self.version,
            self.generation,
            self.size,
            self.tail,
            self.observed,
        )


def make_things(count: int, size: int) -> list[Thing]:
    """Return objects of about `size` bytes each, in some namespaces."""
    things = []
    for number in range(count):
        name, namespace = f"thing-{number:05}", f"team-{number % NAMESPACES:02}"
        head = (
            f'{{"apiVersion":"{GROUP}/{VERSION}","kind":"{KIND}","metadata":{{"name":"{name}",'
            f'"namespace":"{namespace}","uid":"00000000-0000-4000-8000-{number:012}",'
            f'"creationTimestamp":"2026-01-01T00:00:00Z",'
            f'"labels":{{"app.kubernetes.io/name":"thing","app.kubernetes.io/instance":"{name}"}},'
            f"{_MANAGED},"
        ).encode()
        thing = Thing(name, namespace, head, b"", number + 1)
        missing = max(0, size - len(thing.dump()) - 20)
        thing.tail = b'"text":"%b"},"status":' % (b"lorem ipsum " * (missing // 12 + 1))[:missing]
        things.append(thing)
    return things


class World:
    """The objects, their watchers, and the requests."""

    def __init__(self, things: list[Thing]) -> None:
        self.things = {(thing.namespace, thing.name): thing for thing in things}
        self.order = things
        self.version = len(things) + 1
        self.watchers: list[Watcher] = []
        self.writes = 0
        self.next = 0
        self._turn = asyncio.Lock()

    def changed(self, thing: Thing) -> None:
        self.version += 1
        thing.version = self.version
        line = b'{"type":"MODIFIED","object":%b}\n' % thing.dump()
        for watcher in self.watchers:
            watcher.send(line)

    def rotation(self, count: int) -> Iterator[Thing]:
        for _ in range(count):
            yield self.order[self.next % len(self.order)]
            self.next += 1

    async def touch(self, count: int, *, resize: bool = False) -> None:
        """Change objects in turn, as fast as the changes are read.

        Their generation is unchanged, unless `resize`: then each needs one write of
        its status.
        """
        async with self._turn:
            for number, thing in enumerate(self.rotation(count)):
                if number % 64 == 0:
                    await asyncio.sleep(0)
                    for watcher in self.watchers:
                        await watcher.drained()
                thing.size += resize
                thing.generation += resize
                self.changed(thing)


class Watcher:
    """A watch: each line is a separate chunk, as in Go's server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lines: list[bytes] = []
        self._size = 0

    def send(self, line: bytes) -> None:
        if not self._lines:
            asyncio.get_running_loop().call_soon(self._flush)
        self._lines.append(b"%x\r\n%b\r\n" % (len(line), line))
        self._size += len(line)
        if self._size > _BURST:
            self._flush()

    def _flush(self) -> None:
        if self._lines:
            self._connection.write(b"".join(self._lines))
            self._lines, self._size = [], 0

    async def drained(self) -> None:
        await self._connection.writable.wait()


class Connection(asyncio.Protocol):
    """The part of HTTP/1.1 that clients of Kubernetes use; requests one after the other."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._buffer = b""
        self._transport: asyncio.Transport | None = None
        self._watcher: Watcher | None = None
        self.writable = asyncio.Event()
        self.writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's form
        self.writable.set()
        self._transport = None
        if self._watcher in self._world.watchers:
            self._world.watchers.remove(self._watcher)

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].decode("latin-1")
            headers = {
                key.lower(): value.strip()
                for key, _, value in (line.partition(":") for line in head.split("\r\n")[1:])
            }
            stop = end + 4 + int(headers.get("content-length", "0"))
            if len(self._buffer) < stop:
                return
            body, self._buffer = self._buffer[end + 4 : stop], self._buffer[stop:]
            method, target, _ = head.split("\r\n", 1)[0].split(" ")
            path, _, query = target.partition("?")
            self._answer(method, unquote(path), query, headers.get("accept", ""), body)

    def _answer(self, method: str, path: str, query: str, accept: str, body: bytes) -> None:
        asked = {key: values[0] for key, values in parse_qs(query).items()}
        if path.startswith("/bench/"):
            self._steer(path.removeprefix("/bench/"), asked)
        elif path.startswith(_PATH + "/"):
            self._resource(method, path, asked, body)
        elif path in _STATIC:
            self._json(_STATIC[path](accept))
        elif path.startswith(("/api/v1/namespaces", "/apis/apiextensions.k8s.io/v1/")):
            self._empty(path, asked)
        else:
            self._json(_status(404, "NotFound", path), "404 Not Found")

    def _resource(self, method: str, path: str, asked: dict[str, str], body: bytes) -> None:
        parts = path.removeprefix(_PATH + "/").split("/")
        namespace = ""
        if parts[0] == "namespaces":
            namespace, parts = parts[1], parts[2:]
        if len(parts) == 1:
            if asked.get("watch") in ("true", "1"):
                self._watch(initial=asked.get("sendInitialEvents") == "true")
            else:
                self._list(asked)
            return
        thing = self._world.things[namespace, parts[1]]
        if method in ("PATCH", "PUT"):
            status = json.loads(body).get("status") or {}
            if "observed" in status:
                thing.observed = status["observed"]
                self._world.writes += 1
                self._world.changed(thing)
        self._json(thing.dump())

    def _list(self, asked: dict[str, str]) -> None:
        start = int(asked.get("continue") or 0)
        # A real server returns the whole list from its cache for version 0.
        limit = 0 if asked.get("resourceVersion") == "0" else int(asked.get("limit") or 0)
        end = start + limit if limit else len(self._world.order)
        more = f'"continue":"{end}",' if end < len(self._world.order) else ""
        items = b",".join(thing.dump() for thing in self._world.order[start:end])
        self._json(
            b'{"kind":"%bList","apiVersion":"%b/%b","metadata":{%b"resourceVersion":"%d"},'
            b'"items":[%b]}'
            % (
                KIND.encode(),
                GROUP.encode(),
                VERSION.encode(),
                more.encode(),
                self._world.version,
                items,
            )
        )

    def _watch(self, *, initial: bool) -> None:
        self._begin_stream()
        self._watcher = Watcher(self)
        if initial:
            for thing in self._world.order:
                self._watcher.send(b'{"type":"ADDED","object":%b}\n' % thing.dump())
            self._watcher.send(
                b'{"type":"BOOKMARK","object":{"apiVersion":"%b/%b","kind":"%b","metadata":'
                b'{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}}\n'
                % (GROUP.encode(), VERSION.encode(), KIND.encode(), self._world.version)
            )
        self._world.watchers.append(self._watcher)

    def _empty(self, path: str, asked: dict[str, str]) -> None:
        """Kinds that a framework requests and that have no objects."""
        if asked.get("watch") in ("true", "1"):
            self._begin_stream()
            return
        kind = "NamespaceList" if "namespaces" in path else "CustomResourceDefinitionList"
        self._json(_encoded({"kind": kind, "metadata": {"resourceVersion": "1"}, "items": []}))

    def _steer(self, what: str, asked: dict[str, str]) -> None:
        world = self._world
        count = int(asked.get("count") or 0)
        if what == "touch":
            _later(world.touch(count))
        elif what == "resize":
            _later(world.touch(count, resize=True))
        self._json(_encoded({"watchers": len(world.watchers), "writes": world.writes}))

    def _begin_stream(self) -> None:
        self.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )

    def _json(self, body: bytes, status: str = "200 OK") -> None:
        self.write(
            b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
            % (status.encode(), len(body), body)
        )


_RUNNING: set[asyncio.Task[None]] = set()


def _later(work: object) -> None:
    task = asyncio.ensure_future(work)  # type: ignore[arg-type]  # a coroutine
    _RUNNING.add(task)
    task.add_done_callback(_RUNNING.discard)


def _encoded(value: object) -> bytes:
    return json.dumps(value).encode()


def _status(code: int, reason: str, message: str) -> bytes:
    return _encoded(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "code": code,
            "reason": reason,
            "message": message,
        }
    )


def _group(name: str, version: str) -> dict[str, object]:
    one = {"groupVersion": f"{name}/{version}", "version": version}
    return {"name": name, "versions": [one], "preferredVersion": one}


def _resources(group_version: str, *names: tuple[str, str, bool]) -> bytes:
    return _encoded(
        {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": group_version,
            "resources": [
                {
                    "name": name,
                    "singularName": kind.lower(),
                    "kind": kind,
                    "namespaced": namespaced,
                    "verbs": _VERBS,
                }
                for name, kind, namespaced in names
            ],
        }
    )


def _aggregated(group: str, version: str, kind: str, plural: str, *, namespaced: bool) -> object:
    resource = {
        "resource": plural,
        "singularResource": kind.lower(),
        "responseKind": {"group": group, "version": version, "kind": kind},
        "scope": "Namespaced" if namespaced else "Cluster",
        "subresources": [{"subresource": "status"}],
        "verbs": _VERBS,
    }
    return {
        "metadata": {"name": group},
        "versions": [{"version": version, "resources": [resource], "freshness": "Current"}],
    }


def _discovery(plain: object, *aggregated: object) -> Callable[[str], bytes]:
    old = _encoded(plain)
    new = _encoded(
        {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": aggregated,
        }
    )
    return lambda accept: new if accept == _NEW else old


_NEW = "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList"
_THINGS = _resources(f"{GROUP}/{VERSION}", (PLURAL, KIND, True), (f"{PLURAL}/status", KIND, True))
_CRDS = _resources(
    "apiextensions.k8s.io/v1", ("customresourcedefinitions", "CustomResourceDefinition", False)
)
_CORE = _resources("v1", ("namespaces", "Namespace", False), ("events", "Event", True))
_STATIC: dict[str, Callable[[str], bytes]] = {
    "/version": lambda _: _encoded({"major": "1", "minor": "36", "gitVersion": "v1.36.0"}),
    "/api": _discovery(
        {"kind": "APIVersions", "versions": ["v1"]},
        _aggregated("", "v1", "Namespace", "namespaces", namespaced=False),
    ),
    "/apis": _discovery(
        {
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": [_group(GROUP, VERSION), _group("apiextensions.k8s.io", "v1")],
        },
        _aggregated(GROUP, VERSION, KIND, PLURAL, namespaced=True),
    ),
    "/api/v1": lambda _: _CORE,
    _PATH: lambda _: _THINGS,
    "/apis/apiextensions.k8s.io/v1": lambda _: _CRDS,
}


async def main() -> None:
    count, size = (int(word) for word in sys.argv[1:3])
    world = World(make_things(count, size))
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(world), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)  # the process that started this one has ended
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
