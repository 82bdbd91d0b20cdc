"""Waiting in tests for what happens in other tasks."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")
_PAUSE = 0.02  # seconds; between requests to a real server long enough, and short for a person


@overload
async def until(
    condition: Callable[[], Awaitable[T]], *, seconds: float = 20.0, what: str = ""
) -> T: ...


@overload
async def until(condition: Callable[[], T], *, seconds: float = 20.0, what: str = "") -> T: ...


async def until(condition: Callable[[], Any], *, seconds: float = 20.0, what: str = "") -> Any:
    """Call `condition`, which may be async, until it is true; what it returned then.

    An `AssertionError` or `LookupError` of the condition counts as not yet, so that a condition
    may look into objects that are not complete. Raises `AssertionError` with `what` is missing and
    what was seen last when it is not true after `seconds`.
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
