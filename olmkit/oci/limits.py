"""Limits for untrusted images.

A layer of a few kilobytes can unpack to gigabytes, name a folder in a folder in a folder ten
thousand times, or lead from link to link. The work for an image is therefore limited as a whole,
over all its layers and every read of them: any image within the limits needs a few seconds and less
than a gigabyte.
"""

from __future__ import annotations

from dataclasses import dataclass

from olmkit.base.diagnostics import InputError

MAX_PATH = 4096  # bytes; PATH_MAX of Linux, so no container can have a longer one
MAX_DEPTH = MAX_PATH // 2  # a folder has a letter and a slash


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one image."""

    file_size: int = 128 * 1024 * 1024
    total_size: int = 768 * 1024 * 1024  # for the kept files
    # For all uncompressed layers: base images of operators have up to 2 GB.
    archive_size: int = 4 * 1024 * 1024 * 1024
    stored_size: int = 4 * 1024 * 1024 * 1024  # for all layers, as stored
    entries: int = 100_000  # for all layers; a base image with a whole Linux has 30,000
    header_size: int = 1024 * 1024  # for one entry, with its extended attributes
    headers_size: int = 16 * 1024 * 1024  # for the extended headers of all entries
    steps: int = 8_000_000  # steps to a folder or link; a usual path has eight
    paths_size: int = 64 * 1024 * 1024  # for the paths of the kept files


class ReadBudget:
    """The remaining budget of one image; each method raises `InputError` when exceeded.

    `name` is the name of the image in messages.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._bytes = 0
        self._members = 0
        self._entries = 0
        self._headers = 0
        self._steps = 0
        self._paths = 0

    def unpack(self, size: int, name: str) -> None:
        """Count bytes that were unpacked from a layer."""
        self._bytes += size
        if self._bytes > self.limits.archive_size:
            raise InputError(
                f"{name}: the image unpacks to more than the limit of "
                f"{self.limits.archive_size / 1e9:.1f} GB"
            )

    def begin_member(self, name: str) -> None:
        """Count one more compressed member of a layer; some tools compress each file separately."""
        self._members += 1
        if self._members > 2 * self.limits.entries:
            raise InputError(
                f"{name}: it is compressed in more than {2 * self.limits.entries} pieces"
            )

    def enter(self, name: str) -> None:
        """Count one more file, folder or link, with or without an entry."""
        self._entries += 1
        if self._entries > self.limits.entries:
            raise InputError(f"{name}: the image has more than {self.limits.entries} entries")

    def extend(self, size: int, name: str) -> None:
        """Count the bytes of an extended header."""
        self._headers += size
        if size > self.limits.header_size:
            raise InputError(
                f"{name}: the header of an entry is larger than {self.limits.header_size} bytes"
            )
        if self._headers > self.limits.headers_size:
            raise InputError(
                f"{name}: the headers of its entries are larger than "
                f"{self.limits.headers_size} bytes"
            )

    def walk(self, steps: int) -> None:
        """Count steps along paths and links."""
        self._steps += steps
        if self._steps > self.limits.steps:
            raise InputError(f"image: its paths and links need more than {self.limits.steps} steps")

    def keep_path(self, size: int) -> None:
        """Count one more path with this many characters in the result."""
        self._paths += size
        if self._paths > self.limits.paths_size:
            raise InputError(
                f"image: the paths of its files are longer than "
                f"{self.limits.paths_size / 1e6:.0f} MB together"
            )
