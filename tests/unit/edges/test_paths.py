from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from olmkit.edges import paths


def test_a_missing_path_has_no_properties(tmp_path: Path) -> None:
    missing = tmp_path / "missing"

    assert not paths.exists(missing)
    assert not paths.is_file(missing)
    assert not paths.is_folder(missing)
    assert paths.match_entries(missing, "*") == []
    assert paths.entries(missing) == []


def test_entries_are_sorted_and_selected_by_pattern(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yaml", ".c", "d.txt"):
        (tmp_path / name).write_text("")

    assert paths.entries(tmp_path) == [".c", "a.yaml", "b.yaml", "d.txt"]
    assert paths.match_entries(tmp_path, "*.yaml") == [tmp_path / "a.yaml", tmp_path / "b.yaml"]


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (tmp_path / "link").symlink_to(outside)
    (tmp_path / "same").symlink_to(tmp_path / "inner")

    assert paths.is_within(tmp_path / "inner", tmp_path)
    assert not paths.is_within(tmp_path / "link", tmp_path)
    assert paths.is_same(tmp_path / "same", tmp_path / "inner")


def test_a_path_is_simplified_as_text() -> None:
    assert paths.normalize(Path("a/./b/../c")) == Path("a/c")


def test_home_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert paths.expand("~/x") == Path("/home/me/x")


def test_a_file_has_size_time_and_mode(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("four")
    os.utime(file, ns=(5, 7))
    file.chmod(0o640)

    assert paths.modification(file) == (4, 7)
    assert paths.mode(file) == 0o640


def test_a_temporary_directory_is_removed_at_the_end() -> None:
    with paths.temporary_folder() as folder:
        (folder / "file").write_text("")
    assert not folder.exists()


def test_the_directory_of_a_killed_operator_is_removed_with_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / "olmkit-op-left"
    left.mkdir()
    (left / "lock").touch()
    (left / "values").write_text("a")
    beginning = tmp_path / "olmkit-op-beginning"
    beginning.mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").touch()
    (tmp_path / "olmkit-op-link").symlink_to(elsewhere)
    with paths.operator_folder() as first:
        assert not left.exists()
        assert beginning.exists()
        assert (elsewhere / "lock").exists()
        # The directory of a running operator stays.
        with paths.operator_folder() as second:
            assert first.exists()
            assert second != first
        assert not second.exists()
    assert not first.exists()
