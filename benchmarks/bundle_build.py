"""`olmkit bundle build --push` compared with `docker build` and `docker push`, into one registry.

All programs run on this machine in one run, in turn, and the medians are printed: olmkit, and
each builder that `docker build` has here (`_docker`). Without an engine only olmkit is
measured. The registry is docker-registry on loopback. Docker's image is for one
platform, olmkit's for the four that OLM runs on. Ten bundles are one call of olmkit and ten
of Docker's; the printed time is that of one of them.

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

BUNDLES = 11  # one of them alone, and ten at once
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
        bundles = [folder / f"{number}.0.0" for number in range(BUNDLES)]
        for bundle in bundles:
            prepare(source, bundle)
        measure(bundles, registry.host, builders, arguments.rounds)


def prepare(source: Path, folder: Path) -> None:
    """Write a bundle with the directory's name as version, and the Containerfile for an engine."""
    shutil.copytree(source, folder)
    bundle = layout.read(disk.read_tree(folder))
    (folder / "bundle.Dockerfile").write_bytes(metadata.containerfile(bundle.annotations, "."))
    csv = bundle.csvs[0]
    path = folder / csv.path
    path.write_text(path.read_text().replace(csv.version, folder.name))


def measure(
    bundles: Sequence[Path], host: str, builders: Mapping[str, Environment], rounds: int
) -> None:
    took: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for number in range(rounds + 1):
        for bundle in bundles:
            (bundle / "manifests/zz-round.yaml").write_text(f"round: {number}\n")
        for state in ("changed", "unchanged"):
            for title, some in ((f"one {state}", bundles[:1]), (f"ten {state}", bundles[1:])):
                spent = {OLMKIT: olmkit_build(some, host)}
                for builder, environment in builders.items():
                    spent[builder] = engine_builds(some, host, builder, environment)
                if number:  # the first round warms all caches
                    for side, seconds in spent.items():
                        took[title][side].append(seconds / len(some))
    for title, sides in took.items():
        report(title, sides)


def olmkit_build(bundles: Sequence[Path], host: str) -> float:
    words = [*BUILD, "-t", f"{host}/ours", *(bundle.name for bundle in bundles)]
    return run(words, bundles[0].parent, {})


def engine_builds(
    bundles: Sequence[Path], host: str, builder: str, environment: Environment
) -> float:
    took = 0.0
    for bundle in bundles:
        name = f"{host}/{builder.lower().replace(' ', '-')}:v{bundle.name}"
        build = ["docker", "build", "-q", "-f", "bundle.Dockerfile", "-t", name, "."]
        took += run(build, bundle, environment)
        took += run(["docker", "push", "-q", name], bundle, environment)
    return took


def report(title: str, took: Mapping[str, Sequence[float]]) -> None:
    """Print one line: olmkit's median, that of each other program, and their ratios."""
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
