"""The generated pages of the reference are up to date."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "page",
    [
        "commands_page",
        "markers_page",
        "types_page",
        "watches_page",
        "library_pages",
        "man_pages",
    ],
)
def test_a_page_of_the_reference_is_up_to_date(
    page: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    made = runpy.run_path(str(root / "scripts/reference_docs.py"))[page]()
    for path, file in made.items():
        assert (root / path).read_bytes() == file.data, "run `make docs`"
