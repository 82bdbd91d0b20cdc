"""Archives of files that tests have stored; no file leaves the directory."""

from __future__ import annotations

import io
import tarfile

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.bundle.scorecard import storage


def archive(*entries: tuple[str, bytes | None, str]) -> bytes:
    """Build an archive from names, contents and link targets; a directory has neither."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, content, link in entries:
            info = tarfile.TarInfo(name)
            info.size = len(content or b"")
            info.linkname = link
            info.type = (
                tarfile.SYMTYPE if link else tarfile.DIRTYPE if content is None else tarfile.REGTYPE
            )
            tar.addfile(info, io.BytesIO(content or b""))
    return made.getvalue()


def test_files_have_paths_below_the_directory() -> None:
    data = archive(
        ("data/", None, ""),
        ("data/a.txt", b"a", ""),
        ("data/sub/b", b"b", ""),
        ("data/link", None, "/etc/passwd"),
    )
    found = storage.read(data, "/data")
    assert {path: file.data for path, file in found.items()} == {"a.txt": b"a", "sub/b": b"b"}


@pytest.mark.parametrize("name", ["other/a", "data2/a", "data/../../a", "../a"])
def test_a_file_outside_of_the_directory_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        storage.read(archive((name, b"x", "")), "/data/")


def test_a_damaged_archive_is_refused() -> None:
    with pytest.raises(InputError):
        storage.read(archive(("data/a", b"x" * 5000, ""))[:700], "/data")


def test_an_empty_archive_has_no_files() -> None:
    assert not storage.read(archive(), "/data")
