"""The code on the pages for authors of operators runs as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FILE = re.compile(
    r"Save it as\s+`([a-z_]+\.py)`:\n\n```python\n(.*?)^```", re.DOTALL | re.MULTILINE
)
HOW_TO = "docs/how-to/operator-in-60-lines.md"


def _files(page: Path) -> dict[str, str]:
    """The files that a page tells its reader to save."""
    return dict(FILE.findall(page.read_text()))


def test_the_operator_in_60_lines_has_no_more(root: Path) -> None:
    operator = _files(root / HOW_TO)["site_operator.py"]
    assert len([line for line in operator.splitlines() if line.strip()]) <= 60


@pytest.mark.parametrize("page", [HOW_TO])
def test_code_of_the_page_passes_its_own_tests(page: str, root: Path, tmp_path: Path) -> None:
    for name, text in _files(root / page).items():
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
