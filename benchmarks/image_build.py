"""`olmkit image build` beside `docker build` with a warm cache: nothing changed, code changed.

Both sides build the code of the shipped operator with one small package, from a
folder of wheels, on the base image of `scripts/base-image`; the engine builds the
shipped Containerfile. Both run on this machine in one run, in turn, and medians are
told. The engine is the one that answers at DOCKER_HOST, else one that is started here.

    python benchmarks/image_build.py [--rounds 7]
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
import zipfile
from pathlib import Path

import _installed
from bundle_build import docker_engine, run

ROOT = Path(__file__).resolve().parent.parent
OLMKIT = [sys.executable, "-m", "olmkit", "image"]
BASE = "olmkit-bench-base:v1"
PYPROJECT = """
[project]
name = "bench-operator"
version = "1.0"
dependencies = ["one"]
[tool.olmkit]
image-packages = ["memcached_operator"]
"""


def main() -> None:
    _installed.prepare()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    print(f"image build, Python {platform.python_version()}, {rounds} rounds")
    made = subprocess.run(
        ["sh", str(ROOT / "scripts/base-image")], stdout=subprocess.PIPE, text=True, check=True
    )
    with tempfile.TemporaryDirectory(prefix="olmkit-bench-") as name, contextlib.ExitStack() as up:
        folder = Path(name)
        engine = up.enter_context(docker_engine(folder / "engine"))
        prepare(folder / "project")
        measure(folder, made.stdout.strip(), engine, rounds)


def prepare(project: Path) -> None:
    """A project with the operator's code and Containerfile, and one package that it needs."""
    shutil.copytree(ROOT / "operator/memcached_operator", project / "memcached_operator")
    shutil.copy(ROOT / "operator/Containerfile", project)
    (project / "pyproject.toml").write_text(PYPROJECT)
    (project / "wheels").mkdir()
    with zipfile.ZipFile(project / "wheels/one-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("one.py", "")
        archive.writestr(
            "one-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: one\nVersion: 1.0\n"
        )
        archive.writestr(
            "one-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr("one-1.0.dist-info/RECORD", "one.py,,\none-1.0.dist-info/RECORD,,\n")


def measure(folder: Path, base: str, engine: dict[str, str] | None, rounds: int) -> None:
    project, cache = folder / "project", {"OLMKIT_CACHE": str(folder / "cache")}
    ours = [*OLMKIT, "build", "-q", "--base", base, "--wheels", str(project / "wheels")]
    theirs = ["docker", "build", "-q", "--network", "none", "-f", "Containerfile", "-t", "bench"]
    theirs += ["--build-arg", f"BASE={BASE}", "--build-arg", "PIP_NO_INDEX=1", "."]
    if engine is not None:
        run([*OLMKIT, "copy", "-q", base, f"docker-daemon:{BASE}"], folder, engine)
    mine: dict[str, list[float]] = {"code changed": [], "nothing changed": []}
    other: dict[str, list[float]] = {"code changed": [], "nothing changed": []}
    for number in range(rounds + 1):
        (project / "memcached_operator/round.py").write_text(f"ROUND = {number}\n")
        for kind in mine:
            took = run(ours, project, cache)
            spent = run(theirs, project, engine) if engine is not None else 0.0
            if number:  # the first round fills both caches
                mine[kind].append(took)
                other[kind].append(spent)
    for kind, values in mine.items():
        line = f"  {kind:<16} olmkit {statistics.median(values):6.3f} s"
        if engine is not None:
            theirs_took = statistics.median(other[kind])
            ratio = statistics.median(values) / theirs_took
            line += f"   docker build {theirs_took:6.3f} s   ratio {ratio:.2f}"
        print(line)
    if engine is None:
        print("  there is no Docker engine here: install docker.io, or set DOCKER_HOST")


if __name__ == "__main__":
    os.environ.pop("DOCKER_BUILDKIT", None)
    main()
