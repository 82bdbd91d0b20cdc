"""Write the termination message of a container (`terminationMessagePath`)."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

MAX: Final = 4096
"""Bytes that the kubelet reads; from a longer file, only the last ones."""


def write(path: Path, message: str) -> None:
    """Replace the content of the file by the message, truncated to what the kubelet reads.

    If the file cannot be written, this is ignored: the error itself is printed anyway.
    """
    data = message.encode("utf-8", "replace")
    if len(data) > MAX:
        data = data[: MAX - 3].decode("utf-8", "ignore").encode() + "…".encode()
    with contextlib.suppress(OSError):
        path.write_bytes(data)
