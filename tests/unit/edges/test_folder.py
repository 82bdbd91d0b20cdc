"""A directory whose files are read on request."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.edges.folder import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "catalog"
    (root / "sub").mkdir(parents=True)
    (root / "b.yaml").write_bytes(b"b: 1\n")
    (root / "sub" / "a.yaml").write_bytes(b"a: 1\n")
    return root


def test_it_is_a_tree_of_its_files(folder: Path) -> None:
    tree = Folder(folder)

    assert list(tree) == ["b.yaml", "sub/a.yaml"]
    assert len(tree) == 2
    assert "b.yaml" in tree
    assert "c.yaml" not in tree
    assert tree["b.yaml"].data == b"b: 1\n"
    assert tree.data("sub/a.yaml") == b"a: 1\n"
    assert tree.part("b.yaml", 1, 3) == b": "
    assert b"".join(tree.chunks("b.yaml")) == b"b: 1\n"
    assert repr(tree) == f"Folder({str(folder)!r})"
    assert hash(tree) == hash(Folder(folder))
    with pytest.raises(KeyError):
        tree["c.yaml"]


def test_large_files_come_in_pieces(folder: Path) -> None:
    data = os.urandom(3_000_000)
    (folder / "large").write_bytes(data)

    pieces = list(Folder(folder).chunks("large"))

    assert b"".join(pieces) == data
    assert len(pieces) > 1


def test_a_file_beyond_the_limit_is_refused(folder: Path) -> None:
    tree = Folder(folder, file_limit=3)

    with pytest.raises(InputError, match="the limit is"):
        tree.data("b.yaml")
    with pytest.raises(InputError, match="the limit is"):
        list(tree.chunks("b.yaml"))


def test_links_inside_are_followed_and_others_are_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (folder / "inside").symlink_to("sub/a.yaml")
    (folder / "outside").symlink_to(tmp_path / "secret")
    (folder / "nowhere").symlink_to("gone")
    (folder / "linked").symlink_to("sub")
    tree = Folder(folder)

    assert tree.data("inside") == b"a: 1\n"
    assert "linked/a.yaml" not in tree
    for name, words in [
        ("outside", "leaves the folder"),
        ("nowhere", "does not exist"),
        ("linked", "link to a folder"),
    ]:
        with pytest.raises(InputError, match=words):
            tree.data(name)


def test_a_special_file_is_refused(folder: Path) -> None:
    os.mkfifo(folder / "pipe")

    with pytest.raises(InputError, match="not a regular file"):
        Folder(folder).data("pipe")


def test_only_a_directory_is_accepted(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not exist"):
        Folder(folder / "gone")
    with pytest.raises(ConfigurationError, match="not a folder"):
        Folder(folder / "b.yaml")
