"""Conversions between the two versions of Memcached, on plain data.

v1alpha1 is the hub, because it is stored and the operator works with it.
Both versions have the same values in different fields, so a conversion loses nothing:

| v1alpha1 | v1beta1 |
| --- | --- |
| `spec.size` | `spec.replicas` |
| `spec.containerPort` | `spec.port` |
| `status.nodes`, names | `status.pods`, objects with a name |
"""

from __future__ import annotations

from olmkit.runtime import CannotConvert, Manifest

_RENAMED = (("size", "replicas"), ("containerPort", "port"))


def to_hub(manifest: Manifest) -> Manifest:
    """Convert v1beta1 to v1alpha1; raises `CannotConvert`."""
    spec, status = _part(manifest, "spec"), _part(manifest, "status")
    for old, new in _RENAMED:
        _rename(spec, new, old)
    if "pods" in status:
        status["nodes"] = [_name(pod) for pod in _list(status.pop("pods"), "status.pods")]
    return manifest


def from_hub(manifest: Manifest) -> Manifest:
    """Convert v1alpha1 to v1beta1; raises `CannotConvert`."""
    spec, status = _part(manifest, "spec"), _part(manifest, "status")
    for old, new in _RENAMED:
        _rename(spec, old, new)
    if "nodes" in status:
        status["pods"] = [{"name": one} for one in _list(status.pop("nodes"), "status.nodes")]
    return manifest


def _part(manifest: Manifest, name: str) -> Manifest:
    part = manifest.get(name)
    if part is None:
        return {}
    if not isinstance(part, dict):
        raise CannotConvert(f"`{name}` is not an object")
    return part


def _rename(part: Manifest, old: str, new: str) -> None:
    if old in part:
        part[new] = part.pop(old)


def _list(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        raise CannotConvert(f"`{where}` is not a list")
    return value


def _name(pod: object) -> object:
    if not isinstance(pod, dict) or "name" not in pod:
        raise CannotConvert("an entry of `status.pods` has no name")
    return pod["name"]
