"""`olmkit bundle build --push` beside `docker build` and `docker push`, into one registry.

All sides run on this machine in one run, in turn, and medians are told: olmkit, and
each builder that `docker build` has here (`_docker`). Without an engine only our side is
measured. The registry is docker-registry on loopback. Docker's image is for one
platform, ours for the four that OLM runs on.

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
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import _docker
import _installed
from _docker import Environment

from olmkit.bundle import layout, metadata
from olmkit.edges import disk
from olmkit.testing.registry import RegistryServer

ROOT = Path(__file__).resolve().parent.parent

OLMKIT = "olmkit"
BUILD = [sys.executable, "-m", "olmkit", "bundle", "build", "--push", "-q"]


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
        builders = up.enter_context(_docker.builders(folder / "engine"))
        registry = up.enter_context(RegistryServer(folder=folder / "registry"))
        project = folder / "project"
        prepare(source, project)
        measure(project, registry.host, builders, arguments.rounds)


def prepare(source: Path, project: Path) -> None:
    """The bundle with the Containerfile that an engine needs."""
    shutil.copytree(source, project / "bundle")
    bundle = layout.read(disk.read_tree(project / "bundle"))
    text = metadata.containerfile(bundle.annotations, "bundle")
    (project / "bundle.Dockerfile").write_bytes(text)


def measure(project: Path, host: str, builders: Mapping[str, Environment], rounds: int) -> None:
    took: dict[tuple[str, str], list[float]] = defaultdict(list)
    for number in range(rounds + 1):
        (project / "bundle/manifests/zz-round.yaml").write_text(f"round: {number}\n")
        for kind in ("changed", "unchanged"):
            spent = {OLMKIT: run([*BUILD, "-t", f"{host}/ours:v1"], project, {})}
            for builder, environment in builders.items():
                spent[builder] = engine_build(project, host, builder, environment)
            if number:  # the first round warms all
                for side, seconds in spent.items():
                    took[kind, side].append(seconds)
    for kind in ("changed", "unchanged"):
        report(f"bundle {kind}", {side: took[kind, side] for side in (OLMKIT, *builders)})


def engine_build(project: Path, host: str, builder: str, environment: Environment) -> float:
    name = f"{host}/{builder.lower().replace(' ', '-')}:v1"
    build = ["docker", "build", "-q", "-f", "bundle.Dockerfile", "-t", name, "."]
    return run(build, project, environment) + run(
        ["docker", "push", "-q", name], project, environment
    )


def report(title: str, took: Mapping[str, Sequence[float]]) -> None:
    """One line: our median, then that of each other side and ours as a part of it."""
    mine = statistics.median(took[OLMKIT])
    line = f"  {title:<18} olmkit {mine:6.3f} s"
    for side, seconds in took.items():
        if side != OLMKIT:
            other = statistics.median(seconds)
            line += f"   docker with {side} {other:6.3f} s, ratio {mine / other:.2f}"
    print(line)


def run(words: Sequence[str], folder: Path, environment: Environment) -> float:
    begin = time.perf_counter()
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, **environment}, capture_output=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr.decode(errors='replace')}")
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
