"""Authors of operators only import from `olmkit.runtime` and `olmkit.testing`.

If their code has a `watches.yaml`, also from `olmkit.hybrid`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOORS = ("olmkit.runtime", "olmkit.testing", "olmkit.hybrid")
IMPORT = re.compile(r"^[-+ ]?\s*(?:from|import) (olmkit[\w.]*)", re.MULTILINE)
# These pages are for users of the toolkit.
TOOLKIT = {
    "docs/how-to/serve-a-catalog.md",
    "docs/how-to/use-as-a-library.md",
    "docs/reference/library.md",
}


def _files(root: Path) -> list[Path]:
    return [
        *root.glob("olmkit/project/templates/**/*.tmpl"),
        *root.glob("operator/**/*.py"),
        *root.glob("docs/**/*.md"),
        root / "README.md",
    ]


def test_code_that_authors_copy_imports_from_the_public_packages(root: Path) -> None:
    deep = {
        f"{path.relative_to(root)}: {module}"
        for path in _files(root)
        if path.relative_to(root).as_posix() not in TOOLKIT
        for module in IMPORT.findall(path.read_text("utf-8"))
        if module not in DOORS
    }
    assert deep == set()


@pytest.mark.parametrize("name", ["from olmkit.kube import objects", "+from olmkit.base import x"])
def test_a_deep_import_is_detected(name: str) -> None:
    assert IMPORT.findall(name)[0] not in DOORS
