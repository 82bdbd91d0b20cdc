"""Check CRD upgrades like OLM v1.

OLM v1 compares the old and the new CRD before it writes anything, and refuses changes that are not
known to be safe, whether objects exist or not. Releases before 1.4 have other checks than later
ones, and refuse more. A ClusterExtension can turn that off.
"""

from __future__ import annotations

from olmkit.base.diagnostics import InputError
from olmkit.base.versions import Version
from olmkit.bundle.changes import crds
from olmkit.kube import objects
from olmkit.kube.crds.changes import early_safety
from olmkit.kube.objects import Manifest, mapping, text
from olmkit.olm import kinds

_SHOWN = 3
_WITH_CRDIFY = Version(1, 4, 0)


def is_enforced(extension: Manifest) -> bool:
    """Return whether OLM v1 refuses unsafe CRDs for a ClusterExtension, which is the default."""
    found = mapping(kinds.spec(extension).get("install"))
    safety = mapping(mapping(found.get("preflight")).get("crdUpgradeSafety"))
    return text(safety.get("enforcement")) != "None"


def check(
    old: Manifest, new: Manifest, *, enforced: bool = True, release: Version | None = None
) -> tuple[str, ...]:
    """Return notes on a new CRD. Raises `InputError` if this release of OLM v1 refuses it."""
    changes = crds.find_refused_by_v1(old, new)
    found = [one.message for one in changes]
    if release is not None and release < _WITH_CRDIFY:
        early = [one.message for one in early_safety.refusals(old, new)]
        # Changes that the later checks name too have better messages there.
        if not early:  # the API server refuses another name in every release
            found = [one.message for one in changes if one.rule == "name-changed"]
        found = found or early
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
