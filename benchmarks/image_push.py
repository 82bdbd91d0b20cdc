"""A large image from a layout into a registry: olmkit compared with `skopeo copy`.

Both programs run on this machine in one run, in turn; medians of wall time, CPU time
and peak memory are printed. The registry is docker-registry on loopback, and each
push goes to an empty one.

    python benchmarks/image_push.py [--rounds 3] [--megabytes 500]
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import _installed

from olmkit.edges.images.layout import Layout
from olmkit.oci import image, layer, store
from olmkit.oci.content import Descriptor, Digest, MediaType, Platform
from olmkit.testing.registry import RegistryServer

_LABEL = {"operators.operatorframework.io.bundle.package.v1": "large"}


def main() -> None:
    _installed.prepare()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=500)
    arguments = parser.parse_args()
    print(f"push of {arguments.megabytes} MB, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory(prefix="olmkit-bench-") as name:
        folder = Path(name)
        asyncio.run(write_large_image(folder / "oci", arguments.megabytes * 1_000_000))
        ours, theirs = [], []
        for number in range(arguments.rounds):
            ours.append(push(folder, f"ours{number}", olmkit))
            if shutil.which("skopeo"):
                theirs.append(push(folder, f"theirs{number}", skopeo))
        print_figures("olmkit", ours)
        if theirs:
            print_figures("skopeo", theirs)
            ratio = median(ours, 0) / median(theirs, 0)
            print(f"  wall, ours to theirs: {ratio:.2f}")


async def write_large_image(folder: Path, size: int) -> None:
    """Write an image with one incompressible layer into a layout; it is never whole in memory."""
    block = os.urandom(1_000_000)
    running = hashlib.sha256()
    for _ in range(size // len(block)):
        running.update(block)
    digest = Digest("sha256", running.hexdigest())

    async def opened(_: int) -> AsyncIterator[bytes]:
        for _ in range(size // len(block)):
            yield block

    descriptor = Descriptor(media_type=MediaType.OCI_LAYER, digest=digest, size=size)
    made = image.label(
        image.append(
            image.scratch(Platform(os="linux", architecture="amd64")),
            layer.Layer(descriptor=descriptor, diff_id=digest, data=b""),
            created_by="benchmark",
        ),
        _LABEL,
    )
    layout = Layout(folder)
    await layout.push(descriptor, opened)
    for part, content in image.contents(made):
        if part.digest != digest:
            await layout.push(part, store.chunks(content))
    await layout.tag(made.descriptor, "large")


Figures = tuple[float, float, float]


def push(folder: Path, name: str, words: Callable[[Path, str], list[str]]) -> Figures:
    """Return wall seconds, CPU seconds and peak MB of one push."""
    with RegistryServer(folder=folder / name) as registry:
        command = words(folder / "oci", registry.host)
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        if status:
            raise SystemExit(f"{' '.join(command)} failed")
        process.returncode = 0
    shutil.rmtree(folder / name)
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def olmkit(layout: Path, host: str) -> list[str]:
    words = [sys.executable, "-m", "olmkit", "bundle", "push", "-q"]
    return [*words, f"oci:{layout}:large", f"{host}/large:v1"]


def skopeo(layout: Path, host: str) -> list[str]:
    words = ["skopeo", "copy", "--quiet", "--dest-tls-verify=false", "--preserve-digests"]
    return [*words, f"oci:{layout}:large", f"docker://{host}/large:v1"]


def print_figures(name: str, figures: Sequence[Figures]) -> None:
    wall, cpu, memory = (median(figures, index) for index in range(3))
    print(f"  {name:<8} {wall:6.2f} s wall  {cpu:6.2f} s CPU  {memory:6.0f} MB peak")


def median(figures: Sequence[Figures], index: int) -> float:
    return statistics.median(figure[index] for figure in figures)


if __name__ == "__main__":
    main()
