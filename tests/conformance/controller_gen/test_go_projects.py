"""Go projects, compared byte by byte with the output of controller-gen 0.23.0.

No module cache is used: types of Kubernetes come from the built-in table; otherwise
the test would depend on the machine. A run that differs or that only one
of the two refuses must be in `differences.toml` with its reason.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from olmkit.apis import roles, webhooks
from olmkit.apis.crds import manifests
from olmkit.apis.crds.schema_options import Options
from olmkit.apis.findings import Findings
from olmkit.apis.go import source as go_source
from olmkit.apis.go.source import GoOptions
from olmkit.base import documents
from olmkit.base.diagnostics import has_errors
from olmkit.base.tree import Tree
from olmkit.edges.programs import go_modules

HERE = Path(__file__).parent
STAMP = re.compile(rb"    controller-gen\.kubebuilder\.io/version: .*\n")
EMPTY = re.compile(rb"  annotations:\n(?!    )")
# A case that consists of many small packages, and the generator that was run for each.
FOLDERS = {
    "crd-parse": "crd",
    "crd-refused": "crd",
    "rbac-refused": "rbac",
    "webhook-refused": "webhook",
}


@dataclass(frozen=True)
class Run:
    """One run of the reference: its input, and its directories in `expected`."""

    case: str
    outputs: dict[str, str]
    paths: tuple[str, ...] = ("",)
    options: Options = field(default_factory=Options)
    role_name: str = "manager-role"
    role_file: str = "role.yaml"
    ignore_unexported: bool = False
    answer: str = ""

    @property
    def name(self) -> str:
        return f"{self.case}/{self.answer or next(iter(self.outputs.values()))}"


def _crd(case: str, output: str = "crd", **options: Any) -> Run:
    return Run(case, {"crd": output}, options=Options(**options))


RUNS = [
    *(
        _crd(f"crd-{name}")
        for name in (
            *("arrays", "cel", "corev1", "defaults", "docs", "enums", "inline", "maps", "meta"),
            *("recursive", "required", "resource", "special", "strings", "types", "versions"),
            "yaml",
        )
    ),
    *(
        _crd("crd-maxdesclen", f"crd-{limit}", max_description=limit)
        for limit in (0, 1, 20, 60, 200)
    ),
    _crd("crd-meta", "crd-embedded-objectmeta", embedded_object_meta=True),
    _crd("crd-numbers", allow_dangerous_types=True),
    _crd("crd-podspec", max_description=0, embedded_object_meta=True),
    Run("crd-attach", {"crd": "crd", "rbac": "rbac"}),
    Run("crd-multigroup", {"crd": "crd", "rbac": "rbac", "webhook": "webhook"}),
    Run("crd-options", {"crd": "omit"}, ("api",), ignore_unexported=True),
    Run("crd-options", {"crd": "plain"}),
    Run(
        "crd-options",
        {"crd": "preserve"},
        ("api/v1",),
        Options(preserve_unknown_fields=False),
        ignore_unexported=True,
    ),
    Run("mixed-errors", {"crd": "all", "rbac": "all", "webhook": "all"}),
    Run("mixed-errors", {"crd": "only-crd"}),
    Run("mixed-errors", {"rbac": "rbac-marker-package"}, ("marker", "rbac2")),
    Run("mixed-errors", {"webhook": "good-hook"}, ("hook",)),
    Run("rbac-merge", {"rbac": "rbac"}),
    Run("rbac-names", {"rbac": "rbac"}, ("a",)),
    Run("rbac-names", {"rbac": "custom"}, ("a",), role_name="zz-role", role_file="custom.yaml"),
    Run("rbac-names", {"rbac": "empty"}, ("empty",)),
    Run("webhook-all", {"webhook": "webhook"}, ("a", "b")),
    Run("webhook-all", {"webhook": "a"}, ("a",)),
    Run("webhook-all", {"webhook": "b"}, ("b",)),
    Run("webhook-all", {"webhook": "none"}, ("none",)),
    *(
        Run(f"bundle-{name}", {"crd": "crd", "rbac": "rbac", "webhook": "webhook"})
        for name in (
            *("base", "basic", "csvmarkers", "digests", "extras", "images", "names"),
            *("packagemanifests", "rbac", "samples", "webhooks"),
        )
    ),
]


def generated(case: Path, run: Run) -> tuple[dict[str, bytes], bool]:
    """Return the output of olmkit by path below `expected`, and whether the sources are refused."""
    project = case / "project"
    modules = go_modules.ModuleFolders(project, {})
    findings = Findings()
    sources = go_source.read(
        Tree(dict(_files(project, run.paths))),
        modules.module,
        modules,
        findings,
        options=GoOptions(ignore_unexported=run.ignore_unexported),
    )
    written: dict[str, bytes] = {}
    for target, folder in run.outputs.items():
        match target:
            case "crd":
                crds = manifests.crds(sources, findings, run.options)
                written |= {f"{folder}/{name}": _stream([crd]) for name, crd in crds.items()}
            case "rbac":
                found = roles.roles(sources, role_name=run.role_name)
                written |= {f"{folder}/{run.role_file}": _stream(found)} if found else {}
            case _:
                found = webhooks.configurations(sources, findings)
                written |= {f"{folder}/manifests.yaml": _stream(found)} if found else {}
    return written, has_errors(findings)


def _files(project: Path, paths: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    for path in go_modules.list_files(project):
        relative = path.relative_to(project).as_posix()
        if any(not wanted or relative.startswith(wanted + "/") for wanted in paths):
            yield relative, path.read_bytes()


def _stream(objects: list[Any]) -> bytes:
    return b"".join(b"---\n" + documents.dump(one) for one in objects)


def expected(case: Path, run: Run) -> tuple[dict[str, bytes], bool]:
    """Return the output of the reference without its stamp, and whether it failed."""
    answers = case / "expected"
    files = {
        f"{folder}/{path.name}": EMPTY.sub(b"", STAMP.sub(b"", path.read_bytes()))
        for folder in run.outputs.values()
        for path in (answers / folder).glob("*.yaml")
    }
    exits = [answers / f"{folder}.exit" for folder in run.outputs.values()]
    return files, any(path.read_text().strip() != "0" for path in exits if path.exists())


def verdict(case: Path, run: Run) -> str:
    """Return `same`, or how the two differ."""
    ours, is_refused = generated(case, run)
    theirs, they_refuse = expected(case, run)
    if they_refuse:
        return "same" if is_refused else "accepted"
    if is_refused:
        return "refused"
    different = sorted(path for path in ours | theirs if ours.get(path) != theirs.get(path))
    return f"different: {', '.join(different)}" if different else "same"


def listed(name: str) -> str:
    differences = tomllib.loads((HERE / "differences.toml").read_text())
    return str(differences.get(name, {}).get("how", "same"))


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_project_has_the_files_of_controller_gen(run: Run, vectors: Path) -> None:
    assert verdict(vectors / "go" / run.case, run) == listed(run.name)


@pytest.mark.parametrize("case", FOLDERS)
def test_each_small_package_is_read_or_refused_as_in_controller_gen(
    case: str, vectors: Path
) -> None:
    folder = vectors / "go" / case
    options = Options(max_description=0) if case.startswith("crd") else Options()
    wrong = {}
    for package in sorted(path.name for path in (folder / "project").glob("p*")):
        run = Run(case, {FOLDERS[case]: package}, (package,), options)
        how = _snippet(folder, run) if case == "crd-parse" else verdict(folder, run)
        if how != listed(run.name):
            wrong[run.name] = how

    assert wrong == {}


def _snippet(folder: Path, run: Run) -> str:
    """The output of `crd-parse` only has the one field of each schema."""
    ours, is_refused = generated(folder, run)
    if is_refused:
        return "refused"
    lines = next(iter(ours.values())).decode().splitlines(keepends=True)
    start = next(index for index, line in enumerate(lines) if line.startswith("          x:"))
    end = next(index for index, line in enumerate(lines) if line.startswith("        required:"))
    wanted = folder / "expected" / f"{next(iter(run.outputs.values()))}.yaml"
    return "same" if "".join(lines[start:end]) == wanted.read_text() else "different"


def test_plurals_are_those_of_controller_gen(vectors: Path) -> None:
    case = vectors / "go" / "crd-plurals"
    ours, _ = generated(case, Run("crd-plurals", {"crd": "crd"}))

    names = {
        " ".join(re.findall(rb"(?m)^    (?:kind|plural): (.*)$", data)[i].decode() for i in (0, 1))
        for data in ours.values()
    }
    assert names == set((case / "expected" / "plurals.txt").read_text().splitlines())


def test_every_listed_difference_exists(vectors: Path) -> None:
    names = {run.name for run in RUNS} | {
        f"{case}/{path.name}"
        for case in FOLDERS
        for path in (vectors / "go" / case / "project").glob("p*")
    }
    differences = tomllib.loads((HERE / "differences.toml").read_text())

    assert differences.keys() <= names
    assert all(entry["reason"] for entry in differences.values())
