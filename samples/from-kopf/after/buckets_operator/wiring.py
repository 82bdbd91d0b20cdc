"""What runs in this operator: its controllers, what they watch, and its webhooks.

`olmkit create api` and `olmkit create webhook` add controllers and webhooks here,
and keep the existing ones.
"""

from __future__ import annotations

from collections.abc import Mapping

from olmkit.runtime import (
    GENERATION_CHANGED,
    CacheSettings,
    ConfigurationError,
    ControllerBuilder,
    ControllerSettings,
    Conversions,
    Manager,
    WebhookServer,
)

from buckets_operator.api.v1.bucket import Bucket
from buckets_operator.reconcilers.bucket import BucketReconciler
from buckets_operator.store import Store

# The cache holds all objects of each watched kind; use a `KindScope` to select fewer.
CACHE = CacheSettings()


def add_controllers(manager: Manager, environment: Mapping[str, str], *, workers: int = 2) -> None:
    """Add the controllers to the manager; the environment is that of the pod."""
    if not environment.get("STORE_URL"):
        raise ConfigurationError("the environment variable STORE_URL is not set")
    store = Store(environment["STORE_URL"])
    manager.add_controller(
        ControllerBuilder()
        .named("bucket")
        .watches_for(Bucket, GENERATION_CHANGED)
        .with_settings(ControllerSettings(max_concurrent_reconciles=workers))
        .build(BucketReconciler(manager.client, store), registry=manager.registry)
    )
    # +kubebuilder:scaffold:builder


def add_webhooks(server: WebhookServer) -> None:
    """Add the webhooks to their server."""
    server.add_conversions(conversions())
    # +kubebuilder:scaffold:webhook


def conversions() -> Conversions:
    """The conversions: for each kind, its hub and its other versions."""
    made = Conversions()
    # +kubebuilder:scaffold:conversion
    return made
