"""Wait in tests for other tasks."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")
_PAUSE = 0.02  # seconds; short, and long enough between requests to a real server


@overload
async def until(
    condition: Callable[[], Awaitable[T]], *, seconds: float = 20.0, what: str = ""
) -> T: ...


@overload
async def until(condition: Callable[[], T], *, seconds: float = 20.0, what: str = "") -> T: ...


async def until(condition: Callable[[], Any], *, seconds: float = 20.0, what: str = "") -> Any:
    """Call `condition`, which may be async, until its result is true, and return the result.

    An `AssertionError` or `LookupError` of the condition counts as not true, so that a condition
    may read incomplete objects. After `seconds`, raises `AssertionError` with `what` and the last
    result.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    seen: Any = None
    while True:
        try:
            answer = condition()
            seen = await answer if inspect.isawaitable(answer) else answer
        except (AssertionError, LookupError) as error:
            seen = error
        else:
            if seen:
                return seen
        if loop.time() >= end:
            cause = seen if isinstance(seen, Exception) else None
            name = what or getattr(condition, "__name__", "the condition")
            raise AssertionError(f"not true after {seconds:g} s: {name}; last: {seen!r}") from cause
        await asyncio.sleep(_PAUSE)
