"""Find the bundles of a catalog that do not support the version of a cluster.

OLM v0 checks `minKubeVersion` when it installs: the ClusterServiceVersion stays pending on an older
cluster. OLM v1 does not read it. OpenShift reads `olm.maxOpenShiftVersion`: while such a bundle is
installed, the cluster cannot be upgraded past that version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.versions import Version
from olmkit.catalog import inlined
from olmkit.catalog.blobs import properties
from olmkit.catalog.model import Bundle
from olmkit.kube import openshift
from olmkit.kube.objects import mapping, text

_OPENSHIFT = 4
_FORM = re.compile(r"v?(?P<major>[0-9]{1,3})\.(?P<minor>[0-9]{1,3})(?:\.(?P<patch>[0-9]{1,5}))?")
_MAXIMUM = re.compile(r"v?4\.(?P<minor>[0-9]{1,3})(?:[.+-].*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterVersion:
    """`openshift` is the minor version of OpenShift 4; None for other clusters."""

    kubernetes: Version
    openshift: int | None = None

    @classmethod
    def parse(cls, text: str) -> ClusterVersion:
        """Parse `1.30` or `1.30.2` of Kubernetes, or `4.16` of OpenShift.

        Without a patch version of Kubernetes, the newest patch counts. Raises `ConfigurationError`.
        """
        found = _FORM.fullmatch(text)
        major = int(found["major"]) if found else 0
        if found is None or major not in (1, _OPENSHIFT):
            raise ConfigurationError(
                f"`{text}` is not a version of Kubernetes or OpenShift",
                hint="write `1.30` for Kubernetes, or `4.16` for OpenShift",
            )
        minor = int(found["minor"])
        if major == _OPENSHIFT:
            return cls(kubernetes=_newest(openshift.kubernetes(minor)), openshift=minor)
        patch = found["patch"]
        return cls(kubernetes=Version(1, minor, int(patch)) if patch else _newest(minor))


@dataclass(frozen=True, slots=True)
class Limit:
    """Why a bundle does not support a cluster; `stops_v0`: OLM v0 cannot install it."""

    bundle: str
    reason: str
    stops_v0: bool


def limits(bundle: Bundle, cluster: ClusterVersion) -> tuple[Limit, ...]:
    """Return the constraint that excludes the cluster, if the catalog has one."""
    return tuple(_limits(bundle, cluster))


def _limits(bundle: Bundle, cluster: ClusterVersion) -> Iterator[Limit]:
    needed = Version.read(_min_kube_version(bundle))
    if needed is not None and cluster.kubernetes < needed:
        reason = f"its `minKubeVersion` is {needed}"
        yield Limit(bundle.name, reason, stops_v0=True)
    if cluster.openshift is None:
        return
    for type_, value in bundle.properties:
        found = _MAXIMUM.fullmatch(str(value)) if type_ == properties.MAX_OPENSHIFT else None
        if found is not None and int(found["minor"]) < cluster.openshift:
            reason = f"its `{properties.MAX_OPENSHIFT}` is {value}"
            yield Limit(bundle.name, reason, stops_v0=False)


def _min_kube_version(bundle: Bundle) -> str:
    """Return the version of `olm.csv.metadata`, else of the CSV among the inlined manifests."""
    if bundle.properties.metadata:
        return bundle.properties.min_kube_version
    csv = inlined.csv(bundle)
    return text(mapping((csv or {}).get("spec")).get("minKubeVersion"))


def _newest(minor: int) -> Version:
    return Version(1, minor, 99_999)
