"""`olmkit catalog serve` compared with `opm serve`: start, idle memory, answers per second.

Both programs run on this machine in one run, in turn, and the medians are printed. OPM names
the reference program (default: `opm` on PATH); without it only olmkit is measured.
OLMKIT_CASES names the directory of real catalogs, which the large one repeats.

    python benchmarks/catalog_serve.py [--rounds 3] [--megabytes 150]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import _installed
import grpc

from olmkit.base.protobuf import fields, string
from olmkit.catalog.blobs import fbc
from olmkit.edges import disk

ROOT = Path(__file__).resolve().parent.parent
CASES = Path(os.environ.get("OLMKIT_CASES", ROOT / ".." / "shared" / "cases"))
OPM = shutil.which(os.environ.get("OPM", "opm"))
SECONDS = 3.0
REST = 1.0

Figures = dict[str, float]
Command = Callable[[Path, int, Path | None], list[str]]


def opm(catalog: Path, port: int, cache: Path | None) -> list[str]:
    words = [str(OPM), "serve", str(catalog), "--port", str(port), "--pprof-addr", ""]
    words += ["--termination-log", os.devnull]
    return words + (["--cache-dir", str(cache)] if cache else [])


def olmkit(catalog: Path, port: int, cache: Path | None) -> list[str]:
    words = [sys.executable, "-m", "olmkit", "catalog", "serve", str(catalog)]
    words += ["--port", str(port)]
    return words + (["--cache-dir", str(cache)] if cache else [])


def opm_fills(catalog: Path, cache: Path) -> list[str]:
    return [*opm(catalog, 0, cache), "--cache-only"]


def olmkit_fills(catalog: Path, cache: Path) -> list[str]:
    return [*olmkit(catalog, 0, cache), "--cache-only"]


@contextmanager
def serving(words: Sequence[str], port: int) -> Iterator[tuple[int, float, grpc.Channel]]:
    """A running server: its process id, the seconds until its first answer, a channel to it."""
    begin = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        channel = first_answer(process, port)
        took = time.perf_counter() - begin
        with channel:
            yield process.pid, took, channel
    finally:
        process.terminate()
        process.wait()


def first_answer(process: subprocess.Popen[bytes], port: int) -> grpc.Channel:
    options = [("grpc.max_receive_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
    while process.poll() is None:
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)):
                time.sleep(0.005)
                continue
        channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=options)
        try:
            list(channel.unary_stream("/api.Registry/ListPackages")(b"", timeout=5))
            return channel
        except grpc.RpcError:
            channel.close()
            time.sleep(0.005)
    raise SystemExit(f"the server ended with code {process.returncode}")


def memory(pid: int) -> tuple[float, float]:
    """Return RSS and PSS in MB."""
    found = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, _, value = line.partition(":")
        found[name] = float(value.split()[0]) / 1024
    return found["Rss"], found["Pss"]


def rates(channel: grpc.Channel) -> tuple[float, float, float]:
    """Return GetBundle and ListBundles per second for one client, and the mean kB per bundle."""
    list_bundles = channel.unary_stream("/api.Registry/ListBundles")
    get_bundle = channel.unary_unary("/api.Registry/GetBundle")
    bundles = [dict(fields(message)) for message in list_bundles(b"")]
    requests = [
        b"".join(string(number, text(bundle[field])) for number, field in ((1, 2), (2, 3), (3, 1)))
        for bundle in bundles
    ]
    random.Random(1).shuffle(requests)  # noqa: S311 - an order, no secret
    size = calls = 0
    begin = time.perf_counter()
    while time.perf_counter() - begin < SECONDS:
        size += len(get_bundle(requests[calls % len(requests)]))
        calls += 1
    gets = calls / (time.perf_counter() - begin)
    lists = 0
    begin = time.perf_counter()
    while time.perf_counter() - begin < SECONDS:
        for _ in list_bundles(b""):
            pass
        lists += 1
    return gets, lists / (time.perf_counter() - begin), size / calls / 1000


def text(value: int | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def measure(
    command: Command, fills: Callable[[Path, Path], list[str]], catalog: Path, folder: Path
) -> Figures:
    figures: Figures = {}
    cache = folder / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    port = free_port()
    with serving(command(catalog, port, None), port) as (pid, took, _):
        time.sleep(REST)
        figures["start without a cache, s"] = took
        figures["RSS after it, MB"], figures["PSS after it, MB"] = memory(pid)
    subprocess.run(
        fills(catalog, cache), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    figures["cache on the disk, MB"] = size_of(cache)
    port = free_port()
    with serving(command(catalog, port, cache), port) as (pid, took, channel):
        time.sleep(REST)
        figures["start with a cache, s"] = took
        figures["RSS at rest, MB"], figures["PSS at rest, MB"] = memory(pid)
        gets, lists, size = rates(channel)
        figures["GetBundle a second"] = gets
        figures["ListBundles a second"] = lists
        figures["bundle, kB"] = size
        figures["RSS after it all, MB"] = memory(pid)[0]
    return figures


def size_of(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        port: int = trial.getsockname()[1]
        return port


def large_catalog(folder: Path, megabytes: int) -> None:
    """Repeat real catalogs under other names, until the size is reached."""
    packages = list(real_packages() if CASES.is_dir() else made_packages())
    size = number = 0
    while size < megabytes * 1_000_000:
        for blobs in packages:
            old = next(blob["name"] for blob in blobs if blob["schema"] == "olm.package")
            new = f"{old}-{number}"
            data = "\n".join(json.dumps(renamed(blob, new), indent=4) for blob in blobs)
            (folder / new).mkdir(parents=True)
            (folder / new / "catalog.json").write_text(data)
            size += len(data)
        number += 1


def renamed(blob: dict[str, Any], package: str) -> dict[str, Any]:
    if blob["schema"] == "olm.package":
        return {**blob, "name": package}
    properties = [
        {**item, "value": {**item["value"], "packageName": package}}
        if item["type"] == "olm.package"
        else item
        for item in blob.get("properties", ())
    ]
    return {**blob, "package": package, **({"properties": properties} if properties else {})}


def real_packages() -> Iterator[list[dict[str, Any]]]:
    for folder in sorted((CASES / "catalogs").glob("*/*")):
        yield [blob.value for blob in fbc.load(disk.read_tree(folder))]


def made_packages() -> Iterator[list[dict[str, Any]]]:
    names = [f"made.v1.0.{number}" for number in range(50)]
    entries = [
        {"name": name, **({"replaces": names[number - 1]} if number else {})}
        for number, name in enumerate(names)
    ]
    yield [
        {"schema": "olm.package", "name": "made", "defaultChannel": "stable"},
        {"schema": "olm.channel", "package": "made", "name": "stable", "entries": entries},
        *(
            {
                "schema": "olm.bundle",
                "package": "made",
                "name": name,
                "image": f"registry.example/made:{number}",
                "properties": [
                    {
                        "type": "olm.package",
                        "value": {"packageName": "made", "version": f"1.0.{number}"},
                    },
                    {
                        "type": "olm.csv.metadata",
                        "value": {"description": "word " * 16_000, "displayName": "Made"},
                    },
                ],
            }
            for number, name in enumerate(names)
        ),
    ]


def compare(name: str, catalog: Path, rounds: int, folder: Path) -> None:
    sides: dict[str, tuple[Command, Callable[[Path, Path], list[str]]]] = {
        "olmkit": (olmkit, olmkit_fills)
    }
    if OPM:
        sides["opm"] = (opm, opm_fills)
    found: dict[str, list[Figures]] = {side: [] for side in sides}
    for _ in range(rounds):
        for side, (command, fills) in sides.items():
            found[side].append(measure(command, fills, catalog, folder))
    print(f"\n{name}: {size_of(catalog):.1f} MB")
    print(f"{'':28}" + "".join(f"{side:>10}" for side in sides) + ("     ratio" if OPM else ""))
    for figure in found["olmkit"][0]:
        medians = [statistics.median(each[figure] for each in found[side]) for side in sides]
        ratio = f"{medians[0] / medians[1]:>9.2f}x" if OPM and medians[1] else ""
        print(f"{figure:28}" + "".join(f"{value:>10.2f}" for value in medians) + ratio)


def main() -> None:
    _installed.prepare()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=150)
    options = parser.parse_args()
    print(
        f"Python {platform.python_version()}, grpcio {grpc.__version__}, reference: {OPM or 'none'}"
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if CASES.is_dir():
            files = (CASES / "catalogs").glob("*/*/catalog.*")
            biggest = max(files, key=lambda file: file.stat().st_size).parent
            compare(f"biggest real catalog, {biggest.name}", biggest, options.rounds, folder)
        large = folder / "large"
        large_catalog(large, options.megabytes)
        compare("large catalog", large, options.rounds, folder)


if __name__ == "__main__":
    main()
