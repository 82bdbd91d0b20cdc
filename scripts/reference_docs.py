"""Rewrites the generated pages of docs/reference from the program itself."""

from __future__ import annotations

from pathlib import Path

from olmkit.base import tree
from olmkit.base.tree import Tree
from olmkit.edges import disk
from olmkit.rules import pages

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    wanted = pages.pages()
    folder = ROOT / pages.FOLDER
    found = disk.read_tree(folder).at(pages.FOLDER) if folder.is_dir() else Tree()
    disk.apply(ROOT, tree.diff(wanted, found, stale=frozenset(found)))


if __name__ == "__main__":
    main()
