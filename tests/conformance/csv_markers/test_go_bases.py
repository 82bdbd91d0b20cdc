"""Base CSVs of Go projects, compared with `operator-sdk generate kustomize manifests` 1.42.3.

A line that only one of the two has must be in `differences.toml` with its reason.
"""

from __future__ import annotations

import difflib
import shutil
import tomllib
from pathlib import Path

import pytest

from olmkit.jobs.project import generate
from olmkit.jobs.project.generate import GenerateOptions, Target

HERE = Path(__file__).parent
CASES = [
    f"bundle-{name}"
    for name in (
        *("base", "basic", "csvmarkers", "digests", "extras", "images", "names"),
        *("packagemanifests", "rbac", "samples", "webhooks"),
    )
]


@pytest.mark.parametrize("case", CASES)
def test_a_base_csv_is_that_of_operator_sdk(case: str, vectors: Path, tmp_path: Path) -> None:
    folder = vectors / "go" / case
    project = tmp_path / "project"
    shutil.copytree(folder / "project", project)

    generate.generate(project, GenerateOptions(targets=frozenset({Target.CSV})))

    (wanted,) = (folder / "expected" / "manifests-base").glob("*.yaml")
    ours = (project / "config" / "manifests" / "bases" / wanted.name).read_text()
    lines = difflib.unified_diff(
        wanted.read_text().splitlines(), ours.splitlines(), n=0, lineterm=""
    )
    changes = [line for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---")]
    listed = tomllib.loads((HERE / "differences.toml").read_text())
    assert changes == listed.get(case, {}).get("lines", [])
