"""The cache file is only used if it is complete and valid."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.base.tree import Tree
from olmkit.catalog.serve.registry_index import CustomRecord, Index
from olmkit.edges import disk
from olmkit.edges.catalog import cache as catalog_cache
from olmkit.edges.catalog.cache import REGISTRY, Store, Writer
from olmkit.edges.folder import Folder

FILE_NAME = REGISTRY.file_name
KEY = b"k" * 32
INDEX = Index(packages=(), customs=(CustomRecord("note", "cog", 5, 6),))


def write(folder: Path | None, key: bytes = KEY) -> tuple[Store[Index], bool]:
    with catalog_cache.new_file(folder, FILE_NAME) as file:
        writer = Writer(file.stream, key, REGISTRY)
        assert [writer.append(piece) for piece in (b"first", b"second")] == [0, 5]
        writer.finish(INDEX)
        store = catalog_cache.open_written(file.stream, key, REGISTRY)
    return store, file.kept


def written(folder: Path) -> None:
    store, kept = write(folder)
    assert kept
    store.close()


def reopened(folder: Path, key: bytes = KEY) -> bool:
    store = catalog_cache.open_cached(folder, key, REGISTRY)
    if store is None:
        return False
    assert store.index == INDEX
    assert store.read(5, 6) == b"second"
    store.close()
    return True


def test_a_written_cache_is_read_at_once_and_later(tmp_path: Path) -> None:
    store, kept = write(tmp_path / "cache")
    assert kept
    assert store.index == INDEX
    assert store.read(0, 5) == b"first"
    store.close()
    assert reopened(tmp_path / "cache")
    assert os.listdir(tmp_path / "cache") == [FILE_NAME]  # noqa: PTH208 - also hidden ones


def test_without_a_directory_no_file_remains() -> None:
    store, kept = write(None)
    assert not kept
    assert store.read(5, 6) == b"second"
    store.close()


def test_the_cache_of_another_catalog_or_release_is_not_used(tmp_path: Path) -> None:
    write(tmp_path)[0].close()
    assert not reopened(tmp_path, b"x" * 32)


def test_a_missing_directory_or_file_has_no_cache(tmp_path: Path) -> None:
    assert not reopened(tmp_path / "none")
    assert not reopened(tmp_path)


def test_a_changed_byte_is_detected_anywhere(tmp_path: Path) -> None:
    write(tmp_path)[0].close()
    file = tmp_path / FILE_NAME
    good = file.read_bytes()
    for position in range(len(good)):
        file.write_bytes(good[:position] + bytes([good[position] ^ 1]) + good[position + 1 :])
        assert not reopened(tmp_path), position
    file.write_bytes(good)
    assert reopened(tmp_path)


def test_a_truncated_or_longer_file_is_detected(tmp_path: Path) -> None:
    write(tmp_path)[0].close()
    file = tmp_path / FILE_NAME
    good = file.read_bytes()
    for length in range(len(good)):
        file.write_bytes(good[:length])
        assert not reopened(tmp_path), length
    file.write_bytes(good + b"\0")
    assert not reopened(tmp_path)


def test_a_directory_in_place_of_the_file_is_detected(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()
    assert not reopened(tmp_path)


def test_a_process_that_is_killed_while_writing_leaves_no_usable_file(
    tmp_path: Path,
) -> None:
    program = textwrap.dedent(
        """
        import os, signal, sys
        from pathlib import Path
        from olmkit.edges.catalog import cache as catalog_cache
        with catalog_cache.new_file(Path(sys.argv[1]), catalog_cache.REGISTRY.file_name) as file:
            catalog_cache.Writer(file.stream, b"k" * 32, catalog_cache.REGISTRY).append(b"half")
            file.stream.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert ended.returncode == -9
    assert not reopened(tmp_path)
    write(tmp_path)[0].close()
    assert reopened(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_an_error_while_writing_keeps_the_old_file(tmp_path: Path) -> None:
    write(tmp_path)[0].close()
    with pytest.raises(ZeroDivisionError), catalog_cache.new_file(tmp_path, FILE_NAME) as file:
        _ = Writer(file.stream, b"x" * 32, REGISTRY).append(b"half") / 0
    assert reopened(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_while_another_process_writes_the_file_is_not_kept(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        store, kept = write(tmp_path)
    finally:
        os.close(descriptor)
    assert not kept
    assert store.read(5, 6) == b"second"
    store.close()
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_created_is_not_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store, kept = write(tmp_path / "file" / "cache")
    assert not kept
    store.close()


def test_an_open_file_still_answers_after_the_cache_is_replaced(tmp_path: Path) -> None:
    write(tmp_path)[0].close()
    old = catalog_cache.open_cached(tmp_path, KEY, REGISTRY)
    assert old is not None
    write(tmp_path, b"x" * 32)[0].close()
    assert old.read(5, 6) == b"second"
    old.close()


def test_a_file_that_is_truncated_while_it_is_served_is_reported(tmp_path: Path) -> None:
    write(tmp_path)[0].close()
    store = catalog_cache.open_cached(tmp_path, KEY, REGISTRY)
    assert store is not None
    os.truncate(tmp_path / FILE_NAME, 10)
    with pytest.raises(OSError, match="changed while it was served"):
        store.read(0, 5)
    store.close()


def test_a_file_that_is_overwritten_in_place_is_detected(tmp_path: Path) -> None:
    store = write(tmp_path)[0]
    store.check()
    with (tmp_path / FILE_NAME).open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"x")
    with pytest.raises(OSError, match="changed while it was served"):
        store.check()
    with pytest.raises(OSError, match="changed while it was served"):
        store.read(0, 5)
    store.close()


def test_a_full_disk_is_reported_with_the_place(tmp_path: Path) -> None:
    with (
        pytest.raises(RemoteError, match=r"cannot write the cache in .*: No space left") as error,
        catalog_cache.new_file(tmp_path, FILE_NAME),
    ):
        raise OSError(28, "No space left on device")
    assert "--cache-dir" in error.value.hint


FILES = {"a/catalog.yaml": b"1", "a-b/catalog.yaml": b"2", "a/x/y": b"", ".indexignore": b"3"}


def test_a_directory_and_its_tree_have_the_same_key(tmp_path: Path) -> None:
    for name, data in FILES.items():
        disk.write_atomically(tmp_path / name, data)
    key = catalog_cache.key_of(Folder(tmp_path))
    assert (
        key == catalog_cache.key_of(Tree(FILES)) == catalog_cache.key_of(disk.read_tree(tmp_path))
    )


@pytest.mark.parametrize(
    "files",
    [
        {**FILES, "a/catalog.yaml": b"1 "},
        {**FILES, "b": b""},
        {name: data for name, data in FILES.items() if name != ".indexignore"},
        {"a/catalog.yaml": b"2", "a-b/catalog.yaml": b"1", "a/x/y": b"", ".indexignore": b"3"},
        {},
    ],
)
def test_every_change_of_a_file_changes_the_key(files: dict[str, bytes]) -> None:
    assert catalog_cache.key_of(Tree(files)) != catalog_cache.key_of(Tree(FILES))


def test_another_release_has_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = catalog_cache.key_of(Tree(FILES))
    monkeypatch.setattr(catalog_cache, "__version__", "999")
    assert catalog_cache.key_of(Tree(FILES)) != before


def test_a_link_in_place_of_an_unfinished_cache_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("untouched")
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / f".{FILE_NAME}.new").symlink_to(other)

    written(folder)

    assert other.read_text() == "untouched"
    assert not (folder / FILE_NAME).is_symlink()
    assert (folder / FILE_NAME).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("hard", [False, True])
def test_a_link_planted_after_the_unfinished_cache_was_removed_is_not_followed(
    hard: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.write_text("untouched")
    unfinished = tmp_path / "cache" / f".{FILE_NAME}.new"
    remove = Path.unlink

    def plant(path: Path, *, missing_ok: bool = False) -> None:
        remove(path, missing_ok=missing_ok)
        if path == unfinished:
            path.hardlink_to(other) if hard else path.symlink_to(other)

    monkeypatch.setattr(Path, "unlink", plant)
    with pytest.raises(RemoteError, match=r"cannot write the cache .* exists"):
        write(tmp_path / "cache")
    assert other.read_text() == "untouched"
    assert not (tmp_path / "cache" / FILE_NAME).exists()


def test_a_link_in_place_of_the_cache_is_not_read(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "cache", tmp_path / "elsewhere"
    written(elsewhere)
    folder.mkdir()
    (folder / FILE_NAME).symlink_to(elsewhere / FILE_NAME)

    assert catalog_cache.open_cached(folder, KEY, REGISTRY) is None


def test_a_new_directory_is_private(tmp_path: Path) -> None:
    written(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_a_directory_that_other_users_can_change_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "cache"
    written(folder)
    folder.chmod(mode)

    with pytest.raises(ConfigurationError, match="other users can change the cache folder"):
        write(folder)
    with pytest.raises(ConfigurationError, match="other users can change the cache folder"):
        catalog_cache.open_cached(folder, KEY, REGISTRY)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_cache_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    written(folder)
    os.chown(folder / FILE_NAME, 12345, -1)
    assert catalog_cache.open_cached(folder, KEY, REGISTRY) is None

    os.chown(folder, 12345, -1)
    with pytest.raises(ConfigurationError, match="other users can change"):
        catalog_cache.open_cached(folder, KEY, REGISTRY)


def test_a_pipe_in_place_of_the_cache_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FILE_NAME)
    tmp_path.chmod(0o700)
    assert catalog_cache.open_cached(tmp_path, KEY, REGISTRY) is None
