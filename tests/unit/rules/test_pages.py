from __future__ import annotations

from pathlib import Path

from olmkit.rules import engine, pages


def test_every_rule_has_its_place_on_a_page() -> None:
    made = pages.pages()

    for subject in engine.MODULES:
        for rule in engine.rules(subject):
            path, _, anchor = rule.page.partition("#")
            text = made.data(path).decode()
            assert f"\n## {anchor.upper()}\n" in text
            assert rule.doc in text


def test_the_index_names_profiles_and_rules() -> None:
    index = pages.pages().data(f"{pages.FOLDER}/README.md").decode()

    assert "| `operatorhub` |" in index
    assert "[CSV012](csv.md#csv012) `repeated-install-mode`" in index


def test_the_pages_in_the_repository_are_those_that_are_made(root: Path) -> None:
    made = {path: file.data for path, file in pages.pages().items()}
    found = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in (root / pages.FOLDER).iterdir()
    }

    assert found == made, "run `make docs`"
