"""The process: `python -m buckets_operator`."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from olmkit.runtime import Flags, Manager, Operator, main

from buckets_operator import wiring


def add_controllers(manager: Manager, flags: Flags, environment: Mapping[str, str]) -> None:
    """Add the controllers to the manager; the environment is that of the pod."""
    wiring.add_controllers(manager, environment, workers=flags.workers)


def operator() -> Operator:
    """The settings of this operator's process."""
    return Operator(
        name="buckets-operator",
        lock="d39f8253.example.com",
        cache=wiring.CACHE,
        workers=2,
        add_controllers=add_controllers,
        add_webhooks=wiring.add_webhooks,
    )


if __name__ == "__main__":
    sys.exit(main(operator()))
