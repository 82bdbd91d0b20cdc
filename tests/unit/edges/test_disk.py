from __future__ import annotations

import os
from pathlib import Path

import pytest

from olmkit.base import tree
from olmkit.base.diagnostics import ConfigurationError, InputError, RemoteError
from olmkit.base.tree import File, Tree
from olmkit.edges import disk


def test_a_tree_survives_the_disk(tmp_path: Path) -> None:
    wanted = Tree({"a/b.yaml": b"1\n", "run": File(b"#!/bin/sh\n", 0o755)})

    disk.apply(tmp_path, tree.diff(wanted, Tree()))
    found = disk.read_tree(tmp_path)

    assert not tree.diff(wanted, found)
    assert list(found) == ["a/b.yaml", "run"]


def test_removed_files_take_their_empty_folders_with_them(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c").write_bytes(b"")
    (tmp_path / "a/keep").write_bytes(b"")
    found = disk.read_tree(tmp_path)

    disk.apply(tmp_path, tree.diff(Tree(), found, stale=frozenset({"a/b/c"})))

    assert list(disk.read_tree(tmp_path)) == ["a/keep"]
    assert not (tmp_path / "a/b").exists()


def test_a_failed_write_leaves_the_old_file_and_no_debris(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(RemoteError, match="no space left"):
        disk.apply(tmp_path, tree.diff(Tree({"f": b"new"}), disk.read_tree(tmp_path)))

    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]


def test_a_missing_folder_is_said_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nothing` does not exist"):
        disk.read_tree(tmp_path / "nothing")
    with pytest.raises(ConfigurationError, match="does not exist"):
        disk.read_file(tmp_path / "nothing")


def test_a_file_is_no_folder_and_a_folder_no_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    with pytest.raises(ConfigurationError, match="is not a folder"):
        disk.read_tree(tmp_path / "f")
    with pytest.raises(InputError, match="is a folder"):
        disk.read_file(tmp_path)
    with pytest.raises(ConfigurationError, match="does not exist"):
        disk.read_file(tmp_path / "f" / "g")


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert list(disk.read_tree(tmp_path)) == []
    (tmp_path / "link").symlink_to("pipe")
    with pytest.raises(InputError, match="is not a regular file"):
        disk.read_tree(tmp_path)


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_bytes(b"s")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="leaves"):
        disk.read_tree(tmp_path / "in")


def test_a_link_inside_the_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"1")
    (tmp_path / "link").symlink_to("f")
    assert disk.read_tree(tmp_path).data("link") == b"1"


def test_a_link_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("gone")
    with pytest.raises(ConfigurationError, match="does not exist"):
        disk.read_tree(tmp_path)


def test_sizes_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100)
    (tmp_path / "b").write_bytes(b"x" * 100)
    with pytest.raises(InputError, match="is 0 MB large"):
        disk.read_tree(tmp_path, file_limit=99)
    with pytest.raises(InputError, match="holds more than"):
        disk.read_tree(tmp_path, total_limit=150)
