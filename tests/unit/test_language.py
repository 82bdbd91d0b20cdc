"""The language of texts for people: phrases that STYLE.md replaces are not in the repository."""

from __future__ import annotations

import ast
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

# Phrase → its replacement. `(?i)` applies to all of them.
PHRASES = {
    r"\b(?<!there )(?:is|are|was|were) no (?!longer\b|more\b|different\b|less\b|way to\b|need\b)"
    r"[a-z`{]": "is not a",
    r"(?<!-u[^a-z]{4})\b(?:nobody|somebody|anybody|everybody|whoever|whosoever)\b": "the actor",
    r"\bbesides?\b": "compared with, next to, also",
    r"\banew\b": "again",
    r"\b(?:goes|go|went) on\b(?! to| [0-9])": "continues",
    r"\b(?:is|are) told\b": "reports, gets",
    r"\bspeaks? of\b": "describes",
    r"\bof others\b": "third-party, of other operators",
    r"\basked wrongly\b": "invalid usage",
    r"\b(?:cures?|mends?|mended|amends)\b": "fix",
    r"\bwish(?:es|ed)?\b": "request",
    r"\bone's own\b|\bof (?:its|their|our|your) own\b": "separate, its own",
    r"\bwhat (?:it|they|olmkit) (?:is|are) (?:told|asked)\b": "the input",
    r"\bby chance\b": "not deterministic",
    r"\bstands? (?:in|for|there|still|at)\b": "is in, means",
    r"\blies? (?:in|there|beside|below|at|on|under|outside|within)\b": "is in",
    r"\bnot (?:said|told) (?:what|which|where|how|who)\b": "name what is missing",
    r"\b(?:takes|took|taking) back\b": "revert",
    r"\bforeign\b(?!\.diff\.tar)": "external, third-party",
    r"\bwhims?\b|\bdoubts?\b|\bleavings\b": "the field's word",
    r"\bno form in a CRD\b|\bmade anything of\b": "cannot be expressed in a CRD",
    r"\bround in (?:a )?circles?\b": "a cycle",
    r"\bset up wrongly\b": "misconfigured",
    r"\bfor ever\b": "forever, without end",
    r"\bany more\b": "no longer",
    r"\b(?:time|hour) of birth\b": "time of creation",
    r"\b(?:where|as|how) (?:it|they) stands?\b": "where it is, its state",
    r"\b(?:is|are|was|were) made again\b": "is created again",
    r"\bthe field's own\b": "the name of the tool, such as `opm`",
    r"\b(?:looks|look) after (?:it|them|its|the)\b": "manages",
    r"\bas well as\b": "also, and",
    r"\bwithout a word\b": "without a warning",
    r"\bleads? nowhere\b": "is broken, refers to nothing",
    r"\bgoes? (?:neither|with it)\b": "the field's verb",
    r"\bwho wants\b|\byours to\b|\bnothing of yours\b|\bbehind your back\b": "you",
    r"\b(?:one|each) an? (?:line|kind|page|module|group)\b": "one per line, for each kind",
    r"\bthe whole of\b": "the whole",
    r"\b(?:is|are) (?:had|let pass)\b": "is available, is accepted",
    r"\b(?:takes?|puts?) it back\b": "reverts, restores",
    r"\ba moment behind\b": "stale",
    r"\blaid out by\b|\bat the first go\b|\bthe \w+ of before\b": "plain words",
}


def files() -> Iterator[Path]:
    seen: set[Path] = set()
    for pattern in PLACES:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            if path.is_file() and path not in seen and name not in ITSELF and "/cases/" not in name:
                seen.add(path)
                yield path


def violations(text: str) -> list[tuple[int, str, str]]:
    """Return line, phrase and replacement."""
    found = [
        (text.count("\n", 0, match.start()) + 1, match.group(), instead)
        for phrase, instead in PHRASES.items()
        for match in re.finditer(f"(?i){phrase}", text)
    ]
    return sorted(found)


@pytest.mark.parametrize("path", list(files()), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_file_is_in_plain_english(path: Path) -> None:
    found = violations(path.read_text("utf-8"))
    assert not found, "\n".join(
        f"{line}: `{phrase}` → {instead}" for line, phrase, instead in found
    )


def test_phrases_are_found() -> None:
    assert violations("`x` is no mapping, and there is no `y`\nwrite it anew") == [
        (1, "is no m", "is not a"),
        (2, "anew", "again"),
    ]


# Messages without a number, since the limit is not one of olmkit, or has another form.
_WITHOUT_A_LIMIT = {
    "the interpreter's stack": "nested too deep",
    "the file system": "` is too long for the name of a file",
    "Go's words": r"expression (?:too large|nests too deeply)",
    "a quantity": r"^too many arguments: |it takes too long|too many about one object",
    "a registry's or a server's limit": "too many requests",
    "the format follows": "is too large for the format ",
}


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.name) for path in sorted(ROOT.glob("olmkit/**/*.py"))]
)
def test_a_message_about_a_limit_names_the_limit(path: Path) -> None:
    text = path.read_text()
    if " too " not in text:
        return
    tree = ast.parse(text)
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    allowed = re.compile("|".join(_WITHOUT_A_LIMIT.values()))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            is_message = id(node) not in documentation and "\n" not in node.value
            if is_message and re.search(
                r"\btoo (?:large|long|many|deep|deeply|big|much)\b", node.value
            ):
                assert allowed.search(node.value), f"{path}:{node.lineno}: name the limit"
