"""The cost of a start: CPU time and imported modules of each command's help, and of small jobs.

Each process runs several times and the minimum CPU time counts, which other work on the machine
affects least. OPM and OPERATOR_SDK name the reference programs (default: on PATH); a
missing one is skipped. OLMKIT_CASES names the directory of real bundles, for the small jobs.

    python benchmarks/start_up.py [--rounds 5] [--summary]

`--summary` is what CI prints: the fastest, the median and the slowest commands.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import _installed

from olmkit.cli.table import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
CASES = Path(os.environ.get("OLMKIT_CASES", ROOT / ".." / "shared" / "cases"))
OPM = shutil.which(os.environ.get("OPM", "opm"))
OPERATOR_SDK = shutil.which(os.environ.get("OPERATOR_SDK", "operator-sdk"))
# Prints how many modules a command has imported, after the command's own output.
COUNT = (
    "import sys\n"
    "from olmkit.cli import main\n"
    "main.run(sys.argv[1:])\n"
    "print(len(sys.modules), file=sys.stderr)\n"
)


def main() -> None:
    _installed.prepare()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--summary", action="store_true")
    arguments = parser.parse_args()
    rounds = arguments.rounds
    print(f"start-up, Python {platform.python_version()}, least CPU time of {rounds} runs")
    print_figures("python -c pass", [sys.executable, "-c", "pass"], rounds)
    if arguments.summary:
        summarise(rounds)
        return
    for line in ("--help", "--version", *(f"{path} --help" for path in COMMANDS)):
        words = line.split()
        print_figures(f"olmkit {line}", ours(*words), rounds, f"{modules(words):5} modules")
    for program in (OPM, OPERATOR_SDK):
        if program:
            print_figures(f"{Path(program).name} --help", [program, "--help"], rounds)
    bundle = next(iter(sorted((CASES / "bundles").rglob("manifests"))), None)
    if bundle is not None:
        small_jobs(str(bundle.parent), rounds)


def summarise(rounds: int) -> None:
    """Print the help of olmkit, and of its commands: the fastest, the median, the slowest three."""
    print_figures("olmkit --help", ours("--help"), rounds, f"{modules(['--help']):5} modules")
    measured = sorted((best(ours(*path.split(), "--help"), rounds), path) for path in COMMANDS)
    for seconds, path in (measured[0], measured[len(measured) // 2], *measured[-3:]):
        count = modules([*path.split(), "--help"])
        show(f"olmkit {path} --help", seconds, f"{count:5} modules")
    bundle = str(ROOT / "bundle/0.0.1")
    for path in ("bundle validate", "catalog render"):
        print_figures(f"olmkit {path} BUNDLE", ours(*path.split(), bundle), rounds)


def small_jobs(bundle: str, rounds: int) -> None:
    """Print the cost of one bundle validated and rendered, and that of the reference."""
    print_figures("olmkit bundle validate", ours("bundle", "validate", bundle), rounds)
    if OPERATOR_SDK:
        words = [OPERATOR_SDK, "bundle", "validate", bundle]
        print_figures("operator-sdk bundle validate", words, rounds)
    print_figures("olmkit catalog render", ours("catalog", "render", bundle), rounds)
    if OPM:
        print_figures("opm render", [OPM, "render", bundle], rounds)


def ours(*words: str) -> list[str]:
    return [sys.executable, "-m", "olmkit", *words]


def modules(words: Sequence[str]) -> int:
    done = subprocess.run(
        [sys.executable, "-c", COUNT, *words], capture_output=True, text=True, check=True
    )
    return int(done.stderr.split()[-1])


def print_figures(name: str, words: Sequence[str], rounds: int, more: str = "") -> None:
    show(name, best(words, rounds), more)


def show(name: str, seconds: float, more: str) -> None:
    print(f"  {name:<42} {seconds * 1000:6.0f} ms {more}")


def best(words: Sequence[str], rounds: int) -> float:
    """Return the minimum CPU time of several runs, in seconds."""
    return min(cpu(words) for _ in range(rounds))


def cpu(words: Sequence[str]) -> float:
    """Return the CPU seconds of one process."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
