"""The record of the files that generation wrote into a bundle folder.

A later run removes files that it no longer writes, but never an author's files. The record
distinguishes them: it has the path and the digest of each written file, in the form of `sha256sum`.
A file that was changed by hand since then counts as an author's file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from olmkit.base.tree import Tree

FILE = ".olmkit-generated"

_DIGEST_LENGTH = 64


def text(files: Mapping[str, bytes]) -> bytes:
    """Return the record of `files`."""
    lines = [f"{_digest(data)}  {path}\n" for path, data in sorted(files.items())]
    return "".join(lines).encode()


def find_stale(found: Tree, current: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return outdated files of an earlier run: unchanged ones, and changed ones."""
    kept = {*current, FILE}
    untouched: set[str] = set()
    changed: set[str] = set()
    for path, digest in _read(found).items():
        if path in kept or path not in found:
            continue
        (untouched if _digest(found.data(path)) == digest else changed).add(path)
    return frozenset(untouched), frozenset(changed)


def _read(found: Tree) -> dict[str, str]:
    if FILE not in found:
        return {}
    result: dict[str, str] = {}
    for line in found.data(FILE).decode("utf-8", "replace").splitlines():
        digest, separator, path = line.partition("  ")
        if separator and len(digest) == _DIGEST_LENGTH:
            result[path] = digest
    return result


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
