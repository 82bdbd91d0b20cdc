"""`olmkit catalog serve` under load: many clients on both protocols while the catalog changes.

Each version of the catalog has all its bundles in that version, so an answer that mixes two is
detected. Over HTTP the ETag is the digest of the content, and is also checked. Another client holds
1,000 streams, and the health check must still answer. Exits with code 1 if an answer was
wrong, if a health check took longer than its limit, or if memory grew.

    python benchmarks/catalog_load.py [--seconds 30] [--clients 200] [--every 3] [--pause 0.05]
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Coroutine, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import grpc
import grpc.aio

from olmkit.base.protobuf import fields, string

PACKAGES = 40
HELD = 1000  # streams of one client
# The server accepts 500 calls from one address; all gRPC clients here have the same one.
MOST_OVER_GRPC = 300
HEALTH_LIMIT = 5.0  # seconds; OLM's probes have the same limit
GROWTH = 1.25
NAME = "shop"


@dataclass
class Observations:
    """The observations of the clients."""

    answers: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    versions: set[str] = field(default_factory=set)
    health: list[float] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)
    held: int = 0  # streams

    def add(self, other: Observations) -> None:
        self.answers.update(other.answers)
        self.wrong += other.wrong
        self.versions |= other.versions
        self.health += other.health
        self.held += other.held


def write_catalog(folder: Path, version: str) -> None:
    """Replace the catalog atomically."""
    lines: list[str] = []
    for number in range(PACKAGES):
        package = f"package-{number}"
        bundle = f"{package}.v{version}"
        about = {"packageName": package, "version": version}
        lines += map(
            json.dumps,
            (
                {"schema": "olm.package", "name": package, "defaultChannel": "stable"},
                {
                    "schema": "olm.channel",
                    "package": package,
                    "name": "stable",
                    "entries": [{"name": bundle}],
                },
                {
                    "schema": "olm.bundle",
                    "package": package,
                    "name": bundle,
                    "image": f"registry.example/{package}:v{version}",
                    "properties": [
                        {"type": "olm.package", "value": about},
                        {"type": "note", "value": "word " * 200},
                    ],
                },
            ),
        )
    unfinished = folder.parent / "unfinished"
    unfinished.write_text("\n".join(lines))
    unfinished.replace(folder / "catalog.json")


def check(found: Observations, kind: str, versions: list[str], last: str) -> str:
    """Check one answer with the versions of its bundles; return the last version of the client."""
    found.answers[kind] += 1
    if len(versions) != PACKAGES or len(set(versions)) != 1:
        found.wrong.append(f"{kind}: {len(versions)} bundles of {sorted(set(versions))}")
        return last
    if last and int(versions[0].split(".")[0]) < int(last.split(".")[0]):
        found.wrong.append(f"{kind}: {versions[0]} after {last}")
    found.versions.add(versions[0])
    return versions[0]


async def over_grpc(port: int, pause: float, found: Observations, end: float) -> None:
    options = [("grpc.use_local_subchannel_pool", 1)]
    last = ""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options) as channel:
        call = channel.unary_stream("/api.Registry/ListBundles")
        while time.monotonic() < end:
            try:
                messages = [one async for one in call(b"", timeout=60)]
            except grpc.aio.AioRpcError as error:
                found.wrong.append(f"gRPC: {error.code().name}: {error.details()}")
                continue
            versions = [bytes(dict(fields(one))[9]).decode() for one in messages]  # type: ignore[arg-type]
            last = check(found, "ListBundles", versions, last)
            await asyncio.sleep(pause)


async def over_http(port: int, number: int, pause: float, found: Observations, end: float) -> None:
    url = f"http://127.0.0.1:{port}/catalogs/{NAME}/api/v1/"
    # Several addresses, as in a cluster.
    connector = aiohttp.TCPConnector(local_addr=(f"127.0.1.{number % 8 + 1}", 0), limit=1)
    last = tag = ""
    async with aiohttp.ClientSession(connector=connector) as session:
        while time.monotonic() < end:
            path, headers = ("all", {"Accept-Encoding": ("gzip", "identity")[number % 2]})
            if number % 3 == 0:
                path = "metas?schema=olm.bundle"
            elif number % 3 == 1 and tag:
                headers["If-None-Match"] = tag
            try:
                async with session.get(url + path, headers=headers) as answer:
                    body = await answer.read()
                    status, new = answer.status, answer.headers.get("ETag", "")
            except (aiohttp.ClientError, TimeoutError) as error:
                found.wrong.append(f"HTTP: {error!r}")
                continue
            if status == 304:
                found.answers["304"] += 1
            elif status != 200:
                found.wrong.append(f"HTTP: {status}")
            else:
                if path == "all" and hashlib.sha256(body).hexdigest()[:32] not in new:
                    found.wrong.append(f"HTTP: the body is not that of {new}")
                blobs = [json.loads(line) for line in body.splitlines()]
                versions = [
                    re.sub(r".*\.v", "", blob["name"])
                    for blob in blobs
                    if blob["schema"] == "olm.bundle"
                ]
                last, tag = check(found, path.partition("?")[0], versions, last), new
            await asyncio.sleep(pause)


async def hold_streams(port: int, end: float) -> int:
    """One client with many streams that never end; return how many were open.

    It has another address than the others, since an address can have half of all calls.
    """
    options = [("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(f"[::1]:{port}", options) as channel:
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")
        calls = [watch(string(1, "Registry")) for _ in range(HELD)]
        seen = 0

        async def first(call: grpc.aio.UnaryStreamCall) -> None:  # type: ignore[type-arg]
            nonlocal seen
            try:
                await call.read()
                seen += 1
                await asyncio.sleep(max(0.0, end - time.monotonic()))
            except grpc.aio.AioRpcError:
                pass  # one client can have half of the calls

        tasks = [asyncio.ensure_future(first(call)) for call in calls]
        await asyncio.sleep(max(0.0, end - time.monotonic()))
        for call in calls:
            call.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return seen


async def probe(port: int, found: Observations, end: float) -> None:
    """The health check, on a new connection each time, as of a probe."""
    while time.monotonic() < end:
        begin = time.monotonic()
        options = [("grpc.use_local_subchannel_pool", 1)]
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options) as channel:
            try:
                check = channel.unary_unary("/grpc.health.v1.Health/Check")
                answer = await check(string(1, "Registry"), timeout=HEALTH_LIMIT)
                if answer != b"\x08\x01":
                    found.wrong.append("health: not SERVING")
            except grpc.aio.AioRpcError as error:
                found.wrong.append(f"health: {error.code().name}")
        found.health.append(time.monotonic() - begin)
        await asyncio.sleep(1)


def memory_of(pid: int) -> float:
    """Return resident memory in MB."""
    text = Path(f"/proc/{pid}/status").read_text()
    size = re.search(r"VmRSS:\s+(\d+)", text)
    if size is None:
        raise SystemExit("the server has ended")
    return int(size[1]) / 1024


def clients(role: str, options: argparse.Namespace, server: Server, end: float) -> Observations:
    """Collect the observations of the clients of one role, in a separate process."""
    found = Observations()

    async def all_of_them() -> None:
        over_grpc_too = min(options.clients // 2, MOST_OVER_GRPC)
        match role:
            case "streams":
                found.held = await hold_streams(server.port, end)
            case "probe":
                await probe(server.port, found, end)
            case "gRPC":
                await gather(
                    over_grpc(server.port, options.pause, found, end) for _ in range(over_grpc_too)
                )
            case _:
                await gather(
                    over_http(server.http_port, number, options.pause, found, end)
                    for number in range(options.clients - over_grpc_too)
                )

    async def gather(parts: Iterable[Coroutine[None, None, None]]) -> None:
        tasks = []
        for part in parts:  # not all at the same time, as in a cluster
            tasks.append(asyncio.ensure_future(part))
            await asyncio.sleep(options.pause / options.clients)
        await asyncio.gather(*tasks)

    asyncio.run(all_of_them())
    return found


def run(options: argparse.Namespace, folder: Path, server: Server) -> Observations:
    begin = time.monotonic()
    end = begin + options.seconds
    roles = ("streams", "gRPC", "HTTP", "probe")
    together = Observations()
    # gRPC cannot be used in a forked process.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(roles), mp_context=context) as pool:
        working = [pool.submit(clients, role, options, server, end) for role in roles]
        number, next_version = 1, begin + options.every
        while time.monotonic() < end:
            time.sleep(0.5)
            together.memory.append((time.monotonic() - begin, memory_of(server.pid)))
            if time.monotonic() >= next_version:
                number, next_version = number + 1, next_version + options.every
                write_catalog(folder, f"{number}.0.0")
        for one in working:
            together.add(one.result())
    return together


@dataclass(frozen=True)
class Server:
    """The running server."""

    pid: int
    port: int
    http_port: int


def report(found: Observations, options: argparse.Namespace) -> int:
    """Print the figures; return the exit code."""
    total = found.answers.total()
    middle = [size for at, size in found.memory if at > options.seconds / 3]
    early = statistics.median(middle[: max(1, len(middle) // 4)])
    late = statistics.median(middle[-max(1, len(middle) // 4) :])
    print(
        f"{options.clients} clients, {options.seconds:.0f} s, "
        f"{found.held} streams of one more client"
    )
    print(f"answers: {total} ({total / options.seconds:.0f} a second), {dict(found.answers)}")
    print(f"versions of the catalog that were seen: {len(found.versions)}")
    health = sorted(found.health)
    print(
        f"health checks: {len(health)}, half took {statistics.median(health):.3f} s, "
        f"the slowest {health[-1]:.2f} s"
    )
    print(f"memory: {early:.1f} MB after a third of the time, {late:.1f} MB at the end")
    print(f"wrong answers: {len(found.wrong)}")
    for text, number in Counter(found.wrong).most_common(5):
        print(f"  {number} x {text}")
    return int(bool(found.wrong) or late > early * GROWTH or len(found.versions) < 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--every", type=float, default=3.0, help="seconds between two versions")
    parser.add_argument(
        "--pause",
        type=float,
        default=0.05,
        help="seconds that each client waits between two calls; the clients of one protocol are "
        "one process, so with many of them it is the slowest part",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "catalog"
        folder.mkdir()
        write_catalog(folder, "1.0.0")
        words = ["-m", "olmkit", "catalog", "serve", str(folder), "--host", "localhost"]
        words += ["--port", "0", "--http-port", "0", "--name", NAME, "--reload", "0.5"]
        log = Path(place) / "log"
        with log.open("w") as stream:
            process = subprocess.Popen(
                [sys.executable, *words],
                stderr=stream,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        try:
            while "\n" not in log.read_text():
                time.sleep(0.1)
            ports = [int(port) for port in re.findall(r":(\d+)", log.read_text().split("\n")[0])]
            server = Server(process.pid, *ports)
            found = run(options, folder, server)
        finally:
            process.terminate()
            print(f"the server ended with code {process.wait()}")
            print(log.read_text()[-1000:], file=sys.stderr)
        sys.exit(report(found, options))


if __name__ == "__main__":
    main()
