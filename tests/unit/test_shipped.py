"""The repository is its own largest example: shipped files are the output of its commands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PARTS = ("operator/config", "bundle", "catalog")


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    """A copy of the repository whose shipped parts were rebuilt."""
    copy = tmp_path_factory.mktemp("repository")
    shutil.copytree(root / "operator", copy / "operator")
    shutil.copytree(root / "scripts", copy / "scripts")
    shutil.copytree(root / "bundle", copy / "bundle")
    olmkit = copy / "olmkit"
    olmkit.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m olmkit "$@"\n')
    olmkit.chmod(0o755)
    subprocess.run(
        ["/bin/sh", str(copy / "scripts/shipped")],
        check=True,
        capture_output=True,
        env=os.environ | {"OLMKIT": str(olmkit)},
    )
    return copy


@pytest.mark.parametrize("part", PARTS)
def test_shipped_files_are_the_output_of_the_commands(rebuilt: Path, root: Path, part: str) -> None:
    assert _files(rebuilt / part) == _files(root / part)


def test_two_versions_with_an_edge_between_them_are_shipped(root: Path) -> None:
    catalog = (root / "catalog/memcached-operator/catalog.yaml").read_text()
    assert sorted(path.name for path in (root / "bundle").iterdir()) == ["0.0.1", "0.0.2"]
    assert "  replaces: memcached-operator.v0.0.1\n" in catalog
