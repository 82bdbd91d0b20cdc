"""A directory with pending files on top of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import Tree
from olmkit.edges.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/old").write_bytes(b"old")
    (tmp_path / "a/both").write_bytes(b"before")
    return Workspace(tmp_path, Tree({"a/both": b"after", "b/new": b"new"}))


def test_pending_files_count_as_written(workspace: Workspace) -> None:
    assert [workspace.read(path) for path in ("a/old", "a/both", "b/new")] == [
        b"old",
        b"after",
        b"new",
    ]
    assert [path for path in ("a", "a/old", "b", "b/new", "c") if workspace.has(path)] == [
        "a",
        "a/old",
        "b",
        "b/new",
    ]
    assert not workspace.has("a" * 10_000)
    assert workspace.read_if_there("c") is None
    assert workspace.present(["a/both", "a/old", "c"]) == Tree(
        {"a/both": b"after", "a/old": b"old"}
    )


def test_files_of_both_are_walked_in_order(workspace: Workspace) -> None:
    assert list(workspace.files(".")) == ["a/both", "a/old", "b/new"]
    assert list(workspace.files("b")) == ["b/new"]
    assert list(workspace.files("a/old")) == ["a/old"]
    with pytest.raises(ConfigurationError, match="does not exist"):
        list(workspace.files("c"))
