"""`olmkit catalog serve --http-port` compared with catalogd's own handler: rates and memory.

Both programs run on this machine in one run, in turn, and the medians are printed. The reference is
built by `scripts/build-programs catalogd-handler`: it is catalogd's storage and handler without
its controllers, so it uses less memory than catalogd does. Without Go, only olmkit is
measured. Clients are threads of one process, and read answers into one buffer each.

    python benchmarks/catalog_http.py [--rounds 3] [--megabytes 1 20] [--clients 8] [--seconds 3]
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import _installed
from catalog_serve import large_catalog, memory, size_of

ROOT = Path(__file__).resolve().parent.parent
NAME = "shop"
API = f"/catalogs/{NAME}/api/v1"
REQUESTS = {
    "all": (f"{API}/all", "identity"),
    "all as gzip": (f"{API}/all", "gzip"),
    "metas": (f"{API}/metas?schema=olm.package", "identity"),
}
REST = 1.0
BUFFER = 1 << 20

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Running:
    """A running server: its process id, its port and the seconds until its first answer."""

    pid: int
    port: int
    took: float


def handler() -> Path | None:
    """Return the reference program, which is built if it is missing."""
    words = [str(ROOT / "scripts/build-programs"), "catalogd-handler"]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    return Path(done.stdout.strip()) / "catalogd-handler" if done.returncode == 0 else None


def olmkit(catalog: Path, _place: Path) -> list[str]:
    words = [sys.executable, "-m", "olmkit", "catalog", "serve", str(catalog), "--name", NAME]
    return [*words, "--host", "127.0.0.1", "--port", "0", "--http-port", "0"]


@contextmanager
def serving(words: Sequence[str], folder: Path) -> Iterator[Running]:
    begin = time.perf_counter()
    log = folder / "log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            words, stdout=stream, stderr=stream, env={**os.environ, "PYTHONUNBUFFERED": "1"}
        )
    try:
        while not (found := re.search(r"127\.0\.0\.1:(\d+)\n", log.read_text())):
            if process.poll() is not None:
                raise SystemExit(f"the server ended: {log.read_text()}")
            time.sleep(0.005)
        yield Running(process.pid, int(found[1]), time.perf_counter() - begin)
    finally:
        process.terminate()
        process.wait()


def peak(pid: int) -> float:
    """Return the highest RSS so far in MB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def cpu(pid: int) -> float:
    """Return the seconds of CPU time that the process used."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Client:
    """Repeat the same request over one connection."""

    def __init__(self, port: int, path: str, encoding: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._request = (
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: {encoding}\r\n\r\n"
        ).encode()
        self._buffer = bytearray(BUFFER)
        self.answers = 0
        self.size = 0

    def run(self, end: float) -> None:
        while time.perf_counter() < end:
            self._socket.sendall(self._request)
            self.size += self._answer()
            self.answers += 1
        self._socket.close()

    def _answer(self) -> int:
        """Read one answer; return the bytes of its body."""
        size = self._socket.recv_into(self._buffer)
        while (at := self._buffer.find(b"\r\n\r\n", 0, size)) < 0:
            size += self._socket.recv_into(memoryview(self._buffer)[size:])
        head = bytes(self._buffer[:at]).decode()
        if not head.startswith("HTTP/1.1 200"):
            raise SystemExit(head)
        length = re.search(r"(?i)content-length: (\d+)", head)
        if length is None:
            return self._chunks(bytes(self._buffer[at + 4 : size]))
        left = int(length[1]) - (size - at - 4)
        while left:
            left -= self._socket.recv_into(self._buffer, min(left, BUFFER))
        return int(length[1])

    def _chunks(self, tail: bytes) -> int:
        """Read until the last chunk; no body contains its mark, since gzip's trailer ends one."""
        size = len(tail)
        tail = tail[-7:]
        while not tail.endswith(b"\r\n0\r\n\r\n"):
            got = self._socket.recv_into(self._buffer)
            size += got
            tail = (tail + bytes(self._buffer[max(0, got - 7) : got]))[-7:]
        return size


def load(server: Running, request: tuple[str, str], clients: int, seconds: float) -> Figures:
    """Measure responses per second, and their cost for the server."""
    made = [Client(server.port, *request) for _ in range(clients)]
    began, begin = cpu(server.pid), time.perf_counter()
    end = begin + seconds
    threads = [threading.Thread(target=one.run, args=(end,)) for one in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - begin
    answers = sum(one.answers for one in made)
    spent = cpu(server.pid) - began
    return {"a second": answers / took, "CPU, ms each": 1000 * spent / answers}


def measure(words: Sequence[str], folder: Path, clients: int, seconds: float) -> Figures:
    figures: Figures = {}
    with serving(words, folder) as server:
        figures["start, s"] = server.took
        time.sleep(REST)
        figures["RSS at rest, MB"], figures["PSS at rest, MB"] = memory(server.pid)
        for name, request in REQUESTS.items():
            for number in sorted({1, clients}):
                for what, value in load(server, request, number, seconds).items():
                    figures[f"{name}, {number} clients: {what}"] = value
        figures["RSS after it all, MB"] = memory(server.pid)[0]
        figures["peak RSS, MB"] = peak(server.pid)
    return figures


def compare(catalog: Path, options: argparse.Namespace, reference: Path | None) -> None:
    found: dict[str, list[Figures]] = {"olmkit": []} | ({"catalogd": []} if reference else {})
    for _ in range(options.rounds):
        for side, figures in found.items():
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                (folder / "files").mkdir()
                words = olmkit(catalog, folder)
                if side == "catalogd":
                    words = [str(reference), str(catalog), NAME, str(folder / "files")]
                figures.append(measure(words, folder, options.clients, options.seconds))
    print(f"\ncatalog of {size_of(catalog):.1f} MB")
    print(f"{'':38}" + "".join(f"{side:>11}" for side in found) + "     ratio")
    for figure in found["olmkit"][0]:
        medians = [statistics.median(each[figure] for each in one) for one in found.values()]
        ratio = f"{medians[0] / medians[1]:>9.2f}x" if len(medians) == 2 and medians[1] else ""
        print(f"{figure:38}" + "".join(f"{value:>11.2f}" for value in medians) + ratio)


def main() -> None:
    _installed.prepare()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[1, 20])
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    reference = handler()
    for megabytes in options.megabytes:
        with tempfile.TemporaryDirectory() as place:
            catalog = Path(place) / "catalog"
            large_catalog(catalog, int(megabytes))
            compare(catalog, options, reference)


if __name__ == "__main__":
    main()
