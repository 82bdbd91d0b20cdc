"""Everything that tests of an operator import: servers on loopback, a control plane, a clock, RBAC.

Each name is imported from its module on first use. These names are public; the modules behind them
may change in any release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from olmkit.base import exports

if TYPE_CHECKING:
    from olmkit.testing import rbac as rbac
    from olmkit.testing.apiserver.kinds.built_in_kinds import BUILT_IN as BUILT_IN
    from olmkit.testing.apiserver.refusals import Refusal as Refusal
    from olmkit.testing.apiserver.server import ApiServer as ApiServer
    from olmkit.testing.clients import client_for as client_for
    from olmkit.testing.clients import load_manifest as load_manifest
    from olmkit.testing.clock import ClockLoop as ClockLoop
    from olmkit.testing.control_plane import ControlPlane as ControlPlane
    from olmkit.testing.control_plane import ControlPlaneError as ControlPlaneError
    from olmkit.testing.control_plane import Programs as Programs
    from olmkit.testing.conversions import conversion_losses as conversion_losses
    from olmkit.testing.faults import ALL_FAULTS as ALL_FAULTS
    from olmkit.testing.faults import Fault as Fault
    from olmkit.testing.faults import FaultProxy as FaultProxy
    from olmkit.testing.fixture_types import RunManager as RunManager
    from olmkit.testing.fixture_types import RunOperator as RunOperator
    from olmkit.testing.fixture_types import Until as Until
    from olmkit.testing.installing import install as install
    from olmkit.testing.rbac import Access as Access
    from olmkit.testing.rbac import Report as Report
    from olmkit.testing.rbac import Rule as Rule
    from olmkit.testing.registry import RegistryServer as RegistryServer
    from olmkit.testing.registry import free_port as free_port
    from olmkit.testing.tasks import Running as Running
    from olmkit.testing.tasks import running as running
    from olmkit.testing.tasks import running_operator as running_operator
    from olmkit.testing.waiting import until as until

_NAMES = {
    "olmkit.testing.apiserver.kinds.built_in_kinds": ("BUILT_IN",),
    "olmkit.testing.apiserver.refusals": ("Refusal",),
    "olmkit.testing.apiserver.server": ("ApiServer",),
    "olmkit.testing.clients": (
        "client_for",
        "load_manifest",
    ),
    "olmkit.testing.clock": ("ClockLoop",),
    "olmkit.testing.control_plane": (
        "ControlPlane",
        "ControlPlaneError",
        "Programs",
    ),
    "olmkit.testing.conversions": ("conversion_losses",),
    "olmkit.testing.faults": (
        "ALL_FAULTS",
        "Fault",
        "FaultProxy",
    ),
    "olmkit.testing.installing": ("install",),
    "olmkit.testing.fixture_types": (
        "RunManager",
        "RunOperator",
        "Until",
    ),
    "olmkit.testing.rbac": (
        "Access",
        "Report",
        "Rule",
    ),
    "olmkit.testing.registry": (
        "RegistryServer",
        "free_port",
    ),
    "olmkit.testing.tasks": (
        "Running",
        "running",
        "running_operator",
    ),
    "olmkit.testing.waiting": ("until",),
}
_MODULES = {
    "rbac": "olmkit.testing.rbac",
}

__getattr__, __dir__, __all__ = exports.lazy(__name__, _NAMES, _MODULES)
