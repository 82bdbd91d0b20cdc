"""The status of an object that a release belongs to, in the form of helm-operator.

Conditions `Initialized`, `Deployed`, `ReleaseFailed` and `Irreconcilable`; the last two are removed
if there is no error. `deployedRelease.manifest` has no data of Secrets, unlike in helm-operator: a
user who may read the object may not be allowed to read Secrets. A manifest that is too long for a
status is reduced to the names of its objects.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any

from olmkit.base import documents
from olmkit.hybrid import masks
from olmkit.hybrid.helm import releases
from olmkit.hybrid.helm.releases import Release
from olmkit.kube import conditions, objects
from olmkit.kube.objects import Manifest

_LONGEST = 500_000  # bytes of a manifest
_OBJECT = 1_400_000  # bytes; etcd accepts 1.5 MB
INSTALL, UPGRADE, UNINSTALL = "Install", "Upgrade", "Uninstall"


def of(manifest: Manifest) -> dict[str, Any]:
    """Return a copy of the status with a list of conditions."""
    status = copy.deepcopy(dict(objects.mapping(manifest.get("status"))))
    listed = objects.sequence(status.get("conditions"))
    status["conditions"] = [one for one in listed if isinstance(one, dict)]
    return status


def initialized(status: dict[str, Any], *, now: str) -> None:
    """Record that the object was processed."""
    if conditions.find(status["conditions"], "Initialized") is None:
        _set(status, "Initialized", "True", "", "", now)


def deployed(status: dict[str, Any], release: Release, *, now: str, room: int = _LONGEST) -> None:
    """Record a deployed release. The revision shows what deployed it: the last status may be older.

    `room` is for the manifest, in bytes.
    """
    found = releases.manifests(release.manifest)
    notes = masks.hidden(release.notes, masks.secrets_of(found))
    doing = UPGRADE if release.revision > 1 else INSTALL
    _set(status, "Deployed", "True", f"{doing}Successful", notes, now)
    for type_ in ("ReleaseFailed", "Irreconcilable"):
        conditions.remove_condition(status["conditions"], type_)
    status["deployedRelease"] = {
        "name": release.name,
        "manifest": _short(releases.mask(release.manifest), found, room),
    }


def failed(status: dict[str, Any], *, doing: str, message: str, now: str) -> None:
    """Record that Helm failed; `doing` is one of the three actions."""
    _set(status, "ReleaseFailed", "True", f"{doing}Error", message, now)
    conditions.remove_condition(status["conditions"], "Irreconcilable")


def irreconcilable(status: dict[str, Any], *, message: str, now: str) -> None:
    """Record that the reconcile failed for another reason."""
    _set(status, "Irreconcilable", "True", "ReconcileError", message, now)


def uninstalled(status: dict[str, Any], *, now: str) -> None:
    """Record that the release was uninstalled."""
    _set(status, "Deployed", "False", "UninstallSuccessful", "", now)
    conditions.remove_condition(status["conditions"], "ReleaseFailed")
    conditions.remove_condition(status["conditions"], "Irreconcilable")
    status.pop("deployedRelease", None)


def room(manifest: Manifest) -> int:
    """Return the bytes in the object that are available for a manifest in its status."""
    rest = {key: value for key, value in manifest.items() if key != "status"}
    return max(0, min(_LONGEST, _OBJECT - len(json.dumps(rest).encode())))


def _short(manifest: str, found: Sequence[Manifest], room: int) -> str:
    """Return the manifest; for a very long one, only the names of its objects, or nothing."""
    if len(manifest.encode()) <= room:
        return manifest
    names = [{key: one.get(key) for key in ("apiVersion", "kind")} | _name(one) for one in found]
    listed = documents.dump_all(names).decode()
    return listed if len(listed.encode()) <= room else ""


def _name(manifest: Manifest) -> dict[str, Any]:
    metadata = objects.metadata(manifest)
    return {"metadata": {key: metadata[key] for key in ("name", "namespace") if key in metadata}}


def _set(
    status: dict[str, Any], type_: str, value: str, reason: str, message: str, now: str
) -> None:
    new: conditions.Condition = {"type": type_, "status": value}
    if reason:
        new["reason"] = reason
    if message:
        new["message"] = message[: conditions.MAX_MESSAGE]
    conditions.set_condition(status["conditions"], new, now=now)
