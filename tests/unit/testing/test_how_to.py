"""The code on the page about testing operators is a test."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

PLUGIN = ("-p", "no:cacheprovider", "-p", "olmkit.testing.pytest_plugin")


def _code(root: Path) -> str:
    text = (root / "docs/how-to/test-an-operator.md").read_text()
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    return f"from __future__ import annotations\n{code}"


def _page(root: Path) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(_code(root), "page", "exec"), names)  # noqa: S102
    return names


def test_the_operator_of_the_page_does_what_the_page_says(root: Path) -> None:
    names = _page(root)
    names["test_configmap_gets_its_label"]()
    names["test_role_is_enough"]()
    assert callable(names["with_a_real_server"])


def test_the_tests_of_the_page_pass_in_pytest(root: Path, tmp_path: Path) -> None:
    (tmp_path / "test_page.py").write_text(_code(root))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *PLUGIN, "--control-plane=off", "test_page.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "3 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
