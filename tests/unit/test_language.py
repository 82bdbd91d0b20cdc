"""The language of what people read: phrases that STYLE.md replaces are not in the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ITSELF = ("STYLE.md", "tests/unit/test_language.py")
PLACES = (
    *("*.md", "Makefile", "pyproject.toml", ".importlinter", "scripts/*"),
    *("docs/**/*.md", "olmkit/**/*.py", "olmkit/**/*.tmpl", "operator/**/*.py", "operator/**/*.md"),
    *("tests/**/*.py", "benchmarks/**/*.py", "benchmarks/**/*.md"),
)

# Phrase → what to write instead. `(?i)` holds for all of them.
PHRASES = {
    r"\b(?<!there )is no (?:range of versions|marker|valid name|JSON list|mapping)\b": "is not",
    r"\banew\b": "again",
    r"\bspeaks? of\b": "describes",
    r"\basked wrongly\b": "invalid usage",
    r"\b(?:cures?|mends?|mended)\b": "fix",
    r"\bby chance\b": "not deterministic",
}


def files() -> Iterator[Path]:
    seen: set[Path] = set()
    for pattern in PLACES:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            if path.is_file() and path not in seen and name not in ITSELF and "/cases/" not in name:
                seen.add(path)
                yield path


def offences(text: str) -> list[tuple[int, str, str]]:
    """Line, phrase and what to write instead."""
    found = [
        (text.count("\n", 0, match.start()) + 1, match.group(), instead)
        for phrase, instead in PHRASES.items()
        for match in re.finditer(f"(?i){phrase}", text)
    ]
    return sorted(found)


@pytest.mark.parametrize("path", list(files()), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_file_has_plain_english(path: Path) -> None:
    found = offences(path.read_text("utf-8"))
    assert not found, "\n".join(
        f"{line}: `{phrase}` → {instead}" for line, phrase, instead in found
    )


def test_phrases_are_found() -> None:
    assert offences("`x` is no mapping\nwrite it anew") == [
        (1, "is no mapping", "is not"),
        (2, "anew", "again"),
    ]
