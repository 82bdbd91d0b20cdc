"""CustomResourceDefinitions in the API server double, which serves those that are created."""

from __future__ import annotations

import copy
from collections.abc import Iterator

from olmkit.kube.objects import Manifest
from olmkit.testing.apiserver.kinds import collection as api_collection

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def established(crd: Manifest, now: str) -> Manifest:
    """Return a new CRD with the status of an established one."""
    new = copy.deepcopy(crd)
    names, versions = new["spec"]["names"], new["spec"]["versions"]
    conditions = (("NamesAccepted", "NoConflicts"), ("Established", "InitialNamesAccepted"))
    new["status"] = {
        "acceptedNames": names,
        "storedVersions": [one["name"] for one in versions if one.get("storage")],
        "conditions": [
            {"type": kind, "status": "True", "reason": reason, "lastTransitionTime": now}
            for kind, reason in conditions
        ],
    }
    return new


def paths(crd: Manifest) -> Iterator[str]:
    """Return the paths at which the kinds of a CRD are served."""
    for one in api_collection.of_crd(crd):
        yield one.resource.path()
