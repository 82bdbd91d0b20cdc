"""The hooks for pre-commit: their entries run in a repository as pre-commit runs them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

# The keys of a hook in pre-commit's format that these hooks could use.
KEYS = {
    *("id", "name", "description", "entry", "args", "language", "files", "pass_filenames"),
    "additional_dependencies",
}


@pytest.fixture
def hooks(root: Path) -> dict[str, dict[str, Any]]:
    found = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text())
    return {hook["id"]: hook for hook in found}


def run(
    hook: dict[str, Any], folder: Path, program: Path, args: list[str] | None = None
) -> subprocess.CompletedProcess[str]:
    words = [*shlex.split(hook["entry"]), *(hook.get("args", []) if args is None else args)]
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        words,
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_hook_has_the_keys_that_pre_commit_requires(hooks: dict[str, dict[str, Any]]) -> None:
    assert sorted(hooks) == ["olmkit-bundle-validate", "olmkit-catalog-check", "olmkit-generate"]
    for hook in hooks.values():
        assert set(hook) <= KEYS
        assert hook["language"] == "python"
        assert hook["pass_filenames"] is False
        assert hook["entry"].startswith("olmkit ")


def test_dependencies_are_those_of_the_extra(hooks: dict[str, dict[str, Any]], root: Path) -> None:
    import tomllib

    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    wanted = extras["optional-dependencies"]["go"]
    assert hooks["olmkit-generate"]["additional_dependencies"] == wanted


@pytest.mark.parametrize(
    ("hook", "path", "runs"),
    [
        ("olmkit-bundle-validate", "bundle/manifests/a.yaml", True),
        ("olmkit-bundle-validate", "operators/a/1.0.0/metadata/annotations.yaml", True),
        ("olmkit-bundle-validate", "README.md", False),
        ("olmkit-catalog-check", "catalog/a.json", True),
        ("olmkit-generate", "api/v1/types.py", True),
        ("olmkit-generate", "PROJECT", True),
        ("olmkit-generate", "PROJECTION", False),
    ],
)
def test_a_hook_runs_for_changes_of_its_files(
    hooks: dict[str, dict[str, Any]], hook: str, path: str, runs: bool
) -> None:
    assert bool(re.search(hooks[hook]["files"], path)) is runs


def test_a_faulty_bundle_stops_the_commit(
    hooks: dict[str, dict[str, Any]], repository: Path, program: Path
) -> None:
    hook = hooks["olmkit-bundle-validate"]
    done = run(hook, repository, program)
    assert done.returncode == 1
    assert "MET041" in done.stdout
    assert run(hook, repository, program, ["sound bundle"]).returncode == 0
    assert run(hook, repository, program, ["sound bundle", "--profile", "none"]).returncode == 2


def test_a_valid_catalog_passes(
    hooks: dict[str, dict[str, Any]], repository: Path, program: Path
) -> None:
    hook = hooks["olmkit-catalog-check"]
    catalog = next(path.parent for path in (repository / "all").rglob("*.yaml"))
    done = run(hook, repository, program, [str(catalog.relative_to(repository))])
    assert done.returncode == 0, done.stderr
    assert run(hook, repository, program).returncode != 0  # there is no directory `catalog`


def test_generated_files_that_are_not_up_to_date_stop_the_commit(
    hooks: dict[str, dict[str, Any]], root: Path, tmp_path: Path, program: Path
) -> None:
    import shutil

    project = tmp_path / "operator"
    shutil.copytree(root / "operator", project, ignore=shutil.ignore_patterns("__pycache__"))
    hook = hooks["olmkit-generate"]
    assert run(hook, project, program).returncode == 0
    crd = next(project.glob("config/crd/bases/*.yaml"))
    crd.write_text(crd.read_text() + "# changed\n")
    done = run(hook, project, program)
    assert done.returncode == 1
    assert crd.name in done.stdout + done.stderr
