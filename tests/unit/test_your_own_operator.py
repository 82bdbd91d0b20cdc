"""The author's tutorial works: its blocks are run in order, except for those on a cluster.

`tests/e2e/cluster/test_your_own_operator.py` runs those.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_the_tutorial_can_be_followed(root: Path, reader_of: Callable[[Path], Any]) -> None:
    reader = reader_of(root / "docs/your-own-operator.md")
    here = [(language, text) for language, where, text in reader.blocks if not where]
    assert len(here) > 10
    for language, text in here:
        said = reader.follow(language, text)
        assert language != "sh" or "warning" not in said
    assert (reader.folder / "catalog/catalog.yaml").read_text().count("schema: olm.bundle") == 1
