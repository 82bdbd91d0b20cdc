"""Rewrites the generated pages of docs/reference and man from the program itself."""

from __future__ import annotations

import runpy
from pathlib import Path

import click

from olmkit.apis.markers import pages as marker_pages
from olmkit.base import tree
from olmkit.base.tree import Tree
from olmkit.cli import main as program
from olmkit.edges import disk
from olmkit.rules import pages

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = "docs/reference/commands.md"
_WIDTH = 88
_SAME = """\
Every command prints results to stdout and everything else to stderr; `-o json` prints one
value, also if the command fails. Exit codes: 0 success · 1 the answer is negative, for
example findings of severity error · 2 invalid usage · 3 an error of a registry, a cluster
or the disk · 70 an internal error of olmkit · 130 interrupted · 143 ended by SIGTERM."""


def commands_page() -> Tree:
    """One page with the help of every command."""
    parts = [
        "# Commands",
        "Generated from the help of the program by `make docs`; do not edit.",
        _SAME,
    ]
    for path in sorted(program.COMMANDS):
        parts += [f"## olmkit {path}", f"```text\n{_help(path)}\n```"]
    return Tree({COMMANDS: ("\n\n".join(parts) + "\n").encode()})


def markers_page() -> Tree:
    """The page of all markers."""
    return Tree({marker_pages.PAGE: marker_pages.page().encode()})


def types_page() -> Tree:
    """The page of what can be wrong with types and markers."""
    return Tree({marker_pages.FINDINGS_PAGE: marker_pages.findings_page().encode()})


def library_pages() -> Tree:
    """The pages of the public packages, by `scripts/library_pages.py`."""
    pages_of = runpy.run_path(str(ROOT / "scripts/library_pages.py"))["pages"]
    return Tree({path: text.encode() for path, text in pages_of().items()})


def man_pages() -> Tree:
    """The man pages, by `scripts/man_pages.py`."""
    pages_of = runpy.run_path(str(ROOT / "scripts/man_pages.py"))["pages"]
    return Tree({path: text.encode() for path, text in pages_of().items()})


def _help(path: str) -> str:
    root = program.root
    context = click.Context(
        root, info_name="olmkit", terminal_width=_WIDTH, **root.context_settings
    )
    command: click.Command = program.root
    for word in path.split(" "):
        assert isinstance(command, click.Group)
        found = command.get_command(context, word)
        assert found is not None, path
        command = found
        context = click.Context(command, info_name=word, parent=context, **command.context_settings)
    return command.get_help(context).rstrip()


def main() -> None:
    wanted = pages.pages()
    folder = ROOT / pages.FOLDER
    found = disk.read_tree(folder).at(pages.FOLDER) if folder.is_dir() else Tree()
    disk.apply(ROOT, tree.diff(wanted, found, stale=frozenset(found)))
    man = ROOT / "man"
    found = disk.read_tree(man).at("man") if man.is_dir() else Tree()
    disk.apply(ROOT, tree.diff(man_pages(), found, stale=frozenset(found)))
    for page in (commands_page(), markers_page(), types_page(), library_pages()):
        found = Tree({path: (ROOT / path).read_bytes() for path in page if (ROOT / path).exists()})
        disk.apply(ROOT, tree.diff(page, found))


if __name__ == "__main__":
    main()
