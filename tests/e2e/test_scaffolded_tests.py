"""`make lint` and `make test` in an unchanged scaffolded project, with a real API server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from olmkit.jobs.project import scaffold
from olmkit.project.scaffold.api import ApiRequest, DeployImage
from olmkit.project.scaffold.project import InitRequest
from olmkit.project.scaffold.webhook import WebhookRequest

pytestmark = pytest.mark.e2e
PLUGIN = {"PYTEST_PLUGINS": "olmkit.testing.pytest_plugin"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cluster-scoped and namespaced kinds, two versions, webhooks, and pods of an image."""
    folder = tmp_path_factory.mktemp("scaffolded") / "pond-operator"
    scaffold.init(folder, InitRequest(domain="example.com", name="pond-operator", ci="github"))
    for request in (
        ApiRequest(group="nature", version="v1alpha1", kind="Pond"),
        ApiRequest(group="nature", version="v1beta1", kind="Pond", controller=False),
        ApiRequest(group="nature", version="v1", kind="River", namespaced=False),
        ApiRequest(group="nature", version="v1", kind="Cache", deploy=DeployImage(image="m:1")),
    ):
        scaffold.create_api(folder, request)
    webhooks = WebhookRequest(
        group="nature", version="v1alpha1", kind="Pond", validation=True, defaulting=True
    )
    scaffold.create_webhook(folder, webhooks)
    return folder


def run(project: Path, *words: str, **more: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(project), **PLUGIN} | more,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("line", ["ruff check .", "ruff format --check .", "mypy"])
def test_lint_reports_nothing(project: Path, line: str) -> None:
    run(project, *line.split())


def test_all_tests_pass_and_none_is_skipped(project: Path, assets: Path) -> None:
    said = run(project, "pytest", "-q", KUBEBUILDER_ASSETS=str(assets))
    assert " passed" in said
    assert "skipped" not in said


def test_an_invalid_sample_fails(project: Path, assets: Path) -> None:
    sample = project / "config/samples/nature_v1_river.yaml"
    text = sample.read_text()
    sample.write_text(text.replace("spec: {}", "spec: {foo: 3}"))
    try:
        words = [sys.executable, "-m", "pytest", "-q", "tests/test_on_api_server.py"]
        done = subprocess.run(
            words,
            cwd=project,
            capture_output=True,
            text=True,
            check=False,
            env=os.environ
            | {"PYTHONPATH": str(project), "KUBEBUILDER_ASSETS": str(assets), **PLUGIN},
        )
    finally:
        sample.write_text(text)
    assert done.returncode == 1
    assert "spec.foo" in done.stdout
