"""What the documents say of the program is true of the program."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import click
import pytest

from olmkit.cli import main

DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs")


def _commands(text: str) -> list[list[str]]:
    """The olmkit commands in the code blocks of a document."""
    found = []
    for block in re.findall(r"^```[a-z ]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"\s[|&]+\s|\$\(|[;)]", line.split(" #")[0]):
                words = part.strip().removeprefix("$ ").split(" > ")[0]
                if words.startswith("olmkit "):
                    found.append(words.replace("'", "").replace('"', "").split())
    return found


def _documents(root: Path) -> list[Path]:
    files = [root / name for name in DOCUMENTS]
    return [
        path
        for file in files
        for path in (sorted(file.rglob("*.md")) if file.is_dir() else [file])
        if "reference" not in path.parts
    ]


def _check(words: list[str]) -> None:
    command: click.Command = main.root
    context = click.Context(command)
    rest = words[1:]
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        found = command.get_command(context, rest[0])
        assert found is not None, f"no such command: {' '.join(words)}"
        command, rest = found, rest[1:]
    options = {one for param in command.params for one in (*param.opts, *param.secondary_opts)}
    options |= {"--help", "-h"}
    for word in rest:
        if word == "--":
            break  # what follows is for the program that the command runs
        if re.match(r"--?[a-z]", word):
            assert word.split("=")[0] in options, f"no such option: {word} in {' '.join(words)}"


def test_every_command_in_the_documents_exists(root: Path) -> None:
    seen = [words for path in _documents(root) for words in _commands(path.read_text())]
    assert len(seen) > 10
    for words in seen:
        _check(words)


@pytest.mark.parametrize(
    "page", ["commands_page", "markers_page", "types_page", "library_pages", "man_pages"]
)
def test_a_page_of_the_reference_is_what_the_program_says(
    page: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    made = runpy.run_path(str(root / "scripts/reference_docs.py"))[page]()
    for path, file in made.items():
        assert (root / path).read_bytes() == file.data, "run `make docs`"
