"""The access of one run to the API server, and the kinds and values found in its requests.

Objects that it creates get their owner, and their kinds are watched, before they exist. The values
of Secrets that it reads or writes are recorded, so that they can be masked in its output. In check
mode, nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from olmkit.edges.cluster import run_proxy
from olmkit.edges.cluster.run_proxy import GrantedRequest, RefusedRequestError
from olmkit.hybrid import masks
from olmkit.hybrid.ansible import injection
from olmkit.hybrid.ansible.injection import ApiPath
from olmkit.kube import objects
from olmkit.kube.objects import GVK, Manifest

_READS = ("GET", "HEAD")
_DRY = re.compile(r"(^|&)dryRun=All(&|$)")
_QUESTIONS = ("authorization.k8s.io", "authentication.k8s.io")  # kinds that are not stored
_MOST_VALUES = 10_000

WatchKind = Callable[[GVK], Awaitable[None]]
"""Lets events of objects of a kind enqueue their owners."""


@dataclass(slots=True, kw_only=True)
class RunAccess:
    """Implements `run_proxy.Access` for one run; kinds in `unwatched` are not watched."""

    owner: Manifest
    sets_owner: bool = True
    is_check: bool = False
    watch_kind: WatchKind | None = None
    unwatched: frozenset[GVK] = frozenset()
    _values: set[str] = field(default_factory=set, init=False)
    _sorted: list[str] | None = field(default=None, init=False)

    @property
    def secrets(self) -> list[str]:
        """Return the values of the received Secrets, the longest first."""
        if self._sorted is None:
            self._sorted = sorted(self._values, key=lambda one: (-len(one), one))
        return self._sorted

    async def prepared(self, request: GrantedRequest) -> GrantedRequest:
        """Return the request with an owner in created objects; raise `RefusedRequestError`."""
        path = injection.parse_path(request.path)
        is_question = path is not None and path.group in _QUESTIONS
        is_write = request.method not in _READS
        if self.is_check and is_write and not is_question and not _DRY.search(request.query):
            raise RefusedRequestError("check mode writes nothing without `dryRun=All`")
        if path is None or is_question or not is_write or request.body is None:
            return request
        manifest = None
        creates = injection.creates(request.method, path, request.content_type)
        if creates or path.is_of_secrets:
            manifest = injection.read(request.body)
        if manifest is None:
            return request
        if path.is_of_secrets:
            self._remember(manifest)
        if not creates or not self.sets_owner or not objects.kind(manifest):
            return request
        await self._watch(injection.kind(manifest, path))
        namespace = path.namespace
        return run_proxy.with_body(
            request, injection.add_owner(manifest, self.owner, namespace=namespace)
        )

    async def answered(self, request: GrantedRequest, status: int, body: bytes) -> None:
        """Record the values of Secrets, and the kinds that belong to the object."""
        path = injection.parse_path(request.path)
        if path is None or status >= 300:
            return
        if path.is_of_secrets:
            found = injection.read(body)
            for one in objects.items_of(found) if found else ():
                self._remember(one)
        if request.method == "GET" and path.name and not path.subresource:
            await self._learn(path, body)

    async def _learn(self, path: ApiPath, body: bytes) -> None:
        """Record the kind of a read object; after a restart, this restores its watch."""
        uid = objects.text(objects.metadata(self.owner).get("uid"))
        if self.watch_kind is None or (uid.encode() not in body and b"operator-sdk/" not in body):
            return
        found = injection.read(body)
        if found is not None and injection.belongs(found, self.owner):
            await self._watch(injection.kind(found, path))

    async def _watch(self, gvk: GVK) -> None:
        if self.watch_kind is not None and not self.is_check and gvk not in self.unwatched:
            await self.watch_kind(gvk)

    def _remember(self, manifest: Manifest) -> None:
        # Items of a list do not have a kind.
        whole = manifest | {"apiVersion": "v1", "kind": "Secret"}
        if len(self._values) < _MOST_VALUES:
            self._values.update(masks.secrets_of([whole]))
            self._sorted = None
