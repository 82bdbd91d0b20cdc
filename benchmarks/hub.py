"""`olmkit hub build` on a generated catalog: time, memory and sizes against budgets.

The catalog has 400 packages and 10,000 bundles, with `olm.csv.metadata` like published catalogs:
a few packages with hundreds of versions, many with a few; APIs with descriptors and
examples; descriptions and APIs that change with each sixth version (of the 2,912 APIs in the
certified catalog of OpenShift 4.18, 428 are distinct). Three builds run one after the other: a
new directory, the same catalog again, and the catalog after a version was added to one package.

    python benchmarks/hub.py [--packages 400] [--bundles 10000] [--keep DIR] [REF]

With REF, that catalog is built instead, twice. The exit code is 1 if a budget is exceeded.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import _installed

MODES: Final = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
WORDS: Final = tuple(
    word
    for line in (
        "operator manages clusters storage backup database stream broker volume replicas nodes",
        "upgrade failover metrics service network policy certificate secret tenant workload",
        "schedule snapshot the of and with each for in a to on from by",
    )
    for word in line.split()
)
CATEGORIES: Final = ("Database", "Storage", "Monitoring", "Networking", "Security", "Big Data")
CAPABILITIES: Final = ("Basic Install", "Seamless Upgrades", "Full Lifecycle", "Auto Pilot")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limits for a build of 400 packages and 10,000 bundles."""

    cpu: float = 60.0  # seconds
    memory: float = 200.0  # MB
    disk: float = 200.0  # MB
    version_page: int = 15_000  # bytes, median
    operator_page: int = 60_000  # bytes, 95 of 100 pages; over the wire
    list_page: int = 300_000  # bytes, over the wire, with the files that it loads
    index: int = 60_000  # bytes, over the wire
    second: float = 0.5  # of the first build


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One build: seconds of wall and CPU time, peak memory in MB, and what it reports."""

    wall: float
    cpu: float
    memory: float
    result: dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("reference", nargs="?")
    parser.add_argument("--packages", type=int, default=400)
    parser.add_argument("--bundles", type=int, default=10_000)
    parser.add_argument("--keep", type=Path, help="write catalog and pages there")
    arguments = parser.parse_args()
    _installed.prepare()
    print(f"hub build, Python {platform.python_version()}, {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.keep or Path(temporary)
        pages = work / "pages"
        if arguments.reference:
            build(arguments.reference, pages, "new directory")
            build(arguments.reference, pages, "the same again")
            measure_sizes(pages)
            return 0
        catalog = work / "catalog"
        write_catalog(catalog, arguments.packages, arguments.bundles)
        first = build(str(catalog), pages, "new directory")
        second = build(str(catalog), pages, "the same again")
        last = sorted(catalog.iterdir())[0] / "catalog.json"
        append_version(last)
        third = build(str(catalog), pages, "one version more")
        sizes = measure_sizes(pages)
    if (arguments.packages, arguments.bundles) != (400, 10_000):
        return 0
    return check_budget(Budget(), first, second, third, sizes)


def build(reference: str, pages: Path, name: str) -> Run:
    words = [sys.executable, "-m", "olmkit", "hub", "build", reference, "-d", str(pages)]
    with tempfile.TemporaryFile() as out:
        begin = time.perf_counter()
        process = subprocess.Popen([*words, "--title", "Large", "-o", "json"], stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"hub build ended with {process.returncode}")
        out.seek(0)
        result = json.load(out)["result"]
    run = Run(
        wall=wall,
        cpu=usage.ru_utime + usage.ru_stime,
        memory=usage.ru_maxrss / 1024,
        result=result,
    )
    print(
        f"  {name:<17} {run.wall:6.1f} s   {run.cpu:6.1f} s CPU   {run.memory:5.0f} MB   "
        f"{result['pages']} pages, {result['rendered']} rendered, {len(result['changed'])} changed"
    )
    return run


# Sizes


def measure_sizes(pages: Path) -> dict[str, float]:
    """Return bytes: of all files, of types of pages, and over the wire."""
    files = [path for path in pages.rglob("*") if path.is_file()]
    packages = [*pages.glob("p/*"), *pages.glob("c/*/p/*")]
    versions = [page for of in packages for page in of.glob("*/index.html")]
    sizes = sorted(one.stat().st_size for one in versions if one.parent.name != "graph")
    graphs = sorted(one.stat().st_size for one in versions if one.parent.name == "graph")
    wire = sorted(packed(of / "index.html") for of in packages)
    first_view = sum(packed(pages / one) for one in ("index.html", "index.js"))
    first_view += sum(packed(one) for one in (pages / "static").iterdir())
    found = {
        "disk": sum(one.stat().st_size for one in files) / 1e6,
        "version_page": statistics.median(sizes),
        "operator_page": wire[len(wire) * 95 // 100],
        "list_page": first_view,
        "index": packed(pages / "index.json"),
    }
    print(
        f"  {len(files)} files, {found['disk']:.0f} MB; version pages: median "
        f"{sizes[len(sizes) // 2]}, 95 % {sizes[len(sizes) * 95 // 100]}, largest {sizes[-1]}; "
        f"largest graph {graphs[-1]}"
    )
    print(
        f"  over the wire: list with scripts {first_view}, operator page median "
        f"{wire[len(wire) // 2]}, 95 % {found['operator_page']:.0f}, largest {wire[-1]}, "
        f"index.json {found['index']}"
    )
    return found


def packed(path: Path) -> int:
    return len(gzip.compress(path.read_bytes(), 6, mtime=0))


def check_budget(
    budget: Budget, first: Run, second: Run, third: Run, sizes: dict[str, float]
) -> int:
    figures = {
        "CPU seconds": (first.cpu, budget.cpu),
        "memory": (max(one.memory for one in (first, second, third)), budget.memory),
        "second build": (second.cpu / first.cpu, budget.second),
        **{name: (value, getattr(budget, name)) for name, value in sizes.items()},
    }
    over = [name for name, (value, most) in figures.items() if value > most]
    for name in over:
        value, most = figures[name]
        print(f"  OVER BUDGET: {name} is {value:.1f}, at most {most:.1f}")
    if second.result["changed"]:
        print("  DIFFERENT BYTES: the second build of the same catalog changed files")
        return 1
    return 1 if over else 0


# The catalog


def write_catalog(folder: Path, packages: int, bundles: int) -> None:
    for number, count in enumerate(counts(packages, bundles)):
        path = folder / f"operator-{number:03}" / "catalog.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        blobs = package(number, count)
        path.write_text("".join(json.dumps(one, indent=2) + "\n" for one in blobs))


def counts(packages: int, bundles: int) -> Sequence[int]:
    """Return how many versions each package has: the largest some hundreds, half of them a few."""
    weights = [1 / (number + 6) for number in range(packages)]
    found = [max(1, int(bundles * one / sum(weights))) for one in weights]
    found[0] += bundles - sum(found)
    return found


def append_version(path: Path) -> None:
    """Add a version on top of the first channel."""
    blobs = list(decoded(path.read_text()))
    channel = next(one for one in blobs if one["schema"] == "olm.channel")
    name = blobs[0]["name"]
    channel["entries"].append(
        {"name": f"{name}.v99.0.0", "replaces": channel["entries"][-1]["name"]}
    )
    last = next(one for one in reversed(blobs) if one["schema"] == "olm.bundle")
    identity = {"type": "olm.package", "value": {"packageName": name, "version": "99.0.0"}}
    others = [one for one in last["properties"] if one["type"] != "olm.package"]
    blobs.append({**last, "name": f"{name}.v99.0.0", "properties": [identity, *others]})
    path.write_text("".join(json.dumps(one, indent=2) + "\n" for one in blobs))


def decoded(text: str) -> Iterator[Any]:
    decoder, place = json.JSONDecoder(), 0
    while place < len(text):
        value, end = decoder.raw_decode(text, place)
        yield value
        place = end + 1


def package(number: int, count: int) -> Iterator[dict[str, Any]]:
    chance = random.Random(number)  # noqa: S311 - an example, no secret
    name = f"operator-{number:03}"
    versions = [f"1.{one // 8}.{one % 8}" for one in range(count)]
    yield {
        "schema": "olm.package",
        "name": name,
        "defaultChannel": "stable",
        "description": text(chance, 200),
        "icon": {"base64data": icon(number), "mediatype": "image/svg+xml"},
    }
    minors = sorted({one // 8 for one in range(count)})[-12:]
    yield channel(name, "stable", versions)
    for minor in minors:
        yield channel(
            name, f"stable-1.{minor}", [v for v in versions if v.startswith(f"1.{minor}.")]
        )
    described = ""
    kinds = chance.choice((1, 1, 2, 3, 3, 5, 8))
    group = f"{name}.example.com"
    owned: list[dict[str, Any]] = []
    samples: list[dict[str, Any]] = []
    for place, version in enumerate(versions):
        if place % 6 == 0:
            described = description(chance)
            owned = [crd(chance, group, one) for one in range(kinds)]
            samples = [sample(chance, group, one["kind"]) for one in owned]
        yield bundle(chance, name, version, described, owned, samples)


def channel(name: str, called: str, versions: Sequence[str]) -> dict[str, Any]:
    entries: list[dict[str, Any]] = []
    for place, version in enumerate(versions):
        entry: dict[str, Any] = {"name": f"{name}.v{version}"}
        if place:
            entry["replaces"] = f"{name}.v{versions[place - 1]}"
        if place % 5 == 4:
            entry["skips"] = [f"{name}.v{one}" for one in versions[place - 3 : place - 1]]
        entries.append(entry)
    return {"schema": "olm.channel", "package": name, "name": called, "entries": entries}


def bundle(
    chance: random.Random,
    name: str,
    version: str,
    described: str,
    owned: Sequence[dict[str, Any]],
    samples: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    group = f"{name}.example.com"
    metadata = {
        "annotations": {
            "alm-examples": json.dumps(samples, indent=2),
            "capabilities": chance.choice(CAPABILITIES),
            "categories": ", ".join(chance.sample(CATEGORIES, 2)),
            "containerImage": f"quay.io/example/{name}:v{version}",
            "createdAt": "2026-01-01T00:00:00Z",
            "description": text(chance, 120),
            "features.operators.openshift.io/disconnected": "true",
            "repository": f"https://github.com/example/{name}",
            "support": "Example",
        },
        "apiServiceDefinitions": {},
        "crdDescriptions": {"owned": owned},
        "description": described,
        "displayName": f"Operator {name[-3:]}",
        "installModes": [{"type": mode, "supported": True} for mode in MODES],
        "keywords": chance.sample(WORDS, 4),
        "links": [{"name": "Documentation", "url": "https://docs.example.com/"}],
        "maintainers": [{"name": "Example", "email": "help@example.com"}],
        "maturity": "stable",
        "minKubeVersion": "1.25.0",
        "provider": {"name": f"Example {chance.randrange(60)}"},
    }
    provided = [
        {"type": "olm.gvk", "value": {"group": group, "kind": one["kind"], "version": "v1"}}
        for one in owned
    ]
    images = [f"quay.io/example/{name}-{part}" for part in ("manager", "agent", "proxy", "backup")]
    return {
        "schema": "olm.bundle",
        "package": name,
        "name": f"{name}.v{version}",
        "image": f"quay.io/example/{name}-bundle@sha256:{digest(chance)}",
        "properties": [
            *provided,
            {"type": "olm.package", "value": {"packageName": name, "version": version}},
            {"type": "olm.csv.metadata", "value": metadata},
        ],
        "relatedImages": [
            {"name": one.rpartition("-")[2], "image": f"{one}@sha256:{digest(chance)}"}
            for one in images
        ],
    }


def sample(chance: random.Random, group: str, kind: str) -> dict[str, Any]:
    return {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": {"name": "sample"},
        "spec": {"replicas": 3, "storage": {"size": "10Gi", "class": text(chance, 12)}},
    }


def crd(chance: random.Random, group: str, number: int) -> dict[str, Any]:
    described = [
        {
            "path": f"field{one}",
            "displayName": f"Field {one}",
            "description": text(chance, 60),
            "x-descriptors": ["urn:alm:descriptor:com.tectonic.ui:text"],
        }
        for one in range(6)
    ]
    return {
        "name": f"things{number}.{group}",
        "kind": f"Thing{number}",
        "version": "v1",
        "displayName": f"Thing {number}",
        "description": text(chance, 90),
        "specDescriptors": described,
        "resources": [
            {"kind": "Deployment", "version": "v1"},
            {"kind": "Service", "version": "v1"},
        ],
    }


def description(chance: random.Random) -> str:
    """Return Markdown text: the median has 1.2 KB, some have 20 KB."""
    size = 20_000 if chance.random() < 0.03 else chance.randrange(300, 2200)
    parts = ["# About", text(chance, 200)]
    while sum(map(len, parts)) < size:
        parts.append(f"## {text(chance, 20).title()}")
        parts += [f"* **{text(chance, 15)}**: {text(chance, 60)}" for _ in range(3)]
        parts.append(text(chance, 200))
    return "\n\n".join(parts)


def text(chance: random.Random, size: int) -> str:
    found = []
    while size > 0:
        found.append(chance.choice(WORDS))
        size -= len(found[-1]) + 1
    return " ".join(found).capitalize()


def icon(number: int) -> str:
    import base64

    color = f"#{number * 2654435761 % 0xFFFFFF:06x}"
    drawn = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40">'
        f'<circle cx="20" cy="20" r="18" fill="{color}"/></svg>'
    )
    return base64.b64encode(drawn.encode()).decode()


def digest(chance: random.Random) -> str:
    return f"{chance.getrandbits(256):064x}"


if __name__ == "__main__":
    sys.exit(main())
