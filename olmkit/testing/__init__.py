"""What tests of an operator need: servers on loopback that fail when told to, and a clock.

Each name is imported from its module when it is used first. What is listed here
is promised; the modules are open to read and free to change.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from olmkit.testing.apiserver.built_in_kinds import BUILT_IN as BUILT_IN
    from olmkit.testing.apiserver.refusals import Refusal as Refusal
    from olmkit.testing.apiserver.server import ApiServer as ApiServer
    from olmkit.testing.clock import ClockLoop as ClockLoop
    from olmkit.testing.control_plane import ControlPlane as ControlPlane
    from olmkit.testing.control_plane import ControlPlaneError as ControlPlaneError
    from olmkit.testing.control_plane import Programs as Programs
    from olmkit.testing.faults import ALL_FAULTS as ALL_FAULTS
    from olmkit.testing.faults import Fault as Fault
    from olmkit.testing.faults import FaultProxy as FaultProxy
    from olmkit.testing.rbac import Access as Access
    from olmkit.testing.rbac import Report as Report
    from olmkit.testing.rbac import Rule as Rule
    from olmkit.testing.registry import RegistryServer as RegistryServer

_HOMES = {
    "apiserver.refusals": ("Refusal",),
    "apiserver.server": ("ApiServer",),
    "apiserver.built_in_kinds": ("BUILT_IN",),
    "clock": ("ClockLoop",),
    "control_plane": ("ControlPlane", "ControlPlaneError", "Programs"),
    "faults": ("ALL_FAULTS", "Fault", "FaultProxy"),
    "rbac": ("Access", "Report", "Rule"),
    "registry": ("RegistryServer",),
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
