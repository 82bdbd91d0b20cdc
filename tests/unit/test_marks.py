"""Tests that need real servers have a mark; without it, a run without `--e2e` starts them."""

from __future__ import annotations

from pathlib import Path


def test_modules_of_end_to_end_tests_are_marked(root: Path) -> None:
    folder = root / "tests/e2e"
    modules = sorted(folder.rglob("test_*.py"))
    assert len(modules) > 50

    unmarked = [
        module.relative_to(root).as_posix()
        for module in modules
        if "pytest.mark.e2e" not in module.read_text()
        # These mark the parameters of a fixture.
        and "pytest.mark.e2e" not in _text(module.with_name("conftest.py"))
    ]

    assert unmarked == []


def _text(path: Path) -> str:
    return path.read_text() if path.is_file() else ""
