"""`olmkit catalog validate` compared with `opm validate`: wall time, CPU time, peak memory.

Both programs run on this machine in one run, in turn, and the medians are printed. OPM names
the reference program (default: `opm` on PATH); without it only olmkit is measured.
OLMKIT_CASES names the directory of real catalogs; a large one consists of copies of them
under other names, as one JSON file with everything in it, or as a file for each package.
OLMKIT_CATALOGS names directories of whole catalogs, separated by colons, also measured.

    python benchmarks/catalog_validate.py [--rounds 7] [--megabytes 100]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import _installed

from olmkit.catalog.blobs import fbc, wire
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.bundles import migrate, render
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.bundles.render import RenderedBundle
from olmkit.edges import disk

ROOT = Path(__file__).resolve().parent.parent
CASES = Path(os.environ.get("OLMKIT_CASES", ROOT / ".." / "shared" / "cases"))
OPM = shutil.which(os.environ.get("OPM", "opm"))

Figures = dict[str, float]


def main() -> None:
    _installed.prepare()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--megabytes", type=int, default=100)
    arguments = parser.parse_args()
    print(f"catalog validate, Python {platform.python_version()}, {arguments.rounds} rounds")
    with tempfile.TemporaryDirectory(prefix="olmkit-bench-") as name:
        for shape in ("one JSON file", "a JSON file for each package", "one YAML file"):
            folder = Path(name) / shape.replace(" ", "-")
            size = write(shape, folder, arguments.megabytes * 1_000_000)
            print(f"  {shape}, {size / 1e6:.0f} MB")
            compare(folder, arguments.rounds)
            shutil.rmtree(folder)
    for folder in _installed.catalogs():
        print(f"  {folder.name}, as published")
        compare(folder, arguments.rounds)


def write(shape: str, folder: Path, wanted: int) -> int:
    """Write a catalog of about that size (YAML: a tenth) into a directory; return its size."""
    folder.mkdir(parents=True)
    size = number = 0
    form: Any = "yaml" if "YAML" in shape else "json"
    if form == "yaml":
        wanted //= 10
    while size < wanted:
        for package, blobs in copies(number):
            name = f"{package}.{form}" if "each" in shape else f"catalog.{form}"
            data = fbc.dump(blobs, form)
            with (folder / name).open("ab") as stream:
                stream.write(data)
            size += len(data)
            if size >= wanted:
                break
        number += 1
    return size


def copies(number: int) -> Iterator[tuple[str, list[Blob]]]:
    """Yield each real catalog under another name, unchanged and with its manifests migrated."""
    for folder in sorted((CASES / "catalogs").glob("*/*")):
        blobs = list(fbc.load(disk.read_tree(folder)))
        for level in (Level.NONE, Level.ALL):
            name = f"{folder.name[:40]}-{number}-{level.value[:1]}"
            yield name, [renamed(blob, name, level) for blob in blobs]


def renamed(blob: Blob, package: str, level: Level) -> Blob:
    if blob.schema == wire.BUNDLE:
        blob = migrate.migrate(render.sort_properties(RenderedBundle.of(blob)), level, "").blob()
    value = blob.value
    if blob.schema == wire.PACKAGE:
        return Blob.of({**value, "name": package})
    for item in value.get("properties") or ():
        if item["type"] == "olm.package":
            item["value"]["packageName"] = package
    return Blob.of({**value, "package": package})


def compare(folder: Path, rounds: int) -> None:
    ours: list[Figures] = []
    theirs: list[Figures] = []
    for number in range(rounds + 1):
        mine = run([sys.executable, "-m", "olmkit", "catalog", "validate", "-q", str(folder)])
        other = run([OPM, "validate", str(folder)]) if OPM else {}
        if number:  # the first round warms the caches of both
            ours.append(mine)
            theirs.append(other)
    for key in ours[0]:
        mine_median = statistics.median(figures[key] for figures in ours)
        line = f"    {key:<16} olmkit {mine_median:8.2f}"
        if OPM:
            other_median = statistics.median(figures[key] for figures in theirs)
            line += f"   opm {other_median:8.2f}   ratio {mine_median / other_median:.2f}"
        print(line)


# Measured by a separate process, since a child's peak is at least its parent's size at the fork.
MEASURE = """
import json, os, subprocess, sys, time
begin = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
wall = time.perf_counter() - begin
cpu = usage.ru_utime + usage.ru_stime
print(json.dumps([os.waitstatus_to_exitcode(status), wall, cpu, usage.ru_maxrss / 1024]))
"""


def run(words: Sequence[str]) -> Figures:
    """Return wall seconds, CPU seconds and peak memory of one process that must succeed."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", MEASURE, *words], capture_output=True, check=True
    )
    code, wall, cpu, peak = json.loads(done.stdout)
    if code:
        raise SystemExit(f"{' '.join(words)}: {done.stderr.decode(errors='replace')[:2000]}")
    return {"wall, s": wall, "CPU, s": cpu, "peak memory, MB": peak}


if __name__ == "__main__":
    main()
