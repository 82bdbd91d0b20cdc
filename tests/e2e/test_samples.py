"""The tests of the samples with a real API server, their style, and their types."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

PLUGIN = {"PYTEST_PLUGINS": "olmkit.testing.pytest_plugin"}
SAMPLES = ("backups-operator", "couchdb-users-operator", "from-kopf/after", "guides")


def run(place: Path, *words: str, **more: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=place,
        env=os.environ
        | PLUGIN
        | {"PYTHONPATH": str(place), "MYPYPATH": f"{place}:{place}/tests"}
        | more,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("sample", SAMPLES)
def test_all_tests_pass_and_none_is_skipped(sample: str, root: Path, assets: Path) -> None:
    said = run(
        root / "samples" / sample,
        *("pytest", "-q", "-p", "no:cacheprovider"),
        KUBEBUILDER_ASSETS=str(assets),
    )
    assert " passed" in said
    assert "skipped" not in said


@pytest.mark.parametrize("sample", SAMPLES)
def test_types_hold_in_the_tests_too(sample: str, root: Path, tmp_path: Path) -> None:
    place = root / "samples" / sample
    tests = sorted(str(path) for path in (place / "tests").glob("*.py"))
    run(place, "mypy", "--strict", "--cache-dir", str(tmp_path), *tests)
