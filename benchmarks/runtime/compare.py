"""The controller runtime compared with kopf and controller-runtime, in one run on this machine.

The same small controller runs on each, on olmkit with manifests and in its documentation's
style (typed, fresh reads, applied status), with a fast API server in a separate
process: it writes one status when an object's specification changes. All figures of speed
are per second of the controller's CPU time, so that the server and other work on the
machine do not count; the medians of the rounds are printed. kopf is installed into a temporary
virtual environment; controller-runtime needs Go. A peer that is not available
is skipped. Exits with 1 if a figure of olmkit is twice as bad as its target.

    python benchmarks/runtime/compare.py [--rounds 3] [--only olmkit]
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import _installed
import _measure
import _peers


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of the table; `target` is a lower bound where `more` is better."""

    key: str
    words: str
    target: float
    more: bool = False
    form: str = "{:,.0f}"

    def missed(self, value: float, factor: float = 1.0) -> bool:
        return value * factor < self.target if self.more else value > self.target * factor


ROWS = (
    Row(key="writes", words="reconciles with one write, per CPU s", target=1_500, more=True),
    Row(key="events", words="watch events, per CPU s", target=20_000, more=True),
    Row(key="list", words="first list of 10,000, CPU s", target=1.0, form="{:.2f}"),
    Row(key="rss", words="RSS with 10,000 of 1 KB, MiB", target=85, form="{:.1f}"),
    Row(key="growth", words="RSS above base, 10,000 of 2 KB, MiB", target=45, form="{:.1f}"),
    Row(key="base", words="base RSS, MiB", target=45, form="{:.1f}"),
    Row(key="import", words="import, CPU s", target=0.45, form="{:.2f}"),
    Row(key="tasks", words="asyncio tasks with 10,000 objects", target=50),
    Row(key="pause", words="longest pause of the loop, ms", target=25, form="{:.1f}"),
)


def main() -> None:
    _installed.prepare()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="measure this peer alone")
    arguments = parser.parse_args()
    print(f"runtime, Python {platform.python_version()}, {arguments.rounds} rounds")
    with tempfile.TemporaryDirectory(prefix="olmkit-bench-") as name:
        peers = _peers.available(Path(name), only=arguments.only)
        found: dict[str, list[Mapping[str, float]]] = {peer.name: [] for peer in peers}
        for number in range(arguments.rounds):
            for peer in peers:
                print(f"  round {number + 1}: {peer.name}", file=sys.stderr, flush=True)
                found[peer.name].append(_measure.measure(peer))
    medians = {name: middle(rounds) for name, rounds in found.items()}
    show(medians)
    for name in ("olmkit", "olmkit-typed"):
        ours = medians.get(name, {})
        if any(row.key in ours and row.missed(ours[row.key], factor=2.0) for row in ROWS):
            raise SystemExit(1)


def middle(rounds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}


def show(medians: Mapping[str, Mapping[str, float]]) -> None:
    print(f"  {'':<38}{'target':>10}" + "".join(f"{name:>20}" for name in medians))
    for row in ROWS:
        target = ("≥ " if row.more else "≤ ") + row.form.format(row.target)
        cells = [
            f"{row.form.format(figures[row.key]) if row.key in figures else '-':>20}"
            for figures in medians.values()
        ]
        missed = "olmkit" in medians and row.missed(medians["olmkit"][row.key])
        print(f"  {row.words:<38}{target:>10}" + "".join(cells) + ("   missed" if missed else ""))


if __name__ == "__main__":
    main()
