"""The controller runtime: everything that the author of an operator imports.

Each name is imported from its module on first use, so that an operator without webhooks does not
load their code. These names are the public interface, together with those of `olmkit.testing`; the
modules behind them may change in any release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from olmkit.base import exports

if TYPE_CHECKING:
    from olmkit.base import names as names
    from olmkit.base.diagnostics import ConfigurationError as ConfigurationError
    from olmkit.edges.cluster.client import HttpCluster as HttpCluster
    from olmkit.edges.cluster.kubeconfig import ClusterConfig as ClusterConfig
    from olmkit.kube import conditions as conditions
    from olmkit.kube import finalizers as finalizers
    from olmkit.kube import objects as objects
    from olmkit.kube import owners as owners
    from olmkit.kube.api import AlreadyExists as AlreadyExists
    from olmkit.kube.api import Cause as Cause
    from olmkit.kube.api import ClusterError as ClusterError
    from olmkit.kube.api import CollectionDeleteOptions as CollectionDeleteOptions
    from olmkit.kube.api import Conflict as Conflict
    from olmkit.kube.api import DeleteOptions as DeleteOptions
    from olmkit.kube.api import EventType as EventType
    from olmkit.kube.api import Forbidden as Forbidden
    from olmkit.kube.api import Gone as Gone
    from olmkit.kube.api import Invalid as Invalid
    from olmkit.kube.api import NoSuchKind as NoSuchKind
    from olmkit.kube.api import NotFound as NotFound
    from olmkit.kube.api import Pipe as Pipe
    from olmkit.kube.api import Propagation as Propagation
    from olmkit.kube.api import Resource as Resource
    from olmkit.kube.api import Selectors as Selectors
    from olmkit.kube.api import TooManyRequests as TooManyRequests
    from olmkit.kube.api import Unauthorized as Unauthorized
    from olmkit.kube.api import Unreachable as Unreachable
    from olmkit.kube.api import WriteOptions as WriteOptions
    from olmkit.kube.labels import LabelSelector as LabelSelector
    from olmkit.kube.objects import GVK as GVK
    from olmkit.kube.objects import Manifest as Manifest
    from olmkit.kube.objects import ObjectKey as ObjectKey
    from olmkit.kube.owners import AlreadyOwned as AlreadyOwned
    from olmkit.runtime.children import Change as Change
    from olmkit.runtime.children import Child as Child
    from olmkit.runtime.children import Children as Children
    from olmkit.runtime.children import Family as Family
    from olmkit.runtime.children import NameTaken as NameTaken
    from olmkit.runtime.client import Client as Client
    from olmkit.runtime.client import retry_on_conflict as retry_on_conflict
    from olmkit.runtime.direct.following import Watched as Watched
    from olmkit.runtime.direct.pods import Executed as Executed
    from olmkit.runtime.direct.pods import Pods as Pods
    from olmkit.runtime.direct.subresources import Scale as Scale
    from olmkit.runtime.direct.subresources import Token as Token
    from olmkit.runtime.events import NORMAL as NORMAL
    from olmkit.runtime.events import WARNING as WARNING
    from olmkit.runtime.events import EventRecorder as EventRecorder
    from olmkit.runtime.flags import Flags as Flags
    from olmkit.runtime.kinds import JSON as JSON
    from olmkit.runtime.kinds import Condition as Condition
    from olmkit.runtime.kinds import CustomResource as CustomResource
    from olmkit.runtime.kinds import Duration as Duration
    from olmkit.runtime.kinds import Int32 as Int32
    from olmkit.runtime.kinds import Int64 as Int64
    from olmkit.runtime.kinds import IntOrString as IntOrString
    from olmkit.runtime.kinds import MicroTime as MicroTime
    from olmkit.runtime.kinds import Model as Model
    from olmkit.runtime.kinds import ObjectMeta as ObjectMeta
    from olmkit.runtime.kinds import OwnerReference as OwnerReference
    from olmkit.runtime.kinds import Quantity as Quantity
    from olmkit.runtime.kinds import RawExtension as RawExtension
    from olmkit.runtime.kinds import Time as Time
    from olmkit.runtime.lead.leader import ElectionSettings as ElectionSettings
    from olmkit.runtime.lead.leader import ThreadedElector as ThreadedElector
    from olmkit.runtime.manager import Group as Group
    from olmkit.runtime.manager import LeadershipLost as LeadershipLost
    from olmkit.runtime.manager import Manager as Manager
    from olmkit.runtime.manager import ShutdownTimeout as ShutdownTimeout
    from olmkit.runtime.manager import stop_on_signals as stop_on_signals
    from olmkit.runtime.manifests.manifest_client import Written as Written
    from olmkit.runtime.metrics import Registry as Registry
    from olmkit.runtime.metrics import RestClientMetrics as RestClientMetrics
    from olmkit.runtime.process import Operator as Operator
    from olmkit.runtime.process import main as main
    from olmkit.runtime.process import parse_flags as parse_flags
    from olmkit.runtime.process import run as run
    from olmkit.runtime.process import timestamp as timestamp
    from olmkit.runtime.serve import self_signed as self_signed
    from olmkit.runtime.serve.webhook import CertificateFiles as CertificateFiles
    from olmkit.runtime.serve.webhook import WebhookServer as WebhookServer
    from olmkit.runtime.serve.webhook_admission import AdmissionRequest as AdmissionRequest
    from olmkit.runtime.serve.webhook_admission import Denied as Denied
    from olmkit.runtime.serve.webhook_admission import Verdict as Verdict
    from olmkit.runtime.serve.webhook_admission import defaulting as defaulting
    from olmkit.runtime.serve.webhook_admission import defaulting_plain as defaulting_plain
    from olmkit.runtime.serve.webhook_admission import validating as validating
    from olmkit.runtime.serve.webhook_admission import validating_plain as validating_plain
    from olmkit.runtime.serve.webhook_admission import webhook_path as webhook_path
    from olmkit.runtime.serve.webhook_conversion import CannotConvert as CannotConvert
    from olmkit.runtime.serve.webhook_conversion import Conversions as Conversions
    from olmkit.runtime.serve.webhook_conversion import Spoke as Spoke
    from olmkit.runtime.traces import Traces as Traces
    from olmkit.runtime.typed import Kind as Kind
    from olmkit.runtime.typed import ModelKind as ModelKind
    from olmkit.runtime.typed import Unreadable as Unreadable
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
    from olmkit.runtime.watch.transforms import without_managed_fields as without_managed_fields
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
    from olmkit.runtime.work.workqueue import LOW_PRIORITY as LOW_PRIORITY
    from olmkit.runtime.work.workqueue import BucketLimiter as BucketLimiter
    from olmkit.runtime.work.workqueue import CappedLimiter as CappedLimiter
    from olmkit.runtime.work.workqueue import ExponentialLimiter as ExponentialLimiter
    from olmkit.runtime.work.workqueue import FastSlowLimiter as FastSlowLimiter
    from olmkit.runtime.work.workqueue import RateLimiter as RateLimiter
    from olmkit.runtime.work.workqueue import SlowestLimiter as SlowestLimiter
    from olmkit.runtime.work.workqueue import WorkQueue as WorkQueue

_NAMES = {
    "olmkit.base.diagnostics": ("ConfigurationError",),
    "olmkit.edges.cluster.client": ("HttpCluster",),
    "olmkit.edges.cluster.kubeconfig": ("ClusterConfig",),
    "olmkit.kube.api": (
        "AlreadyExists",
        "Cause",
        "ClusterError",
        "CollectionDeleteOptions",
        "Conflict",
        "DeleteOptions",
        "EventType",
        "Forbidden",
        "Gone",
        "Invalid",
        "NoSuchKind",
        "NotFound",
        "Pipe",
        "Propagation",
        "Resource",
        "Selectors",
        "TooManyRequests",
        "Unauthorized",
        "Unreachable",
        "WriteOptions",
    ),
    "olmkit.kube.labels": ("LabelSelector",),
    "olmkit.kube.objects": (
        "GVK",
        "Manifest",
        "ObjectKey",
    ),
    "olmkit.kube.owners": ("AlreadyOwned",),
    "olmkit.runtime.children": (
        "Change",
        "Child",
        "Children",
        "Family",
        "NameTaken",
    ),
    "olmkit.runtime.client": (
        "Client",
        "retry_on_conflict",
    ),
    "olmkit.runtime.direct.following": ("Watched",),
    "olmkit.runtime.direct.pods": (
        "Executed",
        "Pods",
    ),
    "olmkit.runtime.direct.subresources": (
        "Scale",
        "Token",
    ),
    "olmkit.runtime.events": (
        "EventRecorder",
        "NORMAL",
        "WARNING",
    ),
    "olmkit.runtime.flags": ("Flags",),
    "olmkit.runtime.kinds": (
        "Condition",
        "CustomResource",
        "Duration",
        "Int32",
        "Int64",
        "IntOrString",
        "JSON",
        "MicroTime",
        "Model",
        "ObjectMeta",
        "OwnerReference",
        "Quantity",
        "RawExtension",
        "Time",
    ),
    "olmkit.runtime.lead.leader": (
        "ElectionSettings",
        "ThreadedElector",
    ),
    "olmkit.runtime.manager": (
        "Group",
        "LeadershipLost",
        "Manager",
        "ShutdownTimeout",
        "stop_on_signals",
    ),
    "olmkit.runtime.manifests.manifest_client": ("Written",),
    "olmkit.runtime.metrics": (
        "Registry",
        "RestClientMetrics",
    ),
    "olmkit.runtime.process": (
        "Operator",
        "main",
        "parse_flags",
        "run",
        "timestamp",
    ),
    "olmkit.runtime.serve.webhook": (
        "CertificateFiles",
        "WebhookServer",
    ),
    "olmkit.runtime.serve.webhook_admission": (
        "AdmissionRequest",
        "Denied",
        "Verdict",
        "defaulting",
        "defaulting_plain",
        "validating",
        "validating_plain",
        "webhook_path",
    ),
    "olmkit.runtime.serve.webhook_conversion": (
        "CannotConvert",
        "Conversions",
        "Spoke",
    ),
    "olmkit.runtime.traces": ("Traces",),
    "olmkit.runtime.typed": (
        "Kind",
        "ModelKind",
        "Unreadable",
    ),
    "olmkit.runtime.watch.cache": ("Cache",),
    "olmkit.runtime.watch.handler": (
        "EnqueueMapped",
        "EnqueueObject",
        "EnqueueOwner",
        "Handler",
    ),
    "olmkit.runtime.watch.predicate": (
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
    "olmkit.runtime.watch.scope": (
        "ALL_NAMESPACES",
        "CacheSettings",
        "KindScope",
        "Scope",
        "parse_namespaces",
    ),
    "olmkit.runtime.watch.snapshot": ("Snapshot",),
    "olmkit.runtime.watch.source": (
        "ChannelSource",
        "KindSource",
        "Source",
    ),
    "olmkit.runtime.watch.transforms": ("without_managed_fields",),
    "olmkit.runtime.work.blocking": ("BlockingClient",),
    "olmkit.runtime.work.builder": ("ControllerBuilder",),
    "olmkit.runtime.work.controller": (
        "Controller",
        "ControllerSettings",
        "NotSynced",
    ),
    "olmkit.runtime.work.finalize": (
        "Finalized",
        "Finalizers",
    ),
    "olmkit.runtime.work.object_reconciler": ("ObjectReconciler",),
    "olmkit.runtime.work.reconcile": (
        "BlockingReconciler",
        "Reconciler",
        "Request",
        "Result",
        "TerminalError",
    ),
    "olmkit.runtime.work.workqueue": (
        "BucketLimiter",
        "CappedLimiter",
        "ExponentialLimiter",
        "FastSlowLimiter",
        "LOW_PRIORITY",
        "RateLimiter",
        "SlowestLimiter",
        "WorkQueue",
    ),
}
_MODULES = {
    "conditions": "olmkit.kube.conditions",
    "finalizers": "olmkit.kube.finalizers",
    "names": "olmkit.base.names",
    "objects": "olmkit.kube.objects",
    "owners": "olmkit.kube.owners",
    "self_signed": "olmkit.runtime.serve.self_signed",
}

__getattr__, __dir__, __all__ = exports.lazy(__name__, _NAMES, _MODULES)
