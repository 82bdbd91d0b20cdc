"""Patterns of OLM v0's error messages.

OLM writes messages for people into conditions. `catalogs` finds the cause in them, `constraints`
the contradicting facts, `plans` the step at which an InstallPlan stops. All of them use these
patterns. Those of OLM v1 are in `olmkit.olm.v1.messages`.

Source: operator-lifecycle-manager, `pkg/controller/registry/resolver` for constraints and
`pkg/controller/operators/catalog` for InstallPlans.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

# An existing object that the schema of a new CRD refuses.
REJECTED_OBJECT: Final = re.compile(
    r'existing CRs against new CRD\'s schema for "(?P<crd>[^"]+)": error validating \S+ '
    r'Kind=(?P<kind>[^\s"]+) "(?P<object>[^"]+)": updated validation is too restrictive: '
    r"(?:\[\]\.)?(?P<why>.*)",
    re.DOTALL,
)

# The API server cancelled a request of OLM that took too long; webhook timeouts have another
# message.
API_SERVER_LATE: Final = "request did not complete within requested timeout"

# Constraints of the resolver. A message may contain several of them, joined with commas.
UNSATISFIABLE: Final = "constraints not satisfiable: "
REQUIRES: Final = r"bundle (?P<bundle>\S+) requires an operator"
DEPRECATED: Final = r"bundle (?P<bundle>\S+) is deprecated"
PROVIDE: Final = r" provide (?P<api>\S+ \([^)]*\))"
SAME_PACKAGE: Final = r" originate from package "
ORPHAN: Final = r"clusterserviceversion (?P<csv>\S+) exists and is not referenced by a "
API: Final = re.compile(
    r"providing an API with group: (?P<group>[^,]*), version: (?P<version>[^,]*), "
    r"kind: (?P<kind>.*)"
)
RANGE: Final = re.compile(
    r"with package: (?P<package>[^,]*) and with version in range: (?P<range>.*)"
)

# What is missing from a catalog, and which Subscription needs it.
_BY = r"referenced by subscription (?P<subscription>[^,\s]+)"
_PACKAGE = rf"package (?P<package>\S+) in the catalog {_BY}"
NO_CATALOG: Final = re.compile(
    rf"no operators found from catalog (?P<catalog>\S+) in namespace \S+ {_BY}"
)
NO_PACKAGE: Final = re.compile(rf"no operators found in {_PACKAGE}")
NO_CHANNEL: Final = re.compile(rf"no operators found in channel (?P<channel>\S+) of {_PACKAGE}")
NO_NAME: Final = re.compile(
    rf"no operators found with name (?P<csv>\S+) in channel (?P<channel>\S*) of {_PACKAGE}"
)

# What stops the resolution of a whole namespace.
_SOURCE_REST = r"(?P<rest>.*?)(?=, error using catalogsource |$)"
BROKEN_INSTALLED: Final = re.compile(
    rf"error using catalogsource (?P<namespace>[^/\s]+)/@existing: {_SOURCE_REST}", re.DOTALL
)
BROKEN_SOURCE: Final = re.compile(
    rf"error using catalogsource (?P<namespace>[^/\s]+)/(?P<name>[^:\s]+): {_SOURCE_REST}",
    re.DOTALL,
)
GROUPS: Final = re.compile(r"expected 1 OperatorGroup in the namespace, found (?P<count>\d+)")
HEADS: Final = re.compile(
    r"a unique replacement chain within a channel is required .*? in channel "
    r"(?P<channel>\S+) of package (?P<package>[^:\s]+): "
    r"(?P<chains>[^\s,]+(?:, [^\s,]+(?=,|$))*)",
    re.DOTALL,
)
NO_HEADS: Final = re.compile(r"(?P<words>no channel heads .*|a cycle exists .*)")
UNREAD: Final = re.compile(
    r"(?P<words>(?:(?:parse|convert) olm\.constraint|Could not (?:parse Range|get version)"
    r"|Last element in range|json: cannot unmarshal).*)",
    re.DOTALL,
)

# InstallPlans.
RETRYING: Final = "retrying execution due to error: "
FORBIDDEN: Final = re.compile(
    r'User "system:serviceaccount:(?P<account>[^"]+)" cannot (?P<rest>.*)'
)
UNKNOWN_KIND: Final = re.compile(
    r"installing \S+ (?P<name>[^:\s]+): GroupVersionKind (?P<version>[^\s,]+), "
    r"Kind=(?P<kind>\S+) not found"
)
NOT_FOUND: Final = ("not found on the cluster", "resource not found installing")


class RefusedCrd(NamedTuple):
    """The reason why OLM does not replace a CRD: cause, message and hint of `why`."""

    cause: str
    message: str
    hint: str


# A phrase in the message of an InstallPlan → its meaning. The first match counts.
REFUSED_CRDS: Final[Mapping[str, RefusedCrd]] = {
    "error validating existing CRs": RefusedCrd(
        cause="crd-rejects-objects",
        message="the new CustomResourceDefinition would refuse existing objects",
        hint="correct or delete those objects, or publish a schema that accepts them",
    ),
    "risk of data loss": RefusedCrd(
        cause="crd-loses-version",
        message="a version in which objects are stored would disappear",
        hint="keep that version in the CustomResourceDefinition, or migrate the objects and its "
        "`status.storedVersions` first",
    ),
    "pre-existing CRD owners": RefusedCrd(
        cause="crd-owned-elsewhere",
        message="a CustomResourceDefinition belongs to another operator",
        hint="uninstall the other one first",
    ),
}

# A ClusterServiceVersion whose Deployment was not available when OLM last looked.
WAITING_FOR_DEPLOYMENT: Final = re.compile(r"waiting for deployment (?P<name>\S+) to become ready")

# A ClusterServiceVersion whose `minKubeVersion` is later than the cluster's version.
TOO_OLD: Final = re.compile(
    r"minKubeVersion \((?P<least>[^)]+)\) > server version \((?P<found>[^)]+)\)"
)
