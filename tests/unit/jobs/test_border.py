"""Jobs only access the world through edges; `.importlinter` checks imports, this test the calls."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

# Methods of `Path` that read or change the disk.
ASKS = frozenset(
    [
        "absolute",
        "chmod",
        "cwd",
        "exists",
        "expanduser",
        "glob",
        "hardlink_to",
        "home",
        "is_dir",
        "is_file",
        "is_symlink",
        "iterdir",
        "lstat",
        "mkdir",
        "open",
        "read_bytes",
        "read_text",
        "readlink",
        "rglob",
        "rmdir",
        "samefile",
        "stat",
        "symlink_to",
        "touch",
        "unlink",
        "walk",
        "write_bytes",
        "write_text",
    ]
)
JOBS = sorted((Path(__file__).parents[3] / "olmkit/jobs").rglob("*.py"))


def _touches(text: str) -> list[str]:
    """Return the calls of a module that access the disk directly."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute):
            if node.attr in ASKS and not _is_edge(node.value):
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, ast.Call):
            bare = not node.args and not node.keywords
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            opens = isinstance(node.func, ast.Name) and node.func.id == "open"
            if opens or (name == "resolve" and bare):
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


def _is_edge(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "paths"


@pytest.mark.parametrize("file", JOBS, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_job_accesses_the_disk_through_edges(file: Path) -> None:
    assert not _touches(file.read_text())


@pytest.mark.parametrize(
    "line", ["Path('x').exists()", "open('x')", "path.resolve()", "folder.glob('*')"]
)
def test_direct_access_to_the_disk_is_detected(line: str) -> None:
    assert _touches(line)


@pytest.mark.parametrize("line", ["paths.exists(path)", "store.resolve('v1')", "disk.read_file(x)"])
def test_access_through_an_edge_is_allowed(line: str) -> None:
    assert not _touches(line)
