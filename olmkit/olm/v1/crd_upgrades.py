"""Check CRD upgrades like OLM v1.

OLM v1 compares the old and the new CRD before it writes anything, and refuses changes that are not
known to be safe, whether objects exist or not. A ClusterExtension can turn that off.
"""

from __future__ import annotations

from olmkit.base.diagnostics import InputError
from olmkit.bundle.changes import crds
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, text
from olmkit.olm import kinds

_SHOWN = 3


def is_enforced(extension: Manifest) -> bool:
    """Return whether OLM v1 refuses unsafe CRDs for a ClusterExtension, which is the default."""
    found = mapping(kinds.spec(extension).get("install"))
    safety = mapping(mapping(found.get("preflight")).get("crdUpgradeSafety"))
    return text(safety.get("enforcement")) != "None"


def check(old: Manifest, new: Manifest, *, enforced: bool = True) -> tuple[str, ...]:
    """Return notes on a new CRD. Raises `InputError` if OLM v1 refuses it."""
    found = [one.message for one in crds.find_refused_by_v1(old, new)]
    if not found:
        return ()
    name = objects.name(new)
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    listed = "; ".join(found[:_SHOWN]) + more
    if not enforced:
        return (f"the CustomResourceDefinition `{name}` changes, and no check is made: {listed}",)
    raise InputError(
        f"OLM v1 refuses the new CustomResourceDefinition `{name}`: {listed}",
        hint="release a bundle with a compatible CRD; "
        "`spec.install.preflight.crdUpgradeSafety.enforcement: None` disables the check",
        cause="crd-upgrade-unsafe",
    )
