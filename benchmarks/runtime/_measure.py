"""All measurements of one peer: processes, their CPU time and their memory."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from _peers import HERE, Peer

OBJECTS = 10_000
_PATIENCE = 300.0  # for any operation; a slower one counts as failed
_QUIET = 0.02  # CPU seconds within a second: idle


def measure(peer: Peer) -> dict[str, float]:
    """All figures of a peer, by the columns of the table."""
    figures: dict[str, float] = {}
    if peer.import_command:
        figures["import"] = _import_time(peer)
    with _server(0, 0) as server, _controller(peer, server) as controller:
        server.wait_for_watch()
        start = controller.settle()
        figures["base"] = controller.memory()
    with _server(OBJECTS, 1_000) as server, _controller(peer, server) as controller:
        server.wait_for_watch()
        figures["list"] = controller.settle() - start
        figures["rss"] = controller.memory()
        figures["events"] = peer.events / _events(server, controller, peer.events)
        figures["writes"] = peer.writes / _writes(server, controller, peer.writes)
    with _server(OBJECTS, 2_000) as server, _controller(peer, server) as controller:
        server.wait_for_watch()
        if peer.probed:
            figures["tasks"] = controller.most_tasks()
        controller.settle()
        figures["growth"] = controller.memory() - figures["base"]
    if peer.probed:
        with (
            _server(OBJECTS, 1_000) as server,
            _controller(peer, server, pauses=True) as controller,
        ):
            server.wait_for_watch()
            controller.settle(quiet=0.2)
            first = controller.probe()["pause"]
            _events(server, controller, peer.events // 3)
            _writes(server, controller, peer.writes // 3)
            figures["pause"] = 1000 * max(first, controller.probe()["pause"])
    return figures


def _import_time(peer: Peer) -> float:
    """Return the CPU seconds of the import with its bytecode, which images of operators have."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(2):  # the first run writes the bytecode
        printed = subprocess.check_output(peer.import_command, env=environment)
    return float(printed)


def _events(server: Server, controller: Controller, count: int) -> float:
    """Return the CPU seconds for events without a change; a final write shows that all arrived."""
    before = controller.cpu()
    server.ask(f"touch?count={count}")
    server.wait_for_writes(server.ask("resize?count=1")["writes"] + 1)
    return controller.cpu() - before


def _writes(server: Server, controller: Controller, count: int) -> float:
    """Return the CPU seconds for changes that each need a write, including events of own writes."""
    before = controller.cpu()
    wanted = server.ask(f"resize?count={count}")["writes"] + count
    server.wait_for_writes(wanted)
    controller.settle(quiet=0.2)
    return controller.cpu() - before


class Server:
    """The API server's process, controlled over its own port."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"

    def ask(self, what: str) -> dict[str, int]:
        with urllib.request.urlopen(f"{self.address}/bench/{what}", timeout=60) as answer:  # noqa: S310 - loopback
            found: dict[str, int] = json.load(answer)
        return found

    def wait_for_watch(self) -> None:
        _wait(lambda: self.ask("state")["watchers"] > 0, "no watch was opened")

    def wait_for_writes(self, count: int) -> None:
        _wait(lambda: self.ask("state")["writes"] >= count, "writes are missing")


class Controller:
    """A controller's process, observed from outside."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        # The kernel's number of a process's CPU clock: linux/posix-timers.h, CPUCLOCK_SCHED.
        self._clock = ((~process.pid) << 3) | 2

    def cpu(self) -> float:
        """Return the CPU seconds of all its threads since its start."""
        if self._process.poll() is not None:
            raise SystemExit(f"the controller ended with {self._process.returncode}")
        return time.clock_gettime(self._clock)

    def memory(self) -> float:
        """Return the resident MiB."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) / 1024

    def settle(self, quiet: float = _QUIET) -> float:
        """Wait until it is idle; return its CPU seconds until then."""
        used = self.cpu()
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            time.sleep(1)
            now = self.cpu()
            if now - used < quiet:
                return used
            used = now
        raise SystemExit("the controller does not come to rest")

    def most_tasks(self) -> int:
        """Return the maximum number of tasks of its loop while it reads its objects."""
        most, used = 0, -1.0
        while self.cpu() - used > _QUIET:
            used = self.cpu()
            for _ in range(5):
                most = max(most, self.probe()["tasks"])
                time.sleep(0.2)
        return most

    def probe(self) -> dict[str, Any]:
        os.kill(self._process.pid, signal.SIGUSR1)
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], 60)[0]:
            raise SystemExit("the controller does not answer a signal")
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found


@contextmanager
def _server(count: int, size: int) -> Iterator[Server]:
    words = [sys.executable, str(HERE / "_server.py"), str(count), str(size)]
    with _process(words, {}) as process:
        assert process.stdout is not None
        yield Server(int(process.stdout.readline()))


@contextmanager
def _controller(peer: Peer, server: Server, *, pauses: bool = False) -> Iterator[Controller]:
    environment = {"BENCH_PAUSES": "1"} if pauses else {}
    with _process(peer.words(server.address), environment) as process:
        yield Controller(process)


@contextmanager
def _process(words: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _wait(done: Any, what: str) -> None:
    end = time.monotonic() + _PATIENCE
    while not done():
        if time.monotonic() > end:
            raise SystemExit(what)
        time.sleep(0.05)
