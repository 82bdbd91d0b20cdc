"""A set of files as one immutable value, and the difference between two of them.

Generators return a `Tree`, checks read one, layers are built from one, and one writer
(`olmkit.edges.disk`) applies `Changes` to the disk. Paths are relative POSIX strings, as in an
archive, and never leave the root.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from olmkit.base.diagnostics import InputError

FILE_MODE = 0o644


class File(NamedTuple):
    """The content of one file and its permission bits."""

    data: bytes
    mode: int = FILE_MODE


class Tree(Mapping[str, File]):
    """Relative path → `File`, sorted by path, immutable and hashable by content."""

    __slots__ = ("_files",)

    def __init__(self, files: Mapping[str, File | bytes] | None = None) -> None:
        checked: dict[str, File] = {}
        for path, content in sorted((files or {}).items()):
            checked[clean_path(path)] = File(content) if isinstance(content, bytes) else content
        self._files = checked

    def __getitem__(self, path: str) -> File:
        return self._files[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __hash__(self) -> int:
        return hash(tuple(self._files.items()))

    def __repr__(self) -> str:
        return f"Tree({', '.join(self._files)})"

    def data(self, path: str) -> bytes:
        """Return the bytes of one file; raise `KeyError` if it does not exist."""
        return self._files[path].data

    def chunks(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of a file in chunks, which are read one by one if not in memory."""
        data = self.data(path)
        if data:
            yield data

    def part(self, path: str, start: int, end: int) -> bytes:
        """Return the bytes of one file from `start` to `end`."""
        return self.data(path)[start:end]

    def merge(self, other: Mapping[str, File | bytes]) -> Tree:
        """Return a tree with the files of `other` added or replaced."""
        return Tree({**self._files, **other})

    def under(self, folder: str) -> Tree:
        """Return the files below `folder`, with paths relative to it."""
        prefix = folder.strip("/") + "/" if folder.strip("/") else ""
        return Tree(
            {path[len(prefix) :]: f for path, f in self._files.items() if path.startswith(prefix)}
        )

    def at(self, folder: str) -> Tree:
        """Return the same files, moved below `folder`."""
        prefix = folder.strip("/") + "/" if folder.strip("/") else ""
        return Tree({prefix + path: f for path, f in self._files.items()})


def clean_path(path: str) -> str:
    """Return `path` as a relative POSIX path; `InputError` if it is invalid or leaves the root."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or path.startswith("/") or ".." in parts or "\0" in path:
        raise InputError(f"`{path}` is not a path inside the folder")
    return "/".join(parts)


class ChangeKind(StrEnum):
    """The kind of a change."""

    CREATE = "create"
    UPDATE = "update"
    REMOVE = "remove"


class Change(NamedTuple):
    """One changed file: the desired content (`None`: removed) and the existing one."""

    kind: ChangeKind
    path: str
    wanted: File | None
    found: File | None


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes to apply on disk; falsy if there are none."""

    items: tuple[Change, ...] = ()

    def __iter__(self) -> Iterator[Change]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def undone(self) -> Changes:
        """Return the changes that undo these changes."""
        kinds = {
            ChangeKind.CREATE: ChangeKind.REMOVE,
            ChangeKind.UPDATE: ChangeKind.UPDATE,
            ChangeKind.REMOVE: ChangeKind.CREATE,
        }
        return Changes(
            tuple(Change(kinds[one.kind], one.path, one.found, one.wanted) for one in self.items)
        )


def diff(desired: Tree, found: Tree, *, stale: frozenset[str] = frozenset()) -> Changes:
    """Return the changes that turn `found` into `desired`.

    Other existing files are kept, except those in `stale`: only files that olmkit wrote are
    removed, and the caller knows them. A different mode alone counts only if the owner's executable
    bit differs.
    """
    items: list[Change] = []
    for path, file in desired.items():
        old = found.get(path)
        if old is None:
            items.append(Change(ChangeKind.CREATE, path, file, None))
        elif old.data != file.data or (old.mode ^ file.mode) & 0o100:
            items.append(Change(ChangeKind.UPDATE, path, file, old))
    items.extend(
        Change(ChangeKind.REMOVE, path, None, found[path])
        for path in stale
        if path in found and path not in desired
    )
    return Changes(tuple(sorted(items, key=lambda change: change.path)))
