"""Read lists that a registry returns in pages: tags and referrers.

A registry returns the URL of the next page. Reading fails if the list never ends, repeats its pages
or takes too long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Final, TypeVar

from olmkit.oci.store import RegistryError

T = TypeVar("T", bound=Hashable)

MAX_PAGES: Final = 1000
WHOLE_LIST: Final = 300.0
"""Seconds for all pages together."""

_IDLE: Final = 16  # consecutive pages without new entries; registries with filters have some


async def read_all(
    first: str,
    page: Callable[[str], Awaitable[tuple[Sequence[T] | None, str]]],
    *,
    host: str,
    what: str,
    most: int,
    seconds: float = WHOLE_LIST,
) -> list[T] | None:
    """Return all entries, in the order of the pages; None if a page is not part of such a list.

    `page` returns the entries at a URL and the URL of the next page, empty at the end. `what` names
    the entries in messages. Raises `RegistryError` if the list takes longer than `seconds`, has
    more than `most` entries, or does not end.
    """
    found: dict[T, None] = {}
    seen: set[str] = set()
    idle, url = 0, first
    try:
        async with asyncio.timeout(seconds):
            while url:
                if url in seen or len(seen) >= MAX_PAGES or idle >= _IDLE:
                    raise RegistryError(
                        f"registry `{host}` never ends its list of {what}",
                        hint="report this to the owner of the registry",
                    )
                seen.add(url)
                entries, url = await page(url)
                if entries is None:
                    return None
                before = len(found)
                found |= dict.fromkeys(entries)
                idle = idle + 1 if len(found) == before else 0
                if len(found) > most:
                    raise RegistryError(f"registry `{host}` lists more than {most} {what}")
    except TimeoutError:
        raise RegistryError(
            f"registry `{host}` needs more than {seconds:.0f} seconds for its list of {what}",
            hint="try again later, or report this to the owner of the registry",
        ) from None
    return list(found)
