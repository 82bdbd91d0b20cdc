"""Versions of operators, prepared for each public repository, with its rules and tools.

The output of `submit prepare` must pass `submit check`, operator-sdk's `bundle validate` and, if
the operator is file-based, opm's `validate`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from olmkit.testing.registry import RegistryServer
from tests.conftest import built

pytestmark = pytest.mark.e2e

FEATURES = (
    *("disconnected", "fips-compliant", "proxy-aware", "tls-profiles"),
    *("token-auth-aws", "token-auth-azure", "token-auth-gcp"),
)
PIPELINES = ("operatorhub", "openshift", "certified")


def _call(*words: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=os.environ | {"GOFLAGS": "-mod=mod"},
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def _olmkit(*words: str | Path) -> str:
    return _call(sys.executable, "-m", "olmkit", *words)


def _completed(bundle: Path) -> Path:
    """Add what only authors know: an icon, the features, and the source of the images."""
    [path] = (bundle / "manifests").glob("*.clusterserviceversion.yaml")
    csv: dict[str, Any] = yaml.safe_load(path.read_text())
    annotations = csv["metadata"].setdefault("annotations", {})
    annotations |= {f"features.operators.openshift.io/{name}": "false" for name in FEATURES}
    if not csv["spec"]["icon"][0]["base64data"]:
        csv["spec"]["icon"] = [{"base64data": "PHN2Zy8+", "mediatype": "image/svg+xml"}]
    path.write_text(yaml.safe_dump(csv, sort_keys=False))
    return bundle


def _prepared(to: str, repository: Path, bundle: Path, *words: str) -> None:
    project = ("--cert-project-id", "0123456789abcdef01234567") if to == "certified" else ()
    names = ("--reviewer", "alex", *project)
    _olmkit("submit", "prepare", "--to", to, repository, "--bundle", bundle, *names, *words)


def _accepted(to: str, repository: Path, operator_sdk: str, count: int) -> None:
    found = json.loads(_olmkit("submit", "check", repository, "--to", to, "-o", "json"))
    assert found["result"]["passed"]
    folders = [path.parent for path in sorted(repository.glob("operators/*/*/manifests"))]
    assert len(folders) == count
    for folder in folders:
        _call(operator_sdk, "bundle", "validate", folder)


@pytest.fixture(scope="module")
def shipped(root: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The bundles of both versions of the shipped operator."""
    folder = tmp_path_factory.mktemp("shipped")
    project = folder / "operator"
    shutil.copytree(root / "operator", project, ignore=shutil.ignore_patterns("bundle"))
    found = []
    for version in ("0.0.1", "0.0.2"):
        place = ("--output-dir", f"bundle/{version}", "--input", f"config/releases/{version}")
        _olmkit("bundle", "generate", "-C", project, "--version", version, *place)
        found.append(_completed(project / "bundle" / version))
    return found


@pytest.fixture(scope="module")
def of_go(operator_sdk: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a Go project of operator-sdk."""
    project = tmp_path_factory.mktemp("go") / "toy"
    project.mkdir()
    flags = ("--fetch-deps=false", "--skip-go-version-check")
    _call(operator_sdk, "init", "--repo", "example.org/toy", *flags, cwd=project)
    kind = ("--group", "crew", "--version", "v1", "--kind", "Captain")
    rest = ("--resource", "--controller", "--make=false")
    _call(operator_sdk, "create", "api", *kind, *rest, cwd=project)
    _olmkit("generate", "-C", project)
    _olmkit("bundle", "generate", "-C", project, "--version", "0.1.0")
    return _completed(project / "bundle")


@pytest.mark.parametrize("to", PIPELINES)
def test_prepared_versions_are_accepted(
    to: str, shipped: list[Path], of_go: Path, operator_sdk: str, tmp_path: Path
) -> None:
    (tmp_path / "operators").mkdir()
    for count, bundle in enumerate((*shipped, of_go), start=1):
        _prepared(to, tmp_path, bundle)
        _accepted(to, tmp_path, operator_sdk, count)


@pytest.mark.parametrize("to", ["openshift", "certified"])
def test_templates_and_catalogs_of_a_released_bundle_are_accepted(
    to: str,
    shipped: list[Path],
    of_go: Path,
    operator_sdk: str,
    registry: RegistryServer,
    tmp_path: Path,
) -> None:
    for path in ("operators", "catalogs/v4.18", "catalogs/v4.19"):
        (tmp_path / path).mkdir(parents=True)
    opm = built("opm")
    for count, (name, bundle) in enumerate(
        (("shipped", shipped[0]), ("shipped", shipped[1]), ("toy", of_go)), start=1
    ):
        tag = f"{registry.host}/{to}/{name}-bundle:{count}"
        _olmkit("bundle", "build", bundle, "-t", tag, "--push")
        _prepared(to, tmp_path, bundle, "--template", "semver", "--image", tag)
        _accepted(to, tmp_path, operator_sdk, count)
        for catalog in sorted((tmp_path / "catalogs").iterdir()):
            assert any(catalog.iterdir())
            _call(opm, "validate", catalog)
