"""A generated directory is the old one or the new one; other files in it stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.edges import whole_folder
from olmkit.edges.next_folder import NextFolder


def read(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): path.read_text()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "hub"
    (root / "p" / "gone").mkdir(parents=True)
    (root / "p" / "gone" / "index.html").write_text("old")
    (root / "index.html").write_text("old")
    (root / "mine.txt").write_text("mine")
    return root


def test_a_new_directory_appears_when_it_is_complete(tmp_path: Path) -> None:
    root = tmp_path / "a" / "hub"
    with NextFolder(root) as folder:
        folder.write("p/x/index.html", b"new")
        assert not root.exists()
        folder.finish()
    assert read(root) == {"p/x/index.html": "new"}
    assert [path.name for path in root.parent.iterdir()] == ["hub"]


def test_an_incomplete_directory_is_removed(tmp_path: Path) -> None:
    with NextFolder(tmp_path / "a" / "hub") as folder:
        folder.write("index.html", b"new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("way", ["exchange", "no exchange", "working directory"])
def test_other_files_stay(root: Path, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "no exchange":
        monkeypatch.setattr(whole_folder, "_RENAME_EXCHANGE", 1 << 10)
    elif way == "working directory":
        monkeypatch.chdir(root)
    with NextFolder(root) as folder:
        folder.write("index.html", b"new")
        folder.write("p/x/index.html", b"new")
        assert read(root)["index.html"] == "old"
        folder.finish(["p/gone/index.html"])
    assert read(root) == {"index.html": "new", "p/x/index.html": "new", "mine.txt": "mine"}
    assert not (root / "p" / "gone").exists()
    assert [path.name for path in root.parent.iterdir()] == ["hub"]


def test_nothing_is_written_through_a_link(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root.parent / "other").mkdir()
    (root / "api").symlink_to(root.parent / "other")
    monkeypatch.setattr(whole_folder, "_RENAME_EXCHANGE", 1 << 10)
    with NextFolder(root) as folder:
        folder.write("api/x.html", b"new")
        with pytest.raises(InputError, match="is a link"):
            folder.finish()
    assert list((root.parent / "other").iterdir()) == []
