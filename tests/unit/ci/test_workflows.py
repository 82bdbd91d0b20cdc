"""The workflows of this repository: errors that GitHub would report, and unsafe settings."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).resolve().parents[3] / ".github/workflows"
FILES = sorted(FOLDER.glob("*.yml"))
# https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax
TOP = {"name", "on", "permissions", "concurrency", "jobs", "env", "defaults", "run-name"}
JOB = {
    *("name", "runs-on", "needs", "permissions", "strategy", "steps", "environment", "env", "if"),
    *("timeout-minutes", "outputs", "concurrency", "defaults", "container", "services"),
}
STEP = {
    *("name", "id", "uses", "with", "run", "env", "if", "shell", "working-directory"),
    *("timeout-minutes", "continue-on-error"),
}
SCOPES = {"contents", "id-token", "attestations", "packages", "security-events"}
PINNED = re.compile(r"[\w.-]+/[\w./-]+@(v\d+\.\d+\.\d+|[0-9a-f]{40})")
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")


def _load(path: Path) -> dict[str, Any]:
    # `on` is a boolean in YAML 1.1, and a key in GitHub's reader.
    return {
        "on" if key is True else key: value
        for key, value in yaml.safe_load(path.read_text()).items()
    }


def _steps(workflow: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            yield job, step


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_keys_are_those_that_github_supports(path: Path) -> None:
    workflow = _load(path)
    assert set(workflow) <= TOP
    assert {"name", "on", "jobs", "permissions"} <= set(workflow)
    for name, job in workflow["jobs"].items():
        assert re.fullmatch(r"[A-Za-z_][\w-]*", name)
        assert set(job) <= JOB
        assert {"runs-on", "steps"} <= set(job)
        needed = job.get("needs", [])
        assert set([needed] if isinstance(needed, str) else needed) <= set(workflow["jobs"])
        for step in job["steps"]:
            assert set(step) <= STEP
            assert ("run" in step) != ("uses" in step)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_actions_are_pinned_and_permissions_are_minimal(path: Path) -> None:
    workflow = _load(path)
    assert "write" not in str(workflow["permissions"])
    for job, step in _steps(workflow):
        assert set(job.get("permissions", {})) <= SCOPES
        if "uses" in step:
            assert PINNED.fullmatch(step["uses"]), step["uses"]
        if str(step.get("uses", "")).startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
        if str(step.get("uses", "")).startswith(("pypa/", "actions/attest-")):
            assert job["permissions"]["id-token"] == "write"
            assert not {"password", "user"} & set(step.get("with", {}))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_scripts_are_bash_and_take_values_from_variables(path: Path, root: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(), re.MULTILINE))
    for _, step in _steps(_load(path)):
        script = step.get("run")
        if script is None:
            continue
        subprocess.run(["bash", "-n", "-c", script], check=True)
        assert not EXPRESSION.search(script), "GitHub would insert the value into the script"
        for target in re.findall(r"\bmake (?:--silent )?([a-z-]+)", script):
            assert target in targets, f"no such target: {target}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_expressions_name_existing_values(path: Path) -> None:
    text = path.read_text()
    workflow = _load(path)
    ids = {step["id"] for _, step in _steps(workflow) if "id" in step}
    for expression in EXPRESSION.findall(text):
        words = expression.strip()
        assert re.fullmatch(r"(github|matrix|steps)(\.[\w-]+)+", words), words
        if words.startswith("steps."):
            _, name, kind, _ = words.split(".")
            assert (name in ids, kind) == (True, "outputs")
        if words.startswith("matrix."):
            assert any(
                words.partition(".")[2] in job.get("strategy", {}).get("matrix", {})
                for job in workflow["jobs"].values()
            )


def test_a_tag_only_releases_tested_commits() -> None:
    jobs = _load(FOLDER / "release.yml")["jobs"]
    assert set(jobs["publish"]["needs"]) == {"build", "test"}
    assert set(jobs["image"]["needs"]) == {"build", "test"}
    assert set(jobs["release"]["needs"]) == {"publish", "image"}
    assert jobs["publish"]["environment"] == "release"
