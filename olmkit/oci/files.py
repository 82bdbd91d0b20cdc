"""The file system of an image: merged layers, with links resolved inside the image.

Folders are stored as a tree of nodes and not as paths, so that the cost of removing a folder or
following a link depends only on the number of folders in the path.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from tarfile import TarInfo
from typing import BinaryIO

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import File, Tree
from olmkit.oci import archives
from olmkit.oci.content import Digest
from olmkit.oci.limits import MAX_DEPTH, Limits, ReadBudget

_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"
_MAX_LINKS = 40  # the limit of Linux for one path


class _Node:
    """A folder if it has `children`, else a file, a link, or an entry without content."""

    __slots__ = ("children", "file", "layer", "link")

    def __init__(self, layer: int) -> None:
        self.layer = layer  # the last layer that has it
        self.children: dict[str, _Node] | None = None
        self.file: File | None = None
        self.link: str | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """A resolved path: its names, and the node of each that exists."""

    names: list[str]
    nodes: list[_Node | None]

    @property
    def path(self) -> str:
        return "/".join(self.names)

    @property
    def node(self) -> _Node | None:
        return self.nodes[-1]


class LayeredFiles:
    """The files of an image while its layers are merged, lowest first.

    File contents are kept only below `wanted`, because catalogs often have the base image of a
    whole distribution; all links are kept. `also` are individual files that are kept too. Several
    passes over the same layers may share one `budget`.
    """

    def __init__(
        self,
        folders: Iterable[str] = ("",),
        limits: Limits | None = None,
        *,
        budget: ReadBudget | None = None,
        also: Iterable[str] = (),
    ) -> None:
        self._also = frozenset(also)
        self._lacking: set[str] = set()
        self._open: set[str] = set()
        self._wanted = tuple(folder.strip("/") for folder in folders)
        self._budget = budget or ReadBudget(limits)
        self._limits = self._budget.limits
        self._layer = 0
        self._root = _Node(0)
        self._root.children = {}
        self._total = 0

    def add(self, stream: BinaryIO, name: str, diff_id: Digest | None = None) -> None:
        """Add one layer on top of the others; `name` is its name in messages.

        `stream` must be able to seek; `diff_id` is the expected digest of its uncompressed archive.
        Raises `InputError` for an archive that is damaged, leaves the image, exceeds the limits or
        has another digest.
        """
        self._layer += 1
        seen = hashlib.new(diff_id.algorithm) if diff_id is not None else None
        for entry, content in archives.entries(stream, name, self._budget, seen):
            path = archives.entry_path(entry.name, name)
            if path is None:
                continue
            folder, base = posixpath.split(path)
            if base == _OPAQUE:
                self._empty(self._walk(folder).node)
            elif base.startswith(_WHITEOUT):
                self._remove(self._walk(folder).node, base.removeprefix(_WHITEOUT))
            else:
                place = self._make_folders(folder, name)
                self._place(place, base, entry, content, name)
        if diff_id is not None and seen is not None and seen.hexdigest() != diff_id.encoded:
            raise InputError(
                f"{name}: uncompressed, it has the digest `{diff_id.algorithm}:{seen.hexdigest()}`,"
                f" and `rootfs.diff_ids[{self._layer - 1}]` of the image config is `{diff_id}`",
                hint="build the image again: container engines refuse it",
            )

    def folder(self, folder: str) -> Tree:
        """Return the files below `folder`, with links followed; empty if there is no such folder.

        A file is counted once for each link to it, because a reader of the folder reads it that
        often. Raises `InputError` for a link that leaves the image, is part of a cycle, or refers
        to a file that was not kept, and for links that exceed the limits.
        """
        root = self._walk(folder.strip("/"))
        found: dict[str, File] = {}
        total = self._total
        for path, node in self._leaves(root.node):
            target: _Node | None = node
            if node.link is not None:
                target = self._walk(posixpath.join(root.path, path)).node
            if target is not None and target.file is not None:
                self._budget.keep_path(len(path))
                found[path] = target.file
                if node.link is not None:
                    total += len(target.file.data)
                    self._check_total(total, "image")
            elif node.link is not None and (target is None or target.children is None):
                raise InputError(
                    f"image: `{archives.printable(posixpath.join(root.path, path))}` is a link to "
                    f"`{archives.printable(node.link)}`, which is not there"
                )
        return Tree(found)

    def at(self, path: str) -> Tree:
        """Return the files below `folder` by their path in the image; `path` may be a file."""
        node = self._walk(path.strip("/")).node
        if node is not None and node.file is not None:
            return Tree({path.strip("/"): node.file})
        return self.folder(path).at(path)

    def elsewhere(self) -> tuple[str, ...]:
        """Return the real paths of requested folders behind links."""
        targets = (self._walk(folder).path for folder in self._wanted)
        return tuple(target for target in targets if not self._keeps(target))

    def linked(self) -> frozenset[str]:
        """Return the files outside wanted folders to which hard links inside refer."""
        return frozenset(self._lacking)

    def _place(
        self, folder: _Place, base: str, entry: TarInfo, content: BinaryIO, name: str
    ) -> None:
        parent = folder.node
        assert parent is not None  # noqa: S101 - it was made
        if entry.isdir():
            self._make_folder(parent, base)
            return
        path = posixpath.join(folder.path, base)
        file, link = None, None
        if entry.issym():
            archives.check_length(entry.linkname, name)
            link = entry.linkname
        elif self._keeps(path) and entry.islnk():
            file, link = self._find_link_target(path, entry, name)
        elif self._keeps(path) and entry.isreg():
            file = self._read(path, entry, content, name)
        self._remove(parent, base)
        node = self._new(parent, base)
        node.file, node.link = file, link
        if file is not None:
            self._total += len(file.data)
            self._check_total(self._total, name)

    def _check_total(self, total: int, name: str) -> None:
        if total > self._limits.total_size:
            raise InputError(
                f"{name}: its files are larger than the limit of "
                f"{self._limits.total_size / 1e6:.0f} MB"
            )

    def _read(self, path: str, entry: TarInfo, content: BinaryIO, name: str) -> File:
        if entry.size > self._limits.file_size:
            raise InputError(
                f"{name}: `{archives.printable(path)}` is {entry.size / 1e6:.0f} MB; the limit "
                f"is {self._limits.file_size / 1e6:.0f} MB"
            )
        return File(content.read(), entry.mode & 0o777)

    def _find_link_target(
        self, path: str, entry: TarInfo, name: str
    ) -> tuple[File | None, str | None]:
        """Return the file or link to which a hard link refers."""
        folder, base = posixpath.split(archives.entry_path(entry.linkname, name) or "")
        place = self._walk(folder)
        node = _child(place.node, base)
        if node is not None and (node.file is not None or node.link is not None):
            return node.file, node.link
        target = posixpath.join(place.path, base)
        is_open = target in self._open  # a hard link to a file that the next pass keeps
        if is_open or (node is not None and node.children is None and not self._keeps(target)):
            self._open.add(path)
            if not is_open:
                self._lacking.add(target)
            return None, None
        reason = "is not there" if node is None else "is not a file"
        raise InputError(
            f"{name}: `{archives.printable(path)}` is a hard link to "
            f"`{archives.printable(entry.linkname)}`, which {reason}"
        )

    def _keeps(self, path: str) -> bool:
        return path in self._also or any(
            not folder or path == folder or path.startswith(f"{folder}/") for folder in self._wanted
        )

    def _make_folders(self, path: str, name: str) -> _Place:
        """Return the folder `path`, creating missing folders and replacing other entries."""
        place = self._walk(path)
        for index, part in enumerate(place.names):
            parent = place.nodes[index]
            assert parent is not None  # noqa: S101 - the one before was made
            node = place.nodes[index + 1]
            if node is None or node.children is None:
                self._budget.enter(name)  # no entry names it, so it has not been counted yet
                place.nodes[index + 1] = self._make_folder(parent, part)
        return place

    def _make_folder(self, parent: _Node, base: str) -> _Node:
        node = _child(parent, base)
        if node is None or node.children is None:
            self._remove(parent, base)
            node = self._new(parent, base)
            node.children = {}
        node.layer = self._layer
        return node

    def _new(self, parent: _Node, base: str) -> _Node:
        node = _Node(self._layer)
        assert parent.children is not None  # noqa: S101 - it is a folder
        parent.children[base] = node
        return node

    def _remove(self, parent: _Node | None, base: str) -> None:
        """Forget a file, link or folder of a lower layer."""
        if parent is not None and parent.children is not None and base in parent.children:
            self._forget(parent.children.pop(base))

    def _forget(self, node: _Node) -> None:
        waiting = [node]
        while waiting:
            one = waiting.pop()
            if one.file is not None:
                self._total -= len(one.file.data)
            waiting.extend((one.children or {}).values())

    def _empty(self, folder: _Node | None) -> None:
        """Remove the entries of lower layers in a folder, and keep those of this layer."""
        order = [folder] if folder is not None and folder.children is not None else []
        for one in order:  # grows during the loop: parents before children
            children = one.children or {}
            self._budget.walk(len(children) + 1)
            order.extend(child for child in children.values() if child.children is not None)
        for one in reversed(order):
            children = one.children or {}
            for base, child in list(children.items()):
                if child.layer != self._layer and not child.children:
                    self._forget(children.pop(base))

    def _leaves(self, folder: _Node | None) -> Iterator[tuple[str, _Node]]:
        """Yield everything below a folder except folders, with its relative path."""
        waiting = [("", folder)] if folder is not None else []
        while waiting:
            prefix, one = waiting.pop()
            children = one.children or {}
            self._budget.walk(len(children) + 1)
            for base, child in children.items():
                path = f"{prefix}{base}"
                if child.children is None:
                    yield path, child
                else:
                    waiting.append((f"{path}/", child))

    def _walk(self, path: str) -> _Place:
        """Return `path` with every link in it resolved."""
        names: list[str] = []
        nodes: list[_Node | None] = [self._root]
        rest = path.split("/")
        rest.reverse()
        steps = links = 0
        while rest:
            part = rest.pop()
            steps += 1
            if part in ("", "."):
                continue
            if part == "..":
                if not names:
                    raise InputError(
                        f"image: the link `{archives.printable(path)}` leaves the image"
                    )
                names.pop()
                nodes.pop()
                continue
            child = _child(nodes[-1], part)
            if child is None or child.link is None:
                names.append(part)
                nodes.append(child)
                continue
            links += 1
            if links > _MAX_LINKS:
                raise InputError(
                    f"image: the link `{archives.printable(path)}` leads through more than "
                    f"{_MAX_LINKS} links, or in a circle"
                )
            if child.link.startswith("/"):
                names.clear()
                del nodes[1:]
            rest.extend(reversed(child.link.split("/")))
        self._budget.walk(steps)
        if len(names) > MAX_DEPTH:
            raise InputError(
                f"image: `{archives.printable(path)}` is more than {MAX_DEPTH} folders deep"
            )
        return _Place(names, nodes)


def _child(folder: _Node | None, base: str) -> _Node | None:
    return folder.children.get(base) if folder is not None and folder.children is not None else None
