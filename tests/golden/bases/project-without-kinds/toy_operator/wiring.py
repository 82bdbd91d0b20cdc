"""What runs in this operator: its controllers, what they watch, and its webhooks.

`olmkit create api` and `olmkit create webhook` add theirs here; what stands here
already is kept.
"""

from __future__ import annotations

from collections.abc import Mapping

from olmkit.runtime import CacheSettings, Conversions, Manager, WebhookServer

# The cache holds all objects of each watched kind; use a `KindScope` to select fewer.
CACHE = CacheSettings()


def add_controllers(manager: Manager, environment: Mapping[str, str], *, workers: int = 2) -> None:
    """Add the controllers to the manager; the environment is that of the pod."""
    # +kubebuilder:scaffold:builder


def add_webhooks(server: WebhookServer) -> None:
    """Add the webhooks to their server."""
    server.add_conversions(conversions())
    # +kubebuilder:scaffold:webhook


def conversions() -> Conversions:
    """What the webhook converts: for each kind its hub, and its other versions."""
    made = Conversions()
    # +kubebuilder:scaffold:conversion
    return made
