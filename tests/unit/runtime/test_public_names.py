"""The names on which authors rely; removing one is a change that the changelog must announce."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import olmkit.runtime
import olmkit.testing

RUNTIME = """
Change Child Children EventType Executed Family NameTaken Pipe Pods Scale Token Traces Watched
without_managed_fields
CollectionDeleteOptions DeleteOptions Selectors WriteOptions
ALL_NAMESPACES ANNOTATIONS_CHANGED AdmissionRequest AlreadyExists AlreadyOwned BlockingClient
BlockingReconciler BucketLimiter Cache CacheSettings CannotConvert CappedLimiter Cause
CertificateFiles ChannelSource Client ClusterConfig ClusterError Condition ConfigurationError
Conflict Controller ControllerBuilder ControllerSettings Conversions CreateEvent CustomResource
DeleteEvent Denied Duration ElectionSettings EnqueueMapped EnqueueObject EnqueueOwner
EventRecorder ExponentialLimiter FastSlowLimiter Finalized Finalizers Flags Forbidden
GENERATION_CHANGED GVK GenericEvent Gone Group Handler HttpCluster Int32 Int64 IntOrString
Invalid JSON Kind KindScope KindSource LABELS_CHANGED LOW_PRIORITY LabelSelector LeadershipLost
Manager Manifest MicroTime Model ModelKind NORMAL NoSuchKind NotFound NotSynced ObjectKey ObjectMeta
ObjectReconciler Operator OwnerReference Predicate Propagation Quantity RESOURCE_VERSION_CHANGED
RateLimiter
RawExtension Reconciler Registry Request Resource RestClientMetrics Result Scope ShutdownTimeout
SlowestLimiter Snapshot Source Spoke TerminalError ThreadedElector Time TooManyRequests
Unauthorized Unreachable Unreadable UpdateEvent Verdict WARNING WebhookServer WorkQueue Written
conditions defaulting defaulting_plain finalizers main matching_labels names objects on_update
owners parse_flags parse_namespaces retry_on_conflict run self_signed stop_on_signals timestamp
updates_without validating validating_plain webhook_path
"""
TESTING = """
ALL_FAULTS Access ApiServer BUILT_IN ClockLoop ControlPlane ControlPlaneError Fault FaultProxy
Programs Refusal RegistryServer Report Rule RunManager RunOperator Running Until client_for
conversion_losses free_port install load_manifest rbac running running_operator until
"""


@pytest.mark.parametrize(
    ("module", "names"), [(olmkit.runtime, RUNTIME), (olmkit.testing, TESTING)]
)
def test_public_names_are_these_and_all_of_them_exist(module: ModuleType, names: str) -> None:
    assert sorted(module.__all__) == sorted(names.split())
    for name in module.__all__:
        assert getattr(module, name) is not None
        assert name in dir(module)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute `Nothing`"):
        olmkit.runtime.Nothing  # noqa: B018 - asked for


def test_an_import_only_loads_what_it_uses() -> None:
    code = (
        "import sys; from olmkit.runtime import Request; "
        "print([m for m in ('aiohttp', 'pydantic', 'olmkit.runtime.serve.webhook') "
        "if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert found.stdout == b"[]\n"
