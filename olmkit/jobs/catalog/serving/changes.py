"""Detect changes of a served catalog."""

from __future__ import annotations

import asyncio

from olmkit.base.diagnostics import OlmkitError
from olmkit.edges import folder, paths
from olmkit.edges.images import transports
from olmkit.edges.images.access_settings import Access
from olmkit.oci.reference import FolderReference


async def wait_for_change(reference: str, known: str, interval: float, access: Access) -> str:
    """Wait until the catalog's state differs from `known` and is stable; return the new state.

    Checks every `interval` seconds. A folder is stable if it did not change between two checks, so
    that a partially written catalog is not read.
    """
    last = known
    while True:
        await asyncio.sleep(interval)
        now = await state(reference, access)
        if now not in ("", known) and (now == last or _is_image(reference)):
            return now
        last = now


async def state(reference: str, access: Access) -> str:
    """Return an identifier of the catalog's state; empty if it cannot be read."""
    try:
        path = paths.expand(reference)
        if paths.is_file(path):
            return "{} {}".format(*paths.modification(path))
        source = transports.parse(reference)
        if isinstance(source, FolderReference):
            path = transports.local_path(source.folder)
            return await asyncio.to_thread(folder.fingerprint, path)
        async with transports.open_store(source, access) as store:
            return str((await store.resolve(transports.selector(source))).digest)
    except (OlmkitError, OSError):
        return ""


def _is_image(reference: str) -> bool:
    if paths.is_file(paths.expand(reference)):
        return False
    return not isinstance(transports.parse(reference), FolderReference)
