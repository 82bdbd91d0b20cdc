"""Rewrites the generated pages of docs/reference from the program itself."""

from __future__ import annotations

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
What is the same everywhere: results on stdout, all else on stderr; `-o json` gives one
value, also when a command fails. Exit codes: 0 done · 1 the answer is no · 2 asked
wrongly · 3 a registry, a cluster or the disk said no · 70 a fault in olmkit ·
130 interrupted."""


def commands_page() -> Tree:
    """One page with the help of every command."""
    parts = [
        "# Commands",
        "Made from the program's own help by `make docs`; do not edit.",
        _SAME,
    ]
    for path in sorted(program.COMMANDS):
        parts += [f"## olmkit {path}", f"```\n{_help(path)}\n```"]
    return Tree({COMMANDS: ("\n\n".join(parts) + "\n").encode()})


def markers_page() -> Tree:
    """The page of all markers."""
    return Tree({marker_pages.PAGE: marker_pages.page().encode()})


def types_page() -> Tree:
    """The page of what can be wrong with types and markers."""
    return Tree({marker_pages.FINDINGS_PAGE: marker_pages.findings_page().encode()})


def _help(path: str) -> str:
    context = click.Context(program.root, info_name="olmkit", terminal_width=_WIDTH)
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
    for page in (commands_page(), markers_page(), types_page()):
        (path,) = page
        found = Tree({path: (ROOT / path).read_bytes()}) if (ROOT / path).exists() else Tree()
        disk.apply(ROOT, tree.diff(page, found))


if __name__ == "__main__":
    main()
