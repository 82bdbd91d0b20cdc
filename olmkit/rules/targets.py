"""The versions of Kubernetes and OpenShift that a bundle is checked for."""

from __future__ import annotations

from olmkit.base.versions import Version
from olmkit.bundle.model import Bundle
from olmkit.kube import openshift
from olmkit.rules.engine import Facts

OPENSHIFT_VERSIONS = "com.redhat.openshift.versions"


def kube_minor(bundle: Bundle, facts: Facts) -> int | None:
    """Return the newest Kubernetes minor version of the caller or the CSV, or None.

    Of several versions of OpenShift the newest counts. A pre-release belongs to its minor version
    if the caller names it; as a `minKubeVersion` it is earlier than the minor version, because
    `1.25.0-0` allows any build of 1.25.
    """
    known = [minor_of(facts.kube_version)]
    if facts.openshift_versions:
        named = openshift.parse(facts.openshift_versions) or ()
        known += [openshift.kubernetes(minor) for minor in named[-1:]]
    oldest = bundle.csv.min_kube_version if bundle.csv else ""
    minor = minor_of(oldest)
    if minor is not None:
        is_early = Version.parse_tolerantly(oldest) < Version(1, minor, 0)
        known.append(minor - is_early)
    return max((minor for minor in known if minor is not None), default=None)


def minor_of(version: str) -> int | None:
    """Return `25` for `1.25`, `v1.25.3` or `1.25.0-rc.1`; None if it is not Kubernetes 1."""
    found = Version.read(version) if version.strip() else None
    if found is None:
        return None
    return found.minor if found.major == 1 else None


def openshift_minors(bundle: Bundle, facts: Facts) -> tuple[int, ...] | None:
    """Return the OpenShift 4 minor versions that the bundle supports; None if unknown."""
    named = facts.openshift_versions or bundle.annotations.get(OPENSHIFT_VERSIONS, "")
    return openshift.parse(named) if named.strip() else None
