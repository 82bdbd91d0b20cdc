"""`olmkit image build` compared with `docker build` with a warm cache: no change, changed code.

All programs build the code of the shipped operator with one small package, from a
directory of wheels, on the base image of `scripts/base-image`; the engine builds the
shipped Containerfile, with each builder that `docker build` has here (`_docker`). All run
on this machine in one run, in turn, and the medians are printed.

    python benchmarks/image_build.py [--rounds 7]
"""

from __future__ import annotations

import argparse
import contextlib
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import _docker
import _installed
from _docker import Environment
from bundle_build import report, run

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
        builders = up.enter_context(_docker.builders(folder / "engine"))
        prepare(folder / "project")
        measure(folder, made.stdout.strip(), builders, rounds)


def prepare(project: Path) -> None:
    """Create a project with the operator's code and Containerfile, and one required package."""
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


def measure(folder: Path, base: str, builders: Mapping[str, Environment], rounds: int) -> None:
    project, cache = folder / "project", {"OLMKIT_CACHE": str(folder / "cache")}
    ours = [*OLMKIT, "build", "-q", "--base", base, "--wheels", str(project / "wheels")]
    theirs = ["docker", "build", "-q", "--network", "none", "-f", "Containerfile", "-t", "bench"]
    theirs += ["--build-arg", f"BASE={BASE}", "--build-arg", "PIP_NO_INDEX=1", "."]
    for environment in builders.values():
        run([*OLMKIT, "copy", "-q", base, f"docker-daemon:{BASE}"], folder, environment)
    kinds = ("code changed", "nothing changed")
    took: dict[tuple[str, str], list[float]] = defaultdict(list)
    for number in range(rounds + 1):
        (project / "memcached_operator/round.py").write_text(f"ROUND = {number}\n")
        for kind in kinds:
            spent = {"olmkit": run(ours, project, cache)}
            for builder, environment in builders.items():
                spent[builder] = run(theirs, project, environment)
            if number:  # the first round fills all caches
                for side, seconds in spent.items():
                    took[kind, side].append(seconds)
    for kind in kinds:
        report(kind, {side: took[kind, side] for side in ("olmkit", *builders)})


if __name__ == "__main__":
    main()
