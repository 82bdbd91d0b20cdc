"""What runs in this operator: its controllers, what they watch, and its webhooks.

`olmkit create api` and `olmkit create webhook` add theirs here; what stands here
already is kept.
"""

from __future__ import annotations

from collections.abc import Mapping

from olmkit.runtime import (
    GENERATION_CHANGED,
    CacheSettings,
    ControllerBuilder,
    ControllerSettings,
    Conversions,
    Manager,
    WebhookServer,
)

from toy_operator.api.v1alpha1.toy import Toy
from toy_operator.reconcilers.toy import ToyReconciler

# The cache holds all objects of each watched kind; use a `KindScope` to select fewer.
CACHE = CacheSettings()


def add_controllers(:
    """Add the controllers to the manager; the environment is that of the pod."""
    manager.add_controller(
        ControllerBuilder()
        .named("toy")
        .watches_for(Toy.gvk, GENERATION_CHANGED)
        .with_settings(ControllerSettings(max_concurrent_reconciles=workers))
        .build(ToyReconciler(manager.client), registry=manager.registry)
    )
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
