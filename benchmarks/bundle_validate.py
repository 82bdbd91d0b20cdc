"""`olmkit bundle validate` compared with `operator-sdk bundle validate`, both in one run.

    python benchmarks/bundle_validate.py [--rounds N] [--many N] [FOLDER]

FOLDER has bundles (default: the shared cases). The reference is the program
named by OPERATOR_SDK, or `operator-sdk` on PATH. Runs alternate, so that other
work on the machine affects both; quote medians and ratios. At the end there are
N bundles (default: 500), which are those of FOLDER repeated under
other names: one call of olmkit compared with N calls of the reference.
"""

from __future__ import annotations

import argparse
import os
import platform
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
CASES = Path(os.environ.get("OLMKIT_CASES", ROOT / ".." / "shared" / "cases")) / "bundles"


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one run: seconds of wall and CPU time, and peak memory in MB."""

    wall: float
    cpu: float
    memory: float


def run(command: list[str]) -> Cost:
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = 0
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def olmkit(*bundles: str) -> list[str]:
    return [sys.executable, "-m", "olmkit", "bundle", "validate", "-o", "json", *bundles]


def operator_sdk(program: str, bundle: str) -> list[str]:
    return [program, "bundle", "validate", bundle, "-o", "json-alpha1"]


def median(costs: list[Cost]) -> Cost:
    return Cost(
        *(statistics.median(getattr(c, f) for c in costs) for f in ("wall", "cpu", "memory"))
    )


def show(name: str, ours: Cost, theirs: Cost) -> None:
    print(
        f"{name:<34} {ours.wall:7.3f} s {ours.cpu:7.3f} s CPU {ours.memory:6.0f} MB"
        f"   {theirs.wall:7.3f} s {theirs.cpu:7.3f} s CPU {theirs.memory:6.0f} MB"
        f"   wall x{ours.wall / theirs.wall:.2f}  CPU x{ours.cpu / theirs.cpu:.2f}"
    )


def main() -> int:
    _installed.prepare()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=CASES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--many", type=int, default=500, help="0: only the bundles as they are")
    options = parser.parse_args()
    reference = os.environ.get("OPERATOR_SDK") or shutil.which("operator-sdk")
    bundles = sorted(
        {str(path.parent) for path in options.folder.rglob("manifests") if path.is_dir()}
    )
    if reference is None or not bundles:
        print(
            "needs operator-sdk (OPERATOR_SDK or PATH) and a folder with bundles", file=sys.stderr
        )
        return 2

    singles: dict[str, tuple[list[Cost], list[Cost]]] = {name: ([], []) for name in bundles}
    batch: list[Cost] = []
    for _ in range(options.rounds):
        for name in bundles:
            ours, theirs = singles[name]
            ours.append(run(olmkit(name)))
            theirs.append(run(operator_sdk(reference, name)))
        batch.append(run(olmkit(*bundles)))

    ours = [median(pair[0]) for pair in singles.values()]
    theirs = [median(pair[1]) for pair in singles.values()]
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} processors, {len(bundles)} bundles"
    )
    print(f"{'':<34} {'olmkit':<36} operator-sdk")
    show("one bundle (median of all)", median(ours), median(theirs))
    show("one bundle (mean of all)", mean(ours), mean(theirs))
    show("the largest bundle", max(ours, key=lambda c: c.wall), max(theirs, key=lambda c: c.wall))
    compare_all(bundles, median(batch), total(theirs))
    if options.many:
        with tempfile.TemporaryDirectory() as folder:
            measure_many(bundles, options.many, Path(folder), reference)
    return 0


def measure_many(bundles: list[str], count: int, folder: Path, reference: str) -> None:
    """Copies of the bundles: one call of olmkit before and after, one of the reference each."""
    copies = [
        str(shutil.copytree(bundles[number % len(bundles)], folder / f"bundle-{number:04}"))
        for number in range(count)
    ]
    before = run(olmkit(*copies))
    theirs = [run(operator_sdk(reference, name)) for name in copies]
    compare_all(copies, median([before, run(olmkit(*copies))]), total(theirs))


def compare_all(bundles: list[str], ours: Cost, theirs: Cost) -> None:
    show(f"{len(bundles)} in one call / one call each", ours, theirs)
    print(
        f"{len(bundles)} bundles: {theirs.wall / ours.wall:.1f} times as fast, "
        f"{ours.cpu / len(bundles) * 1000:.1f} ms of CPU a bundle against "
        f"{theirs.cpu / len(bundles) * 1000:.1f} ms"
    )


def total(costs: list[Cost]) -> Cost:
    return Cost(
        sum(cost.wall for cost in costs),
        sum(cost.cpu for cost in costs),
        max(cost.memory for cost in costs),
    )


def mean(costs: list[Cost]) -> Cost:
    return Cost(
        *(statistics.fmean(getattr(c, f) for c in costs) for f in ("wall", "cpu", "memory"))
    )


if __name__ == "__main__":
    raise SystemExit(main())
