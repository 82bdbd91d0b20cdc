"""Types of the fixtures of the pytest plugin, for annotations, without importing pytest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from olmkit.runtime.manager import Manager
    from olmkit.runtime.process import Operator

T = TypeVar("T")


class RunManager(Protocol):
    """Starts a manager for the server of the test, which stops when the test ends."""

    async def __call__(self, add: Callable[[Manager], None], **settings: Any) -> Manager:
        """Start a manager; `add` adds controllers, `settings` are those of `Manager`."""


class RunOperator(Protocol):
    """Starts a whole operator with its webhooks, which stops when the test ends."""

    async def __call__(
        self, operator: Operator, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> Manager:
        """Start the operator; `arguments` are flags, `environment` is that of the pod."""


class Until(Protocol):
    """Waits like `olmkit.testing.until`, and ends at once if a manager of the test fails."""

    @overload
    async def __call__(
        self, condition: Callable[[], Awaitable[T]], *, seconds: float = 20.0, what: str = ""
    ) -> T: ...

    @overload
    async def __call__(
        self, condition: Callable[[], T], *, seconds: float = 20.0, what: str = ""
    ) -> T: ...

    async def __call__(
        self, condition: Callable[[], Any], *, seconds: float = 20.0, what: str = ""
    ) -> Any:
        """Return the first true result of `condition`."""
