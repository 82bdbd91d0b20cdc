"""What an operator's author needs, in one import.

Each name is imported from its module when it is used first, so that an operator
without webhooks does not pay for them. What is listed here is promised; the
modules are open to read and free to change.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from olmkit.runtime.client import Client as Client
    from olmkit.runtime.client import Written as Written
    from olmkit.runtime.client import retry_on_conflict as retry_on_conflict
    from olmkit.runtime.events import NORMAL as NORMAL
    from olmkit.runtime.events import WARNING as WARNING
    from olmkit.runtime.events import EventRecorder as EventRecorder
    from olmkit.runtime.flags import Flags as Flags
    from olmkit.runtime.kinds import Condition as Condition
    from olmkit.runtime.kinds import CustomResource as CustomResource
    from olmkit.runtime.kinds import Model as Model
    from olmkit.runtime.kinds import ObjectMeta as ObjectMeta
    from olmkit.runtime.lead.leader import ElectionSettings as ElectionSettings
    from olmkit.runtime.lead.leader import ThreadedElector as ThreadedElector
    from olmkit.runtime.manager import Group as Group
    from olmkit.runtime.manager import LeadershipLost as LeadershipLost
    from olmkit.runtime.manager import Manager as Manager
    from olmkit.runtime.manager import ShutdownTimeout as ShutdownTimeout
    from olmkit.runtime.manager import stop_on_signals as stop_on_signals
    from olmkit.runtime.metrics import Registry as Registry
    from olmkit.runtime.metrics import RestClientMetrics as RestClientMetrics
    from olmkit.runtime.process import Operator as Operator
    from olmkit.runtime.process import main as main
    from olmkit.runtime.serve.webhook import CertificateFiles as CertificateFiles
    from olmkit.runtime.serve.webhook import WebhookServer as WebhookServer
    from olmkit.runtime.serve.webhook_admission import AdmissionRequest as AdmissionRequest
    from olmkit.runtime.serve.webhook_admission import Denied as Denied
    from olmkit.runtime.serve.webhook_admission import Verdict as Verdict
    from olmkit.runtime.serve.webhook_admission import defaulting as defaulting
    from olmkit.runtime.serve.webhook_admission import defaulting_plain as defaulting_plain
    from olmkit.runtime.serve.webhook_admission import validating as validating
    from olmkit.runtime.serve.webhook_admission import validating_plain as validating_plain
    from olmkit.runtime.serve.webhook_conversion import CannotConvert as CannotConvert
    from olmkit.runtime.serve.webhook_conversion import Conversions as Conversions
    from olmkit.runtime.serve.webhook_conversion import Spoke as Spoke
    from olmkit.runtime.watch.cache import Cache as Cache
    from olmkit.runtime.watch.handler import EnqueueMapped as EnqueueMapped
    from olmkit.runtime.watch.handler import EnqueueObject as EnqueueObject
    from olmkit.runtime.watch.handler import EnqueueOwner as EnqueueOwner
    from olmkit.runtime.watch.handler import Handler as Handler
    from olmkit.runtime.watch.predicate import ANNOTATIONS_CHANGED as ANNOTATIONS_CHANGED
    from olmkit.runtime.watch.predicate import GENERATION_CHANGED as GENERATION_CHANGED
    from olmkit.runtime.watch.predicate import LABELS_CHANGED as LABELS_CHANGED
    from olmkit.runtime.watch.predicate import RESOURCE_VERSION_CHANGED as RESOURCE_VERSION_CHANGED
    from olmkit.runtime.watch.predicate import CreateEvent as CreateEvent
    from olmkit.runtime.watch.predicate import DeleteEvent as DeleteEvent
    from olmkit.runtime.watch.predicate import GenericEvent as GenericEvent
    from olmkit.runtime.watch.predicate import Predicate as Predicate
    from olmkit.runtime.watch.predicate import UpdateEvent as UpdateEvent
    from olmkit.runtime.watch.predicate import matching_labels as matching_labels
    from olmkit.runtime.watch.predicate import on_update as on_update
    from olmkit.runtime.watch.predicate import updates_without as updates_without
    from olmkit.runtime.watch.scope import ALL_NAMESPACES as ALL_NAMESPACES
    from olmkit.runtime.watch.scope import CacheSettings as CacheSettings
    from olmkit.runtime.watch.scope import KindScope as KindScope
    from olmkit.runtime.watch.scope import Scope as Scope
    from olmkit.runtime.watch.scope import parse_namespaces as parse_namespaces
    from olmkit.runtime.watch.snapshot import Snapshot as Snapshot
    from olmkit.runtime.watch.source import ChannelSource as ChannelSource
    from olmkit.runtime.watch.source import KindSource as KindSource
    from olmkit.runtime.watch.source import Source as Source
    from olmkit.runtime.work.blocking import BlockingClient as BlockingClient
    from olmkit.runtime.work.builder import ControllerBuilder as ControllerBuilder
    from olmkit.runtime.work.controller import Controller as Controller
    from olmkit.runtime.work.controller import ControllerSettings as ControllerSettings
    from olmkit.runtime.work.controller import NotSynced as NotSynced
    from olmkit.runtime.work.finalize import Finalized as Finalized
    from olmkit.runtime.work.finalize import Finalizers as Finalizers
    from olmkit.runtime.work.object_reconciler import ObjectReconciler as ObjectReconciler
    from olmkit.runtime.work.reconcile import BlockingReconciler as BlockingReconciler
    from olmkit.runtime.work.reconcile import Reconciler as Reconciler
    from olmkit.runtime.work.reconcile import Request as Request
    from olmkit.runtime.work.reconcile import Result as Result
    from olmkit.runtime.work.reconcile import TerminalError as TerminalError
    from olmkit.runtime.work.workqueue import BucketLimiter as BucketLimiter
    from olmkit.runtime.work.workqueue import CappedLimiter as CappedLimiter
    from olmkit.runtime.work.workqueue import ExponentialLimiter as ExponentialLimiter
    from olmkit.runtime.work.workqueue import FastSlowLimiter as FastSlowLimiter
    from olmkit.runtime.work.workqueue import RateLimiter as RateLimiter
    from olmkit.runtime.work.workqueue import SlowestLimiter as SlowestLimiter

_HOMES = {
    "work.blocking": ("BlockingClient",),
    "work.builder": ("ControllerBuilder",),
    "watch.cache": ("Cache",),
    "client": ("Client", "Written", "retry_on_conflict"),
    "work.controller": ("Controller", "ControllerSettings", "NotSynced"),
    "events": ("EventRecorder", "NORMAL", "WARNING"),
    "work.finalize": ("Finalized", "Finalizers"),
    "flags": ("Flags",),
    "watch.handler": ("EnqueueMapped", "EnqueueObject", "EnqueueOwner", "Handler"),
    "kinds": ("Condition", "CustomResource", "Model", "ObjectMeta"),
    "lead.leader": ("ElectionSettings", "ThreadedElector"),
    "manager": ("Group", "LeadershipLost", "Manager", "ShutdownTimeout", "stop_on_signals"),
    "metrics": ("Registry", "RestClientMetrics"),
    "work.object_reconciler": ("ObjectReconciler",),
    "watch.predicate": (
        "ANNOTATIONS_CHANGED",
        "CreateEvent",
        "DeleteEvent",
        "GENERATION_CHANGED",
        "GenericEvent",
        "LABELS_CHANGED",
        "Predicate",
        "RESOURCE_VERSION_CHANGED",
        "UpdateEvent",
        "matching_labels",
        "on_update",
        "updates_without",
    ),
    "process": ("Operator", "main"),
    "work.reconcile": ("BlockingReconciler", "Reconciler", "Request", "Result", "TerminalError"),
    "watch.scope": ("ALL_NAMESPACES", "CacheSettings", "KindScope", "Scope", "parse_namespaces"),
    "watch.snapshot": ("Snapshot",),
    "watch.source": ("ChannelSource", "KindSource", "Source"),
    "serve.webhook": ("CertificateFiles", "WebhookServer"),
    "serve.webhook_admission": (
        "AdmissionRequest",
        "Denied",
        "Verdict",
        "defaulting",
        "defaulting_plain",
        "validating",
        "validating_plain",
    ),
    "serve.webhook_conversion": ("CannotConvert", "Conversions", "Spoke"),
    "work.workqueue": (
        "BucketLimiter",
        "CappedLimiter",
        "ExponentialLimiter",
        "FastSlowLimiter",
        "RateLimiter",
        "SlowestLimiter",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    found = globals()[name] = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
