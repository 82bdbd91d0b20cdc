"""Find the kinds of an API server, and their paths.

Discovery uses the aggregated form, with one request for all groups; servers before 1.26 need a
request for each version of a group.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from olmkit.edges.cluster import failures
from olmkit.kube.api import NoSuchKind, NotFound, NotKubernetes, Resource
from olmkit.kube.objects import GVK

Ask = Callable[[str, str], Awaitable[Mapping[str, Any]]]
"""GET of a path, with the accepted media types."""

_MISS_MEMORY = 5.0  # seconds for which the same unknown kind is not requested again
# Servers from 1.26 to 1.29 support the beta form, older ones neither.
_AGGREGATED = ",".join(
    (
        "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList",
        "application/json;v=v2beta1;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList",
        "application/json",
    )
)


class Discovery:
    """The kinds of the server; requested once, and again after a miss."""

    def __init__(self, ask: Ask, host: str = "") -> None:
        self._get = ask
        self._host = host
        self._known: dict[GVK, Resource] = {}
        self._missed: dict[GVK, float] = {}
        self._lock = asyncio.Lock()

    async def find(self, gvk: GVK) -> Resource:
        found = self._known.get(gvk)
        if found is not None:
            return found
        async with self._lock:
            now = asyncio.get_running_loop().time()
            found = self._known.get(gvk)
            if found is None and now - self._missed.get(gvk, -_MISS_MEMORY) >= _MISS_MEMORY:
                await self._discover(gvk)
                found = self._known.get(gvk)
                self._missed[gvk] = now
        if found is None:
            raise NoSuchKind(
                f"the cluster does not know the kind `{gvk.kind}` of `{gvk.api_version}`",
                hint=self._hint(gvk),
                code=404,
            )
        return found

    def _hint(self, gvk: GVK) -> str:
        """Return a hint for a missing kind, which is misspelled or has no CRD."""
        near = [one for one in self._known if one.group == gvk.group]
        kinds = {one.kind for one in near if one.version == gvk.version}
        names = {kind.lower(): kind for kind in sorted(kinds)}
        for name in difflib.get_close_matches(gvk.kind.lower(), names, n=1, cutoff=0.8):
            return f"`{gvk.api_version}` has the kind `{names[name]}`"
        if others := sorted(one.version for one in near if one.kind == gvk.kind):
            listed = ", ".join(f"`{one}`" for one in others)
            return f"the cluster has `{gvk.kind}` in the version {listed}"
        return "install its CustomResourceDefinition first"

    async def _discover(self, gvk: GVK) -> None:
        root = "/apis" if gvk.group else "/api"
        try:
            answer = await self._get(root, _AGGREGATED)
        except NotFound:
            answer = {}
        if answer.get("kind") == "APIGroupDiscoveryList":
            self._take_aggregated(answer)
            return
        try:
            answer = await self._get(f"{root}/{gvk.api_version}", "application/json")
        except NotFound:
            if not answer:
                await self._require_kubernetes(root)
            return
        self._take_list(gvk, answer)

    async def _require_kubernetes(self, path: str) -> None:
        """Check that a server without discovery has a version, else it is not a Kubernetes API."""
        with contextlib.suppress(NotFound, NotKubernetes):
            if "gitVersion" in await self._get("/version", "application/json"):
                return
        raise failures.not_kubernetes(self._host, f"it answers 404 to `{path}`")

    def _take_aggregated(self, answer: Mapping[str, Any]) -> None:
        for group in answer.get("items") or ():
            group_name = (group.get("metadata") or {}).get("name") or ""
            for version in group.get("versions") or ():
                for resource in version.get("resources") or ():
                    kind = (resource.get("responseKind") or {}).get("kind")
                    if not kind:
                        continue
                    gvk = GVK(group=group_name, version=version["version"], kind=kind)
                    self._known[gvk] = Resource(
                        gvk=gvk,
                        plural=resource["resource"],
                        namespaced=resource.get("scope") == "Namespaced",
                        subresources=frozenset(
                            str(sub.get("subresource"))
                            for sub in resource.get("subresources") or ()
                        ),
                        verbs=frozenset(resource.get("verbs") or ()),
                    )

    def _take_list(self, gvk: GVK, answer: Mapping[str, Any]) -> None:
        entries = [entry for entry in answer.get("resources") or () if isinstance(entry, dict)]
        for entry in entries:
            plural = str(entry.get("name"))
            if "/" in plural:
                continue
            found = GVK(group=gvk.group, version=gvk.version, kind=str(entry.get("kind")))
            self._known[found] = Resource(
                gvk=found,
                plural=plural,
                namespaced=bool(entry.get("namespaced")),
                subresources=frozenset(
                    str(other["name"]).partition("/")[2]
                    for other in entries
                    if str(other.get("name")).startswith(plural + "/")
                ),
                verbs=frozenset(entry.get("verbs") or ()),
            )
