"""Close streams of content chunks."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator


@contextlib.asynccontextmanager
async def closing(content: AsyncIterator[bytes]) -> AsyncIterator[AsyncIterator[bytes]]:
    """Close `content` at the end of the block.

    An unfinished generator keeps its connection until the garbage
    collector finds it, which may be after the event loop has ended.
    """
    try:
        yield content
    finally:
        close = getattr(content, "aclose", None)  # plain iterators need not be closed
        if close is not None:
            await close()
