"""The samples: projects in olmkit's layout, up to date, tested, and quoted in the documents."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from olmkit.jobs.bundle import generate as bundles
from olmkit.jobs.bundle import validate
from olmkit.jobs.bundle.generate import BundleGenerateOptions
from olmkit.jobs.bundle.validate import CheckOptions
from olmkit.jobs.project import generate

SAMPLES = ("backups-operator", "couchdb-users-operator", "from-kopf/after")
PAGES = (
    "docs/how-to/copy-a-sample.md",
    "docs/how-to/larger-operators.md",
    "docs/how-to/move-from-kopf.md",
)
PLUGINS = ("-p", "no:cacheprovider", "-p", "olmkit.testing.pytest_plugin")
QUOTED = re.compile(
    r"^From \[`([^`]+)`\]\(([^)]+)\):\n\n^```python\n(.*?)^```", re.DOTALL | re.MULTILINE
)


@pytest.mark.parametrize("sample", [*SAMPLES, "guides"])
def test_generated_files_are_up_to_date(sample: str, root: Path) -> None:
    result = generate.generate(root / "samples" / sample, dry_run=True)
    assert [change.path for change in result.changes] == []
    assert result.diagnostics == ()


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_bundle_is_up_to_date_and_valid(sample: str, root: Path) -> None:
    place = root / "samples" / sample
    result = bundles.generate(place, BundleGenerateOptions(version="0.0.1"), dry_run=True)
    assert [change.path for change in result.changes] == []
    (checked,) = validate.validate_bundles([str(place / "bundle")], CheckOptions())
    assert list(checked.diagnostics) == []


@pytest.mark.parametrize("sample", [*SAMPLES, "guides"])
def test_the_tests_of_a_sample_pass_on_the_api_server_double(sample: str, root: Path) -> None:
    place = root / "samples" / sample
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *PLUGINS, "--control-plane=off"],
        cwd=place,
        env=os.environ | {"PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_code_on_a_page_is_that_of_the_file(page: str, root: Path) -> None:
    text = (root / page).read_text()
    quoted = QUOTED.findall(text)
    assert len(quoted) == text.count("```python")
    for name, link, code in quoted:
        file = root / name
        assert ((root / page).parent / link).resolve() == file
        assert _lines(code) in _lines(file.read_text()), f"{page} quotes {name} in an older version"


def _lines(code: str) -> str:
    """Return the lines of code; on a page, the formatter changes indentation and empty lines."""
    return "".join(f"{line.strip()}\n" for line in code.splitlines() if line.strip())
