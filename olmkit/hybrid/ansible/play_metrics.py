"""Metrics that plays report, next to those of the operator.

The form is that of ansible-operator: a name, a description, and one of `counter`, `gauge`,
`histogram` and `summary` with an action.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from olmkit.runtime.metrics import Registry

PORT = 5050  # the prefix of ansible-operator, which its collection uses
PATH = "/metrics"
_MOST = 1000  # number of metrics; a name from the spec of objects would create one for each of them
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)  # Go's defaults
_KINDS = ("counter", "gauge", "histogram", "summary")
_ORDERS: Mapping[str, tuple[str, ...]] = {
    "counter": ("increment", "add"),
    "gauge": ("set", "increment", "decrement", "add", "subtract", "set_to_current_time"),
    "histogram": ("observe",),
    "summary": ("observe",),
}


@dataclass(slots=True)
class PlayMetrics:
    """Adds the metrics to `registry`; `clock` returns seconds since 1970."""

    registry: Registry
    clock: Callable[[], float] = time.time
    _made: dict[str, str] = field(default_factory=dict, init=False)

    def take(self, value: Any) -> None:
        """Apply one report; raises `ValueError` for an invalid one."""
        if not isinstance(value, Mapping):
            raise ValueError("a metric is an object with `name` and one kind")
        name, help_text = value.get("name"), value.get("description") or ""
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(f"`{name!s:.80}` is not the name of a metric")
        kinds = [one for one in _KINDS if isinstance(value.get(one), Mapping)]
        if len(kinds) != 1:
            raise ValueError("a metric has one of " + ", ".join(f"`{one}`" for one in _KINDS))
        (kind,) = kinds
        orders = {key: order for key, order in value[kind].items() if order not in (None, False)}
        for key, order in orders.items():
            if key not in _ORDERS[kind]:
                raise ValueError(f"a {kind} has no `{key:.80}`")
            if order is not True and not _is_number(order):
                raise ValueError(f"`{key}` must be a number")
        self._check(name, kind)
        self._do(name, str(help_text), kind, orders)
        self._made[name] = kind

    def _check(self, name: str, kind: str) -> None:
        before = self._made.get(name)
        if before is None and self.registry.has(name):
            raise ValueError(f"`{name}` is a metric of the operator")
        if before is None and len(self._made) >= _MOST:
            raise ValueError(f"plays have {_MOST} metrics already")
        if before not in (None, kind):
            raise ValueError(f"`{name}` is a {before}")

    def _do(self, name: str, help_text: str, kind: str, orders: Mapping[str, Any]) -> None:
        if kind == "counter":
            counter = self.registry.counter(name, help_text)
            if orders.get("increment"):
                counter.inc()
            if (amount := float(orders.get("add", 0))) < 0:
                raise ValueError("a counter only grows")
            counter.inc(amount)
        elif kind == "gauge":
            gauge = self.registry.gauge(name, help_text)
            if "set" in orders:
                gauge.set(float(orders["set"]))
            if orders.get("set_to_current_time"):
                gauge.set(self.clock())
            gauge.inc(float(orders.get("add", 0)) + bool(orders.get("increment")))
            gauge.dec(float(orders.get("subtract", 0)) + bool(orders.get("decrement")))
        else:
            observed = (
                self.registry.histogram(name, help_text, (), _BOUNDS)
                if kind == "histogram"
                else self.registry.summary(name, help_text)
            )
            if "observe" in orders:
                observed.observe(float(orders["observe"]))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
