"""Every marker is used by a golden case, in Python and in Go, with the same meaning."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from olmkit.apis.markers import pages as marker_pages

CASES = Path(__file__).parent / "generate"
CRD = "expected/files/config/crd/bases/toys.example.com_toys.yaml"
# Go's fields have no defaults that could be disabled.
ONLY_PYTHON = {"olmkit:nodefault"}


@pytest.mark.parametrize("language", ["py", "go"])
def test_every_marker_has_a_golden_case(language: str) -> None:
    sources = sorted(CASES.glob(f"*/input/**/*.{language}"))
    text = "\n".join(path.read_text(errors="replace") for path in sources)
    names = {row.name for row in marker_pages.rows() if row.is_used}

    unused = {
        name
        for name in names
        if not re.search(rf"^\s*(?:#|//) ?\+{re.escape(name)}(?![^\s:=])", text, re.MULTILINE)
    }

    assert unused == (ONLY_PYTHON if language == "go" else set())


def test_the_same_types_have_the_same_crd_in_both_languages() -> None:
    python, go = ((CASES / case / CRD).read_bytes() for case in ("every-marker", "go-every-marker"))
    assert python == go
