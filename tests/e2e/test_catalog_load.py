"""The catalog server under short load; `benchmarks/catalog_load.py` has the checks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e


def test_every_answer_is_correct_while_the_catalog_changes(root: Path) -> None:
    seconds = os.environ.get("OLMKIT_LOAD_SECONDS", "15")
    words = [root / "benchmarks/catalog_load.py", "--seconds", seconds, "--clients", "40"]
    done = subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wrong answers: 0" in done.stdout
    assert "500 streams" in done.stdout
