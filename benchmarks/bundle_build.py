"""`olmkit bundle build --push` beside `docker build` and `docker push`, into one registry.

Both sides run on this machine in one run, in turn, and medians are told. The
engine is the one that answers at DOCKER_HOST, else one that is started here (root
and Debian's docker.io are needed); without any, only our side is measured. The
registry is docker-registry on loopback.

    python benchmarks/bundle_build.py [--rounds 7] [--bundle FOLDER]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import _installed

from olmkit.bundle import layout, metadata
from olmkit.edges import disk
from olmkit.testing.registry import RegistryServer

ROOT = Path(__file__).resolve().parent.parent
CASES = Path(os.environ.get("OLMKIT_CASES", ROOT / ".." / "shared" / "cases"))

OURS = [sys.executable, "-m", "olmkit", "bundle", "build", "--push", "-q"]


def main() -> None:
    _installed.prepare()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--bundle", type=Path, help="folder of a bundle")
    arguments = parser.parse_args()
    source = arguments.bundle or ROOT / "bundle/0.0.2"
    print(f"bundle build and push, Python {platform.python_version()}, {arguments.rounds} rounds")
    with tempfile.TemporaryDirectory(prefix="olmkit-bench-") as name, contextlib.ExitStack() as up:
        folder = Path(name)
        engine = up.enter_context(docker_engine(folder / "engine"))
        registry = up.enter_context(RegistryServer(folder=folder / "registry"))
        project = folder / "project"
        prepare(source, project)
        measure(project, registry.host, engine, arguments.rounds)


def prepare(source: Path, project: Path) -> None:
    """The bundle with the Containerfile that an engine needs."""
    shutil.copytree(source, project / "bundle")
    bundle = layout.read(disk.read_tree(project / "bundle"))
    text = metadata.containerfile(bundle.annotations, "bundle")
    (project / "bundle.Dockerfile").write_bytes(text)


def measure(project: Path, host: str, engine: dict[str, str] | None, rounds: int) -> None:
    ours: dict[str, list[float]] = {"changed": [], "unchanged": []}
    theirs: dict[str, list[float]] = {"changed": [], "unchanged": []}
    for number in range(rounds + 1):
        (project / "bundle/manifests/zz-round.yaml").write_text(f"round: {number}\n")
        for kind in ("changed", "unchanged"):
            took = run(
                [*OURS, "-t", f"{host}/ours:v1"],
                project,
                {},
            )
            spent = 0.0
            if engine is not None:
                name = f"{host}/theirs:v1"
                words = ["docker", "build", "-q", "-f", "bundle.Dockerfile", "-t", name, "."]
                spent = run(words, project, engine) + run(
                    ["docker", "push", "-q", name], project, engine
                )
            if number:  # the first round warms both
                ours[kind].append(took)
                theirs[kind].append(spent)
    for kind in ("changed", "unchanged"):
        mine = statistics.median(ours[kind])
        line = f"  bundle {kind:<10} olmkit {mine:6.3f} s"
        if engine is not None:
            other = statistics.median(theirs[kind])
            line += f"   docker build + push {other:6.3f} s   ratio {mine / other:.2f}"
        print(line)
    if engine is None:
        print("  there is no Docker engine here: install docker.io, or set DOCKER_HOST")


def run(words: Sequence[str], folder: Path, environment: dict[str, str]) -> float:
    begin = time.perf_counter()
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, **environment}, capture_output=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr.decode(errors='replace')}")
    return time.perf_counter() - begin


@contextlib.contextmanager
def docker_engine(folder: Path) -> Iterator[dict[str, str] | None]:
    """The variables with which `docker` finds an engine; None when there is none."""
    if shutil.which("docker") and answers({}):
        yield {}
        return
    daemon = shutil.which("dockerd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if daemon is None or not shutil.which("docker") or os.geteuid() != 0:
        yield None
        return
    folder.mkdir(parents=True)
    found = {"DOCKER_HOST": f"unix://{folder}/socket"}
    words = [daemon, "-H", found["DOCKER_HOST"], "--data-root", f"{folder}/data"]
    words += ["--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid"]
    words += ["--bridge=none", "--iptables=false"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)
    try:
        for _ in range(300):
            if process.poll() is not None or answers(found):
                break
            time.sleep(0.1)
        yield found if process.poll() is None and answers(found) else None
    finally:
        process.terminate()
        process.wait()


def answers(environment: dict[str, str]) -> bool:
    done = subprocess.run(
        ["docker", "version"], env={**os.environ, **environment}, capture_output=True, check=False
    )
    return done.returncode == 0


if __name__ == "__main__":
    main()
