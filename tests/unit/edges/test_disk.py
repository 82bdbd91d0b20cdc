from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from olmkit.base import tree
from olmkit.base.diagnostics import ConfigurationError, InputError, RemoteError
from olmkit.base.tree import File, Tree
from olmkit.edges import disk
from olmkit.edges.folder import Folder


def test_a_written_tree_is_read_back(tmp_path: Path) -> None:
    wanted = Tree({"a/b.yaml": b"1\n", "run": File(b"#!/bin/sh\n", 0o755)})

    disk.apply(tmp_path, tree.diff(wanted, Tree()))
    found = disk.read_tree(tmp_path)

    assert not tree.diff(wanted, found)
    assert list(found) == ["a/b.yaml", "run"]


def test_empty_directories_of_removed_files_are_removed(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c").write_bytes(b"")
    (tmp_path / "a/keep").write_bytes(b"")
    found = disk.read_tree(tmp_path)

    disk.apply(tmp_path, tree.diff(Tree(), found, stale=frozenset({"a/b/c"})))

    assert list(disk.read_tree(tmp_path)) == ["a/keep"]
    assert not (tmp_path / "a/b").exists()


def test_a_failed_write_keeps_the_old_file_and_leaves_no_temporary_file(
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


def test_a_missing_directory_is_reported_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nothing` does not exist"):
        disk.read_tree(tmp_path / "nothing")
    with pytest.raises(ConfigurationError, match="does not exist"):
        disk.read_file(tmp_path / "nothing")


def test_a_file_is_not_a_directory_and_a_directory_is_not_a_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    with pytest.raises(ConfigurationError, match="is not a folder"):
        disk.read_tree(tmp_path / "f")
    with pytest.raises(InputError, match="is a folder"):
        disk.read_file(tmp_path)
    with pytest.raises(ConfigurationError, match="does not exist"):
        disk.read_file(tmp_path / "f" / "g")


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert list(disk.files_of(tmp_path)) == []
    with pytest.raises(InputError, match="pipe` is not a regular file"):
        disk.read_tree(tmp_path)
    (tmp_path / "a-link").symlink_to("pipe")
    with pytest.raises(InputError, match="link` is not a regular file"):
        disk.read_tree(tmp_path)


def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "f")

    with pytest.raises(RemoteError, match="f` is not a file, so nothing was written"):
        disk.apply(tmp_path, tree.diff(Tree({"a": b"1", "f": b"new"}), Tree()))

    assert sorted(path.name for path in tmp_path.iterdir()) == ["f"]


def test_a_link_out_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_bytes(b"s")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="leaves"):
        disk.read_tree(tmp_path / "in")


def test_a_link_inside_the_directory_is_followed(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"1")
    (tmp_path / "link").symlink_to("f")
    assert disk.read_tree(tmp_path).data("link") == b"1"


def test_a_broken_link_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("gone")
    with pytest.raises(ConfigurationError, match="does not exist"):
        disk.read_tree(tmp_path)


def test_sizes_are_limited(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100)
    (tmp_path / "b").write_bytes(b"x" * 100)
    with pytest.raises(InputError, match="is 0 MB; the limit"):
        disk.read_tree(tmp_path, file_limit=99)
    with pytest.raises(InputError, match="contains more than"):
        disk.read_tree(tmp_path, total_limit=150)


def test_an_error_in_a_later_file_restores_the_earlier_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "gone").write_bytes(b"old")
    wanted = Tree({"a": b"new", "new/folder/b": b"new", "z/c": b"new"})
    written: list[int] = []

    def fill(number: int) -> None:
        written.append(number)
        if len(written) == 3:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fill)
    changes = tree.diff(wanted, disk.read_tree(tmp_path), stale=frozenset({"gone"}))
    with pytest.raises(RemoteError, match=r"z/c`: no space left on device"):
        disk.apply(tmp_path, changes)

    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "gone"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_name_with_many_bytes_can_be_written(tmp_path: Path) -> None:
    wanted = Tree({"ü" * 120: b"1"})
    disk.apply(tmp_path, tree.diff(wanted, Tree()))
    assert disk.read_tree(tmp_path) == wanted


