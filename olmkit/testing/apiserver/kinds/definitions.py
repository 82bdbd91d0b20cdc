"""CustomResourceDefinitions as objects of the API server double: what is created is served."""

from __future__ import annotations

import copy
from collections.abc import Iterator

from olmkit.kube.objects import Manifest
from olmkit.testing.apiserver.kinds import collection as api_collection


def established(crd: Manifest, now: str) -> Manifest:
    """A new definition with the status of one that is served."""
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
    """Where the objects of a definition are served."""
    for one in api_collection.of_crd(crd):
        yield one.resource.path()
