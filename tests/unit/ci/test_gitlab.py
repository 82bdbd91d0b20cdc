"""The jobs for GitLab: their scripts run in sh, with the variables of a pipeline."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

REPORT = "gl-code-quality-report.json"
JUNIT = "olmkit-junit.xml"


@pytest.fixture
def template(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((root / "ci/gitlab/olmkit.gitlab-ci.yml").read_text())
    return found


@pytest.fixture(params=["sh", "bash"])
def job(
    request: pytest.FixtureRequest, template: dict[str, Any], repository: Path, program: Path
) -> Any:
    """Runs a job by its name: GitLab runs the lines of both scripts in one shell."""

    def run(name: str, **variables: str) -> subprocess.CompletedProcess[str]:
        words = [*template[template[name]["extends"]]["before_script"], *template[name]["script"]]
        defaults = {key: str(value) for key, value in template["variables"].items()}
        given = {"OLMKIT_PROGRAM": str(program)} | variables
        return subprocess.run(
            [request.param, "-e", "-c", "\n".join(words)],
            cwd=repository,
            env=os.environ | defaults | given,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_a_faulty_bundle_fails_with_both_reports(job: Any, repository: Path) -> None:
    done = job("olmkit-bundle-validate")
    assert done.returncode == 1
    assert "MET041" in done.stdout
    found = json.loads((repository / REPORT).read_text())
    assert {"MET041", "CSV019"} <= {one["check_name"] for one in found}
    assert len({one["fingerprint"] for one in found}) == len(found)
    assert all(one["location"]["path"].startswith("bundle/") for one in found)
    suites = ElementTree.fromstring((repository / JUNIT).read_text())  # noqa: S314 - our own file
    assert suites.get("failures") != "0"


def test_a_valid_bundle_passes_with_both_reports(job: Any, repository: Path) -> None:
    done = job("olmkit-bundle-validate", OLMKIT_BUNDLE="sound bundle", OLMKIT_ARGS="--ignore\nCSV")
    assert done.returncode == 0, done.stderr
    assert json.loads((repository / REPORT).read_text()) == []
    assert (repository / JUNIT).exists()


def test_a_missing_bundle_leaves_an_empty_report(job: Any, repository: Path) -> None:
    done = job("olmkit-bundle-validate", OLMKIT_BUNDLE="missing")
    assert done.returncode == 2
    assert "missing" in done.stderr
    assert json.loads((repository / REPORT).read_text()) == []
    assert not (repository / JUNIT).exists()


def test_a_catalog_is_checked(job: Any, repository: Path) -> None:
    catalog = next(path.parent for path in (repository / "all").rglob("*.yaml"))
    done = job("olmkit-catalog-check", OLMKIT_CATALOG=str(catalog.relative_to(repository)))
    assert done.returncode == 0, done.stderr


def test_generated_files_are_compared(job: Any, root: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(root / "operator", project, ignore=shutil.ignore_patterns("__pycache__"))
    assert job("olmkit-generate", OLMKIT_PROJECT=str(project)).returncode == 0
    next(project.glob("config/crd/bases/*.yaml")).unlink()
    assert job("olmkit-generate", OLMKIT_PROJECT=str(project)).returncode == 1


@pytest.mark.parametrize("hostile", ["$(touch pwned)`touch pwned`", "'; touch pwned #"])
@pytest.mark.parametrize("name", ["OLMKIT_BUNDLE", "OLMKIT_PROFILE", "OLMKIT_ARGS"])
def test_no_variable_is_executed_as_code(
    job: Any, repository: Path, name: str, hostile: str
) -> None:
    assert job("olmkit-bundle-validate", **{name: hostile}).returncode == 2
    assert not (repository / "pwned").exists()


def test_the_package_is_installed_if_no_program_is_named(job: Any, tmp_path: Path) -> None:
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    for name in ("pip", "olmkit"):
        (bin_ / name).write_text(f'#!/bin/sh\necho "{name} $@" >>{tmp_path}/calls\n')
        (bin_ / name).chmod(0o755)
    path = f"{bin_}{os.pathsep}{os.environ['PATH']}"
    assert job("olmkit-generate", OLMKIT_PROGRAM="", PATH=path).returncode == 0
    assert (tmp_path / "calls").read_text().splitlines() == [
        "pip install --quiet --disable-pip-version-check olmkit[go,serve]",
        "olmkit generate --check -C .",
    ]


def test_reports_are_the_files_that_the_scripts_write(template: dict[str, Any]) -> None:
    reports = template[".olmkit"]["artifacts"]["reports"]
    assert reports == {"codequality": REPORT, "junit": JUNIT}
