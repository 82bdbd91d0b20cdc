"""Writes `olmkit/apis/data/kubernetes.json.xz`, the table of common Kubernetes types.

    python scripts/kubernetes_types.py v0.36.0 v0.37.0 …

Needs a Go toolchain, whose client fetches the modules of each named release; the
types that olmkit's own reader finds in them are written to the table. Run it after a minor
release of Kubernetes, with the releases that the table is to contain.
"""

from __future__ import annotations

import itertools
import json
import lzma
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from olmkit.apis.findings import Findings
from olmkit.apis.go import packages as go_packages
from olmkit.apis.go import table as go_table
from olmkit.apis.go.model import GoDeclaration, GoPackage, Name, Other, StructBody

TABLE = Path(__file__).parent.parent / "olmkit/apis/data/kubernetes.json.xz"
PACKAGES = {
    "k8s.io/api": (
        "admissionregistration/v1", "apps/v1", "autoscaling/v1", "autoscaling/v2", "batch/v1",
        "coordination/v1", "core/v1", "discovery/v1", "networking/v1", "policy/v1", "rbac/v1",
        "scheduling/v1", "storage/v1",
    ),
    "k8s.io/apimachinery": (
        "pkg/api/resource", "pkg/apis/meta/v1", "pkg/apis/meta/v1/unstructured", "pkg/runtime",
        "pkg/types", "pkg/util/intstr",
    ),
    "k8s.io/apiextensions-apiserver": ("pkg/apis/apiextensions/v1",),
}  # fmt: skip
# Types of the standard library that a CRD can represent.
STANDARD = {
    "net/http": ("Header",),
    "net/url": ("Values",),
    "time": ("Duration", "Month", "Weekday"),
}


def main() -> None:
    table: dict[str, Any] = {"packages": {}}
    forms: dict[str, dict[str, dict[str, list[str]]]] = defaultdict(lambda: defaultdict(dict))
    for version, (module, folders) in itertools.product(sys.argv[1:], PACKAGES.items()):
        release = version.rpartition(".")[0]
        root = downloaded(module, version)
        for found in packages(module, folders, root):
            entry = table["packages"].setdefault(found.path, head(module, found))
            entry["releases"].append(release)
            entry["methods"] = methods(found)
            for name in sorted(found.declarations):
                if is_wanted(found.declarations[name]):
                    form = json.dumps(go_table.encode(found.declarations[name]))
                    forms[found.path][name].setdefault(form, []).append(release)
    goroot = Path(output("go", "env", "GOROOT"))
    for path, names in STANDARD.items():
        library = package(path, goroot / "src" / path)
        if library is None:
            raise SystemExit(f"{path} is not in {goroot}")
        table["packages"][path] = head("", library) | {"releases": [""]}
        for name in names:
            form = json.dumps(go_table.encode(library.declarations[name]))
            forms[path][name][form] = [""]
    for path, types in forms.items():
        table["packages"][path]["types"] = {
            name: [[within, json.loads(form)] for form, within in by_form.items()]
            for name, by_form in types.items()
        }
    data = msgspec.json.encode(table)
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
    packed = lzma.compress(data, check=lzma.CHECK_CRC32, filters=filters)
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_bytes(packed)
    print(f"{len(data) / 1e6:.1f} MB, {len(packed) / 1e3:.0f} kB packed")


def head(module: str, found: GoPackage) -> dict[str, Any]:
    markers = [comment.text for comment in found.comments]
    kept = [text for text in markers if text.startswith(("groupName", "kubebuilder:"))]
    return {"module": module, "name": found.name, "releases": [], "methods": {}, "markers": kept}


def methods(found: GoPackage) -> dict[str, list[str]]:
    marshal = {"MarshalJSON", "MarshalText"}
    return {
        name: sorted(marshal & names)
        for name, names in sorted(found.methods.items())
        if marshal & names and name in found.declarations
    }


def downloaded(module: str, version: str) -> Path:
    with tempfile.TemporaryDirectory() as empty:
        said = output("go", "mod", "download", "-json", f"{module}@{version}", folder=empty)
    return Path(json.loads(said)["Dir"])


def output(*command: str, folder: str | None = None) -> str:
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def packages(module: str, folders: Iterable[str], root: Path) -> Iterator[GoPackage]:
    """Return the packages of a module that exist in this release."""
    for folder in folders:
        found = package(f"{module}/{folder}", root / folder)
        if found is not None:
            yield found


def package(path: str, folder: Path) -> GoPackage | None:
    files = {str(file): file.read_bytes() for file in sorted(folder.glob("*.go"))}
    return go_packages.read_package(path, files, Findings(), is_own=False) if files else None


def is_wanted(declaration: GoDeclaration) -> bool:
    """Return whether a field can have the type; lists cannot be in a CRD."""
    if isinstance(declaration.type, Other):
        return False
    fields = declaration.type.fields if isinstance(declaration.type, StructBody) else ()
    return all(
        one.names or not isinstance(one.type, Name) or one.type.name != "ListMeta" for one in fields
    )


if __name__ == "__main__":
    main()
