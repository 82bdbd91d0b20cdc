"""`olmkit generate crd rbac webhook` compared with controller-gen, on Go projects, both in one run.

    python benchmarks/generate.py [--rounds N] [PROJECT…]

A PROJECT is the directory of a Go module whose dependencies are in the module cache
(default: some of the shared cases). The reference is the program named by
CONTROLLER_GEN, or `controller-gen` on PATH; it needs a Go toolchain. Each uses
a separate copy. Runs alternate, so that other work on the machine affects both;
quote medians and ratios, and whether both wrote the same files.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import _installed

ROOT = Path(__file__).resolve().parent.parent
CASES = Path(os.environ.get("OLMKIT_CASES", ROOT / ".." / "shared" / "cases")) / "go"
DEFAULT = ("crd-types", "crd-corev1", "crd-podspec", "bundle-basic", "crd-multigroup")
STAMP = re.compile(
    rb"  annotations:\n    controller-gen\.kubebuilder\.io/version: .*\n(?!    )"
    rb"|    controller-gen\.kubebuilder\.io/version: .*\n"
)
ENVIRONMENT = {**os.environ, "GOFLAGS": "-mod=mod", "GOWORK": "off"}


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one run: seconds of wall and CPU time, and peak memory in MB."""

    wall: float
    cpu: float
    memory: float


def run(command: list[str], folder: Path) -> Cost:
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, _, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = 0
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def olmkit() -> list[str]:
    return [sys.executable, "-m", "olmkit", "generate", "crd", "rbac", "webhook"]


def controller_gen(program: str) -> list[str]:
    bases = "output:crd:artifacts:config=config/crd/bases"
    return [program, "rbac:roleName=manager-role", "crd", "webhook", "paths=./...", bases]


def copied(project: Path, folder: Path) -> Path:
    shutil.copytree(project, folder, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    shutil.rmtree(folder / "config", ignore_errors=True)
    sums = CASES / "common" / "go.sum"
    if not (folder / "go.sum").exists() and sums.exists():
        shutil.copy(sums, folder / "go.sum")
    return folder


def written(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): STAMP.sub(b"", path.read_bytes())
        for path in sorted((folder / "config").rglob("*.yaml"))
    }


def median(costs: list[Cost]) -> Cost:
    return Cost(
        *(statistics.median(getattr(c, f) for c in costs) for f in ("wall", "cpu", "memory"))
    )


def show(name: str, ours: Cost, theirs: Cost, same: str) -> None:
    print(
        f"{name:<28} {ours.wall:7.2f} s {ours.cpu:7.2f} s CPU {ours.memory:5.0f} MB"
        f"   {theirs.wall:7.2f} s {theirs.cpu:7.2f} s CPU {theirs.memory:5.0f} MB"
        f"   wall x{ours.wall / theirs.wall:.2f}  CPU x{ours.cpu / theirs.cpu:.2f}   {same}"
    )


def main() -> int:
    _installed.prepare()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("projects", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    reference = os.environ.get("CONTROLLER_GEN") or shutil.which("controller-gen")
    projects = options.projects or [CASES / name / "project" for name in DEFAULT]
    if reference is None or not all((project / "go.mod").exists() for project in projects):
        print(
            "needs controller-gen (CONTROLLER_GEN or PATH) and folders of Go modules",
            file=sys.stderr,
        )
        return 2
    print(f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores")
    for project in projects:
        with tempfile.TemporaryDirectory() as scratch:
            mine = copied(project, Path(scratch) / "ours")
            other = copied(project, Path(scratch) / "theirs")
            ours: list[Cost] = []
            theirs: list[Cost] = []
            for _ in range(options.rounds):
                ours.append(run(olmkit(), mine))
                theirs.append(run(controller_gen(reference), other))
            found, wanted = written(mine), written(other)
            equal = sum(found.get(path) == data for path, data in wanted.items())
            same = f"{equal} of {len(wanted)} files equal"
        name = project.name if project.name != "project" else project.parent.name
        show(name, median(ours), median(theirs), same)
    return 0


if __name__ == "__main__":
    sys.exit(main())
