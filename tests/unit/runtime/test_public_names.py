"""What authors may rely on; a name that goes is a change that they must be told of."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import olmkit.runtime
import olmkit.testing

RUNTIME = """
ALL_NAMESPACES ANNOTATIONS_CHANGED GENERATION_CHANGED LABELS_CHANGED NORMAL
RESOURCE_VERSION_CHANGED WARNING
AdmissionRequest
BlockingClient BlockingReconciler BucketLimiter Cache CacheSettings CannotConvert CappedLimiter
CertificateFiles ChannelSource Client Condition Controller ControllerBuilder ControllerSettings
Conversions CreateEvent CustomResource DeleteEvent Denied ElectionSettings EnqueueMapped
EnqueueObject EnqueueOwner EventRecorder ExponentialLimiter FastSlowLimiter Finalized Finalizers
Flags
GenericEvent Group
Handler KindScope KindSource LeadershipLost Manager Model NotSynced ObjectMeta ObjectReconciler
Operator
Predicate RateLimiter Reconciler Registry Request RestClientMetrics Result Scope ShutdownTimeout
SlowestLimiter Snapshot Source Spoke TerminalError ThreadedElector UpdateEvent Verdict
WebhookServer Written
defaulting defaulting_plain main matching_labels on_update parse_namespaces retry_on_conflict
stop_on_signals updates_without validating validating_plain
"""
TESTING = """
ALL_FAULTS
Access ApiServer BUILT_IN ClockLoop ControlPlane ControlPlaneError Fault FaultProxy Programs Refusal
RegistryServer Report Rule
"""


@pytest.mark.parametrize(
    ("module", "names"), [(olmkit.runtime, RUNTIME), (olmkit.testing, TESTING)]
)
def test_public_names_are_these_and_all_of_them_exist(module: ModuleType, names: str) -> None:
    assert sorted(module.__all__) == sorted(names.split())
    for name in module.__all__:
        assert getattr(module, name) is not None
        assert name in dir(module)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute `Nothing`"):
        olmkit.runtime.Nothing  # noqa: B018 - asked for


def test_one_import_loads_what_is_used_and_nothing_else() -> None:
    code = (
        "import sys; from olmkit.runtime import Request; "
        "print([m for m in ('aiohttp', 'pydantic', 'olmkit.runtime.serve.webhook') "
        "if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert found.stdout == b"[]\n"
