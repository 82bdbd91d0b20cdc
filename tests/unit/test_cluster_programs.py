"""The programs of the tests' cluster use only names that their modules have.

Only end-to-end tests start the cluster, and they are skipped if it does not start.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

FILES = ("__main__", "images", "node", "olm_v1", "settings", "slow_line")


@pytest.mark.parametrize("file", FILES)
def test_the_modules_of_the_cluster_have_the_names_that_others_use(root: Path, file: str) -> None:
    folder = root / "tests/cluster"
    trees = {name: ast.parse((folder / f"{name}.py").read_text()) for name in FILES}
    used = {
        (node.value.id, node.attr)
        for node in ast.walk(trees[file])
        if isinstance(node, ast.Attribute)
        if isinstance(node.value, ast.Name) and node.value.id in _imported(trees[file])
    }

    assert sorted(one for one in used if one[1] not in _defined(trees[one[0]])) == []


def _imported(tree: ast.Module) -> set[str]:
    """Return the modules of the cluster that a module imports as a whole."""
    return {
        name.name
        for node in tree.body
        if isinstance(node, ast.Import)
        for name in node.names
        if name.name in FILES
    }


def _defined(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Assign():
                found |= {one.id for one in node.targets if isinstance(one, ast.Name)}
            case ast.AnnAssign(target=ast.Name() as target):
                found.add(target.id)
            case ast.ImportFrom():
                found |= {one.asname or one.name for one in node.names}
            case _:
                pass
    return found
