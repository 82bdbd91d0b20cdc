"""What runs in this operator: its controllers, what they watch, and its webhooks.

`olmkit create api` and `olmkit create webhook` add controllers and webhooks here,
and keep the existing ones.
"""

from __future__ import annotations

from collections.abc import Mapping

from olmkit.runtime import (
    GENERATION_CHANGED,
    CacheSettings,
    ControllerBuilder,
    ControllerSettings,
    Conversions,
    KindScope,
    Manager,
    Scope,
    WebhookServer,
)

from backups_operator.api.v1alpha1.backup import Backup
from backups_operator.decisions import JOB, VOLUME
from backups_operator.reconcilers.backup import BackupReconciler

# Only labeled objects are in memory: a cluster has many other Jobs and volumes.
_OURS = KindScope(scope=Scope(label_selector="app.kubernetes.io/managed-by=backups-operator"))
CACHE = CacheSettings(kinds=dict.fromkeys((JOB, VOLUME), _OURS))


def add_controllers(manager: Manager, environment: Mapping[str, str], *, workers: int = 2) -> None:
    """Add the controllers to the manager; the environment is that of the pod."""
    manager.add_controller(
        ControllerBuilder()
        .named("backup")
        .watches_for(Backup, GENERATION_CHANGED)
        .owns(JOB)
        .owns(VOLUME)
        .with_settings(ControllerSettings(max_concurrent_reconciles=workers))
        .build(
            BackupReconciler(manager.client, manager.recorder("backup-controller")),
            registry=manager.registry,
        )
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
