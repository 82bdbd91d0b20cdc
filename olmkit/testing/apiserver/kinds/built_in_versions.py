"""Conversions of built-in kinds that are served in two versions or groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmkit.kube.objects import Manifest
from olmkit.testing.apiserver.kinds.collection import Convert

# Fields of events in the core group, by their names in events.k8s.io.
_EVENT_FIELDS: Mapping[str, str] = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_CPU = "targetCPUUtilizationPercentage"


def event(manifest: Manifest, api_version: str) -> Manifest:
    """Convert an event to another of its two groups."""
    names = dict(_EVENT_FIELDS)
    if api_version != "v1":
        names = {core: name for name, core in names.items()}
    return {names.get(key, key): value for key, value in manifest.items()}


def autoscaler(manifest: Manifest, api_version: str) -> Manifest:
    """Convert a HorizontalPodAutoscaler to another version; version 1 has only the CPU metric."""
    spec = dict(manifest.get("spec") or {})
    if api_version == "autoscaling/v2":
        target = {"type": "Utilization", "averageUtilization": spec.pop(_CPU, None)}
        if target["averageUtilization"] is not None:
            resource = {"name": "cpu", "target": target}
            spec["metrics"] = [{"type": "Resource", "resource": resource}]
    else:
        for metric in spec.pop("metrics", None) or ():
            share = _cpu_share(metric)
            if share is not None:
                spec[_CPU] = share
    return {**manifest, "spec": spec}


def _cpu_share(metric: Mapping[str, Any]) -> int | None:
    resource = metric.get("resource") or {}
    if resource.get("name") != "cpu":
        return None
    found: int | None = (resource.get("target") or {}).get("averageUtilization")
    return found


CONVERT: Mapping[str, Convert] = {
    "events": event,
    "horizontalpodautoscalers": autoscaler,
}
"""The conversions by the plural of the kind."""
