"""The check of a reconciler before a controller uses it."""

from __future__ import annotations

import inspect

from olmkit.runtime.client import Client
from olmkit.runtime.work.reconcile import Request


def check_reconciler(reconciler: object) -> None:
    """Raise `TypeError` for a reconciler that would fail or do nothing in every reconcile."""
    name = getattr(reconciler, "__name__", type(reconciler).__name__)
    if isinstance(reconciler, type):
        raise TypeError(f"`{name}` is a class: pass an instance of it as the reconciler")
    work = getattr(reconciler, "reconcile", None)
    if not callable(work):
        raise TypeError(f"`{name}` has no method `reconcile(request)`")
    try:
        inspect.signature(work).bind(Request(""))
    except TypeError as error:
        raise TypeError(f"`{name}.reconcile` cannot be called with a request: {error}") from None
    except ValueError:
        pass  # compiled functions have no signature
    held = vars(reconciler).values() if hasattr(reconciler, "__dict__") else ()
    if not inspect.iscoroutinefunction(inspect.unwrap(work)) and any(
        isinstance(one, Client) for one in held
    ):
        # Its calls would return coroutines that nothing awaits.
        raise TypeError(
            f"`{name}.reconcile` is not `async` and holds a `Client`: "
            "write `async def reconcile`, or give it a `BlockingClient`"
        )