@pytest.mark.parametrize("read", [disk.read_tree, Folder], ids=["read_tree", "Folder"])
def test_an_unreadable_directory_is_reported_and_is_not_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], Tree]
) -> None:
    (tmp_path / "closed").mkdir()
    scandir = os.scandir

    def refuse(path: str) -> Any:
        if os.fspath(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(RemoteError, match=r"closed`: permission denied"):
        read(tmp_path)


@pytest.mark.parametrize("read", [disk.read_tree, Folder], ids=["read_tree", "Folder"])
def test_files_of_a_killed_program_are_not_read_and_are_removed_later(
    tmp_path: Path, read: Callable[[Path], Tree]
) -> None:
    left = tmp_path / ".olmkit-abcd1234.tmp"
    left.write_bytes(b"half")
    (tmp_path / "a").write_bytes(b"old")
    assert list(read(tmp_path)) == ["a"]

    disk.write_atomically(tmp_path / "b", b"new")
    assert left.exists(), "another program may be writing it"
    os.utime(left, (0, 0))
    disk.write_atomically(tmp_path / "b", b"newer")
    assert not left.exists()


@pytest.mark.parametrize("found", [Tree(), Tree({"a": b"old"})], ids=["new", "old"])
def test_a_file_that_another_program_wrote_in_the_meantime_is_kept(
    tmp_path: Path, found: Tree
) -> None:
    (tmp_path / "a").write_bytes(b"theirs")
    with pytest.raises(RemoteError, match="has changed while this ran"):
        disk.apply(tmp_path, tree.diff(Tree({"0": b"ours", "a": b"ours"}), found))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"theirs"}


@pytest.mark.parametrize("in_memory", [1, 1_000_000])
def test_pieces_are_collected_before_the_first_is_returned(
    monkeypatch: pytest.MonkeyPatch, in_memory: int
) -> None:
    monkeypatch.setattr(disk, "_IN_MEMORY", in_memory)
    with disk.spool(b"%d\n" % number for number in range(1000)) as stream:
        assert stream.read() == b"".join(b"%d\n" % number for number in range(1000))

    def broken() -> Iterator[bytes]:
        yield b"first"
        raise InputError("the second cannot be written")

    with pytest.raises(InputError), disk.spool(broken()):
        pytest.fail("there was a stream")


def test_a_full_disk_during_the_collection_is_an_error_with_a_place() -> None:
    def full() -> Iterator[bytes]:
        yield b"first"
        raise OSError(28, "No space left on device")

    with pytest.raises(RemoteError, match="no space left"), disk.spool(full()):
        pytest.fail("there was a stream")


PLANTED: dict[str, Callable[[Path, Path], None]] = {
    "link": lambda path, other: path.symlink_to(other),
    "hard-link": lambda path, other: path.hardlink_to(other),
    "dangling-link": lambda path, other: path.symlink_to(other.with_name("new")),
    "file": lambda path, _: path.touch(),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_file_with_a_fixed_name_is_never_one_that_exists(planted: str, tmp_path: Path) -> None:
    other, path = tmp_path / "other", tmp_path / "file"
    other.write_text("untouched")
    PLANTED[planted](path, other)
    with pytest.raises(FileExistsError):
        disk.create_new(path)
    assert other.read_text() == "untouched"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("unknown", ["O_EXCL", "O_NOFOLLOW"])
def test_either_flag_alone_stops_at_a_link(
    unknown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a file system that ignores one of the flags, the other one still protects the target."""
    opened = os.open
    mask = ~getattr(os, unknown)
    monkeypatch.setattr(os, "open", lambda path, flags, mode: opened(path, flags & mask, mode))
    (tmp_path / "file").symlink_to(tmp_path / "new")
    with pytest.raises(OSError, match=r"file"):
        disk.create_new(tmp_path / "file")
    assert not (tmp_path / "new").exists()


def test_a_file_with_a_fixed_name_is_private(tmp_path: Path) -> None:
    os.close(disk.create_new(tmp_path / "file"))
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600
