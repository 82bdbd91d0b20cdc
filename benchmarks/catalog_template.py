"""`olmkit catalog template` compared with `opm alpha render-template`: semver and basic templates.

The bundles are images in a registry on loopback (Debian's package `docker-registry`), so each run
pulls them again, as in a pipeline. Both programs run on this machine in one run, in turn, and the
medians are printed. OPM names the reference program (default: `opm` on PATH); without it only
olmkit is measured. OLMKIT_CASES names the directory of the bundles. The outputs are also compared;
a release of opm other than 1.65 to 1.73 needs its `--release`.

    python benchmarks/catalog_template.py [--rounds 5] [--bundles 4 40 200] [--release 1.73]
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import _installed

from olmkit.edges.images.access_settings import Access
from olmkit.jobs.image import publish
from olmkit.jobs.image.publish import PublishOptions
from olmkit.testing import registry
from olmkit.testing.registry import RegistryServer

ROOT = Path(__file__).resolve().parent.parent
CASES = Path(os.environ.get("OLMKIT_CASES", ROOT / ".." / "shared" / "cases"))
SOURCE = CASES / "rules" / "templates" / "bundles" / "pulley" / "1.1.0"
OPM = shutil.which(os.environ.get("OPM", "opm"))
LAST_WITH_STREAMS = 43  # later releases only read basic templates that are one document
LAST_THAT_MIGRATES = 45  # opm 1.28 to 1.45 always wrote `olm.csv.metadata`


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
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bundles", type=int, nargs="+", default=[4, 40, 200])
    parser.add_argument("--release", default="1.73")
    arguments = parser.parse_args()
    minor = int(arguments.release.split(".")[1])
    if not SOURCE.is_dir():
        print(f"no bundle in {SOURCE}: set OLMKIT_CASES", file=sys.stderr)
        return 2
    if registry.program() is None:
        print("docker-registry is not installed", file=sys.stderr)
        return 2
    print(
        f"catalog template, Python {platform.python_version()}, {arguments.rounds} rounds, "
        f"{os.cpu_count()} processors"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with RegistryServer(folder=folder / "registry") as server:
            images = list(publish_all(server.host, max(arguments.bundles), folder))
            for count in arguments.bundles:
                for kind, text in templates(images[:count], minor):
                    path = folder / f"{kind}.yaml"
                    path.write_text(text, encoding="utf-8")
                    compare(f"{kind}, {count} bundles", kind, path, arguments, minor)
    return 0


def publish_all(host: str, count: int, folder: Path) -> Iterator[str]:
    """Build several versions of one bundle, each in a separate image."""
    for number in range(count):
        version = f"1.{number // 10}.{number % 10}"
        target = folder / "bundle"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(SOURCE, target)
        for path in target.rglob("*.yaml"):
            path.write_text(path.read_text("utf-8").replace("1.1.0", version), "utf-8")
        image = f"{host}/pulley:{version}"
        options = PublishOptions(project=folder, target=image, push=True)
        asyncio.run(publish.build_bundle("bundle", options, Access()))
        yield image


def templates(images: Sequence[str], minor: int) -> Iterator[tuple[str, str]]:
    listed = "".join(f"  - image: {image}\n" for image in images)
    yield (
        "semver",
        f"schema: olm.semver\ngenerateMajorChannels: true\nstable:\n  bundles:\n{listed}",
    )
    if minor <= LAST_WITH_STREAMS:
        yield "basic", "".join(f"---\nschema: olm.bundle\nimage: {image}\n" for image in images)
    else:
        bundles = "".join(f"- schema: olm.bundle\n  image: {image}\n" for image in images)
        yield "basic", f"schema: olm.template.basic\nentries:\n{bundles}"


def compare(name: str, kind: str, path: Path, arguments: argparse.Namespace, minor: int) -> None:
    migrated = ["--migrate", "all"] if minor <= LAST_THAT_MIGRATES else []
    release = ["--opm-release", arguments.release] if kind == "semver" else []
    ours_words = [sys.executable, "-m", "olmkit", "catalog", "template", kind, str(path)]
    theirs_words = [OPM or "", "alpha", "render-template", kind, str(path), "--use-http"]
    ours: list[Cost] = []
    theirs: list[Cost] = []
    digests: set[str] = set()
    for number in range(arguments.rounds + 1):
        cost, digest = run([*ours_words, *migrated, *release])
        digests.add(digest)
        if number:  # the first round warms the caches of both
            ours.append(cost)
        if OPM is None:
            continue
        cost, digest = run(theirs_words)
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


def run(words: Sequence[str]) -> tuple[Cost, str]:
    with tempfile.TemporaryFile() as out:
        begin = time.perf_counter()
        process = subprocess.Popen([*words, "-o", "yaml"], stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(words)} ended with {process.returncode}")
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
