"""A directory that changes atomically."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from olmkit.base.diagnostics import RemoteError
from olmkit.base.tree import Tree, diff
from olmkit.edges import disk, whole_folder

OLD = Tree({"a.yaml": b"old a", "b/c.yaml": b"old c", "gone.yaml": b"x", "kept": b"kept"})
NEW = Tree({"a.yaml": b"new a", "b/c.yaml": b"new c", "d/e.yaml": b"new e"})
AFTER = Tree({**{path: NEW[path] for path in NEW}, "kept": OLD["kept"]})


def filled(folder: Path) -> Path:
    disk.apply(folder, diff(OLD, Tree()))
    return folder


def test_a_new_directory_appears_complete(tmp_path: Path) -> None:
    whole_folder.apply(tmp_path / "bundle", diff(NEW, Tree()))

    assert disk.read_tree(tmp_path / "bundle") == NEW
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]


def test_a_directory_changes_and_keeps_other_files(tmp_path: Path) -> None:
    root = filled(tmp_path / "bundle")
    inode = root.stat().st_ino

    whole_folder.apply(root, diff(NEW, OLD, stale=frozenset({"gone.yaml"})))

    assert disk.read_tree(root) == AFTER
    assert root.stat().st_ino != inode
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]


def test_a_file_that_changed_in_the_meantime_is_not_lost(tmp_path: Path) -> None:
    root = filled(tmp_path / "bundle")
    (root / "a.yaml").write_text("edited")

    with pytest.raises(RemoteError, match="has changed while this ran"):
        whole_folder.apply(root, diff(NEW, OLD))

    assert (root / "a.yaml").read_text() == "edited"
    assert (root / "b/c.yaml").read_text() == "old c"


@pytest.mark.parametrize("reason", ["link", "current folder", "repository", "no exchange"])
def test_without_an_atomic_exchange_each_file_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    real = filled(tmp_path / "real")
    root = real
    match reason:
        case "link":
            root = tmp_path / "link"
            root.symlink_to(real)
        case "current folder":
            monkeypatch.chdir(real / "b")
        case "repository":
            (real / ".git").mkdir()
        case _:
            monkeypatch.setattr(whole_folder, "_RENAME_EXCHANGE", 1 << 10)
    inode = real.stat().st_ino

    whole_folder.apply(root, diff(NEW, OLD, stale=frozenset({"gone.yaml"})))

    assert real.stat().st_ino == inode
    assert disk.read_tree(real) == AFTER


CHANGE = """
import sys
from pathlib import Path
from olmkit.base.tree import Tree, diff
from olmkit.edges import disk, whole_folder
root, found, wanted = Path(sys.argv[1]), b"0", b"1"
names = [f"{n}.yaml" for n in range(40)]
while True:
    now = disk.read_tree(root)
    wanted = b"1" if now.data(names[0]) == b"0" else b"0"
    whole_folder.apply(root, diff(Tree({name: wanted for name in names}), now))
"""


def test_a_killed_process_leaves_the_old_or_the_new_files(tmp_path: Path) -> None:
    root = tmp_path / "bundle"
    disk.apply(root, diff(Tree({f"{n}.yaml": b"0" for n in range(40)}), Tree()))
    for attempt in range(6):
        running = subprocess.Popen([sys.executable, "-c", CHANGE, str(root)])
        time.sleep(0.4 + attempt * 0.037)
        running.send_signal(signal.SIGKILL)
        running.wait()
        contents = {path.read_bytes() for path in root.iterdir() if not disk.is_aside(path.name)}
        assert len(contents) == 1


def test_files_of_a_killed_process_next_to_the_directory_are_removed(tmp_path: Path) -> None:
    left = tmp_path / ".olmkit-left.tmp"
    (left / "new").mkdir(parents=True)
    os.utime(left, (1, 1))

    disk.write_atomically(tmp_path / "file", b"x")

    assert not left.exists()
