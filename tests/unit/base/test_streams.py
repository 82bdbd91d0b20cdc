"""Streams of content are closed with the block that reads them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from olmkit.base.streams import closing


def test_the_generator_is_closed_however_the_block_ends() -> None:
    ended: list[int] = []

    async def content(number: int) -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x"
        finally:
            ended.append(number)

    async def check() -> None:
        async with closing(content(1)) as pieces:
            await anext(pieces)
        async with closing(content(2)) as pieces:
            await anext(pieces)
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        asyncio.run(check())
    assert ended == [1, 2]
