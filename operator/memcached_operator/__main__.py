"""The process: `python -m memcached_operator`."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from memcached_operator import decisions, webhooks, wiring
from memcached_operator.reconciler import Settings
from olmkit.base.diagnostics import ConfigurationError
from olmkit.runtime import process
from olmkit.runtime.flags import Flags
from olmkit.runtime.manager import Manager
from olmkit.runtime.process import Operator


def settings(environment: Mapping[str, str]) -> Settings:
    """What the environment says about the pods."""
    user = environment.get("MEMCACHED_RUN_AS_USER", str(decisions.USER))
    if user and not (user.isascii() and user.isdigit()):
        raise ConfigurationError(f"`MEMCACHED_RUN_AS_USER` is no number: `{user}`")
    return Settings(image=environment.get("MEMCACHED_IMAGE", ""), user=int(user) if user else None)


def add_controllers(manager: Manager, flags: Flags, environment: Mapping[str, str]) -> None:
    """Put the controllers into the manager; the environment is that of the pod."""
    wiring.add_controller(manager, settings=settings(environment), workers=flags.workers)


def operator() -> Operator:
    """What is this operator's own in its process."""
    return Operator(
        name="memcached-operator",
        lock="86f835c3.example.com",
        description="Keeps a Deployment and a Service for each Memcached.",
        cache=wiring.CACHE,
        workers=2,
        add_controllers=add_controllers,
        add_webhooks=webhooks.add_to,
    )


if __name__ == "__main__":
    sys.exit(process.main(operator()))
