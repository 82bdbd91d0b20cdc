"""A repository with a bundle and a catalog, and the olmkit of this environment."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests import golden_inputs

ROOT = Path(__file__).parents[3]
BASES = ROOT / "tests" / "golden" / "bases"


@pytest.fixture
def program() -> Path:
    """Return the path of olmkit."""
    return Path(sys.executable).with_name("olmkit")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a directory with a faulty bundle in `bundle` and a valid one in `sound bundle`."""
    folder = tmp_path / "repository"
    golden_inputs.copy(BASES.parent / "bundle_validate" / "faulty", folder)
    shutil.copytree(ROOT / "bundle/0.0.2", folder / "sound bundle")
    shutil.copytree(BASES / "kettle-catalog", folder / "all")
    return folder
