"""What runs in this operator: its controllers, what they watch, and its webhooks.

`olmkit create api` and `olmkit create webhook` add theirs here; what stands here
already is kept.
"""

from __future__ import annotations

from collections.abc import Mapping

from olmkit.runtime.manager import Manager
from olmkit.runtime.serve import webhook_admission
from olmkit.runtime.serve.webhook import WebhookServer
from olmkit.runtime.serve.webhook_conversion import Conversions
from olmkit.runtime.watch.cache import CacheSettings
from olmkit.runtime.watch.predicate import GENERATION_CHANGED
from olmkit.runtime.work.builder import ControllerBuilder
from olmkit.runtime.work.controller import ControllerSettings

from toy_operator.api.v1alpha1.toy import Toy
from toy_operator.reconcilers.toy import ToyReconciler
from toy_operator.webhooks.toy_v1alpha1 import ToyDefaulter, ToyValidator

# Objects of each watched kind are held in memory; a `KindScope` can hold fewer of a kind.
CACHE = CacheSettings()


def add_controllers(manager: Manager, environment: Mapping[str, str], *, workers: int = 2) -> None:
    """Put the controllers into the manager; the environment is that of the pod."""
    manager.add_controller(
        ControllerBuilder()
        .named("toy")
        .watches_for(Toy.gvk, GENERATION_CHANGED)
        .with_settings(ControllerSettings(max_concurrent_reconciles=workers))
        .build(ToyReconciler(manager.client), registry=manager.registry)
    )
    # +kubebuilder:scaffold:builder


def add_webhooks(server: WebhookServer) -> None:
    """Put the webhooks on their server."""
    server.add_conversions(conversions())
    server.add(
        webhook_admission.path_for("mutate", Toy.gvk),
        webhook_admission.defaulting(ToyDefaulter(), Toy),
    )
    server.add(
        webhook_admission.path_for("validate", Toy.gvk),
        webhook_admission.validating(ToyValidator(), Toy),
    )
    # +kubebuilder:scaffold:webhook


def conversions() -> Conversions:
    """What the webhook converts: for each kind its hub, and the versions beside it."""
    made = Conversions()
    # +kubebuilder:scaffold:conversion
    return made
