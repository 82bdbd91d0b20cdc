"""`olmkit catalog render` compared with `opm render`: all bundles at once, and a single one.

Both programs run on this machine in one run, in turn, and the medians are printed. OPM names
the reference program (default: `opm` on PATH); without it only olmkit is measured.
OLMKIT_CASES names the directory of real bundles. The outputs are also compared.
OLMKIT_CATALOGS names directories of whole catalogs, separated by colons, also measured.

    python benchmarks/catalog_render.py [--rounds 7] [-o json|yaml]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import _installed

ROOT = Path(__file__).resolve().parent.parent
CASES = Path(os.environ.get("OLMKIT_CASES", ROOT / ".." / "shared" / "cases"))
OPM = shutil.which(os.environ.get("OPM", "opm"))
# The one bundle that both programs refuse.
REFUSED = "nxiq-operator-certified"


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one run: seconds of wall and CPU time, and peak memory in MB."""

    wall: float
    cpu: float
    memory: float


def main() -> int:
    _installed.prepare()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("-o", "--output", choices=["json", "yaml"], default="json")
    arguments = parser.parse_args()
    bundles = sorted(
        str(path.parent)
        for path in (CASES / "bundles").rglob("manifests")
        if path.is_dir() and REFUSED not in path.parts
    )
    if not bundles:
        print(f"no bundles in {CASES}: set OLMKIT_CASES", file=sys.stderr)
        return 2
    print(
        f"catalog render -o {arguments.output}, Python {platform.python_version()}, "
        f"{arguments.rounds} rounds, {os.cpu_count()} processors"
    )
    compare(f"{len(bundles)} bundle folders", bundles, arguments.output, arguments.rounds)
    compare("1 bundle folder", bundles[:1], arguments.output, arguments.rounds)
    for folder in _installed.catalogs():
        compare(f"{folder.name}, as published", [str(folder)], arguments.output, arguments.rounds)
    return 0


def compare(name: str, bundles: Sequence[str], form: str, rounds: int) -> None:
    ours: list[Cost] = []
    theirs: list[Cost] = []
    digests: set[str] = set()
    for number in range(rounds + 1):
        cost, digest = run([sys.executable, "-m", "olmkit", "catalog", "render", *bundles], form)
        digests.add(digest)
        if number:  # the first round warms the caches of both
            ours.append(cost)
        if OPM is None:
            continue
        cost, digest = run([OPM, "render", *bundles], form)
        digests.add(digest)
        if number:
            theirs.append(cost)
    print(f"  {name}: {'the same bytes' if len(digests) == 1 else 'DIFFERENT BYTES'}")
    print_figures("olmkit", ours)
    if theirs:
        print_figures("opm", theirs)
        print(
            f"    ours to theirs: wall {ratio(ours, theirs, 'wall'):.2f}, "
            f"CPU {ratio(ours, theirs, 'cpu'):.2f}, memory {ratio(ours, theirs, 'memory'):.2f}"
        )


def run(words: Sequence[str], form: str) -> tuple[Cost, str]:
    with tempfile.TemporaryFile() as out:
        begin = time.perf_counter()
        process = subprocess.Popen([*words, "-o", form], stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{words[0]} ended with {process.returncode}")
        out.seek(0)
        digest = hashlib.sha256(out.read()).hexdigest()
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024), digest


def median(costs: Sequence[Cost], what: str) -> float:
    return statistics.median(getattr(cost, what) for cost in costs)


def ratio(ours: Sequence[Cost], theirs: Sequence[Cost], what: str) -> float:
    return median(ours, what) / median(theirs, what)


def print_figures(name: str, costs: Sequence[Cost]) -> None:
    print(
        f"    {name:<7} {median(costs, 'wall'):6.2f} s   {median(costs, 'cpu'):6.2f} s CPU   "
        f"{median(costs, 'memory'):5.0f} MB"
    )


if __name__ == "__main__":
    sys.exit(main())
