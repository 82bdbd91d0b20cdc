"""Discovery documents of the API server double: groups, kinds, version."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from aiohttp import web

from olmkit.kube.api import Resource
from olmkit.testing.apiserver.kinds.collection import Collection

_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_FORM = re.compile(r"v(?P<major>\d+)(?:(?P<stage>alpha|beta)(?P<minor>\d+))?")
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_VERSION = {"major": "1", "minor": "34", "gitVersion": "v1.34.0-double", "platform": "linux/amd64"}
_REVIEWS = (
    ("authentication.k8s.io", "TokenReview", "tokenreviews"),
    ("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews"),
    ("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews"),
)


def answer(
    path: str, request: web.Request, collections: Iterable[Collection]
) -> dict[str, Any] | str | None:
    """Return the response for a discovery path; None for any other path."""
    if path in ("/healthz", "/readyz", "/livez"):
        return "ok"
    if path == "/version":
        return dict(_VERSION)
    resources = [one.resource for one in collections]
    if path in ("/api", "/apis"):
        if "APIGroupDiscoveryList" in request.headers.get("Accept", ""):
            return _aggregated(resources, is_core=path == "/api")
        return (
            _groups(resources) if path == "/apis" else {"kind": "APIVersions", "versions": ["v1"]}
        )
    return _version(path, resources)


def response(document: dict[str, Any] | str) -> web.Response:
    """Return the HTTP response of a document; Go's clients read the form from its content type."""
    if isinstance(document, str):
        return web.Response(text=document)
    found = web.json_response(document)
    if document.get("kind") == "APIGroupDiscoveryList":
        found.headers["Content-Type"] = _AGGREGATED
    return found


def _aggregated(resources: Iterable[Resource], *, is_core: bool) -> dict[str, Any]:
    groups: dict[str, dict[str, list[Any]]] = {}
    for resource in resources:
        if bool(resource.gvk.group) is is_core:
            continue
        entry = {
            "resource": resource.plural,
            "responseKind": {"kind": resource.gvk.kind},
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "subresources": [{"subresource": name} for name in sorted(resource.subresources)],
            "verbs": _VERBS,
        }
        versions = groups.setdefault(resource.gvk.group, {})
        versions.setdefault(resource.gvk.version, []).append(entry)
    if not is_core:
        for group, kind, plural in _REVIEWS:
            review = {
                "resource": plural,
                "responseKind": {"kind": kind},
                "scope": "Cluster",
                "verbs": ["create"],
            }
            groups.setdefault(group, {}).setdefault("v1", []).append(review)
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": group},
                "versions": [{"version": name, "resources": found} for name, found in one.items()],
            }
            for group, one in groups.items()
        ],
    }


def _groups(resources: Iterable[Resource]) -> dict[str, Any]:
    groups: dict[str, dict[str, None]] = {}
    for resource in resources:
        if resource.gvk.group:
            groups.setdefault(resource.gvk.group, {})[resource.gvk.version] = None
    listed = []
    for group, versions in groups.items():
        served = [{"groupVersion": f"{group}/{name}", "version": name} for name in versions]
        preferred = max(served, key=lambda one: _priority(one["version"]))
        listed.append({"name": group, "versions": served, "preferredVersion": preferred})
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}


def _priority(version: str) -> tuple[int, int, int]:
    """Return the sort key of a version: stable before beta before alpha, newer before older.

    https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
    """
    found = _FORM.fullmatch(version)
    if found is None:
        return (0, 0, 0)
    stage = {"": 3, "beta": 2, "alpha": 1}[found["stage"] or ""]
    return (stage, int(found["major"]), int(found["minor"] or 0))


def _version(path: str, resources: Iterable[Resource]) -> dict[str, Any] | None:
    root, _, version = path.strip("/").partition("/")
    found = [one for one in resources if one.api_version == version]
    if not found or root != ("apis" if found[0].gvk.group else "api"):
        return None
    listed = []
    for one in found:
        entry = {
            "name": one.plural,
            "singularName": one.gvk.kind.lower(),
            "namespaced": one.namespaced,
            "kind": one.gvk.kind,
            "verbs": _VERBS,
        }
        listed.append(entry)
        for subresource in sorted(one.subresources):
            is_scale = subresource == "scale"
            listed.append(
                {
                    "name": f"{one.plural}/{subresource}",
                    "singularName": "",
                    "namespaced": one.namespaced,
                    "kind": "Scale" if is_scale else one.gvk.kind,
                    "verbs": ["get", "patch", "update"],
                }
            )
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": version,
        "resources": listed,
    }
