"""The types of the fixtures of the pytest plugin, for annotations; pytest is not imported."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from olmkit.runtime.manager import Manager
    from olmkit.runtime.process import Operator

T = TypeVar("T")


class RunManager(Protocol):
    """Starts a manager of the server of the test; it is stopped when the test ends."""

    async def __call__(self, add: Callable[[Manager], None], **settings: Any) -> Manager:
        """`add` puts controllers into the manager; `settings` are those of `Manager`."""


class RunOperator(Protocol):
    """Starts a whole operator with its webhooks; it is stopped when the test ends."""

    async def __call__(
        self, operator: Operator, *words: str, environment: Mapping[str, str] | None = None
    ) -> Manager:
        """`words` are flags, `environment` is that of the pod."""


class Until(Protocol):
    """`olmkit.testing.until`, which ends at once when a manager of the test has failed."""

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
        """The first true answer of `condition`."""
