"""Keep a Deployment and a Service for each Memcached: read, decide, act.

The decisions are in `decisions`; here is only the order in which the
cluster is read and written. The finalizer is stored before anything is created, and
nothing is created for an object that is being deleted. The operator does not delete
children: the cluster's garbage collector does.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pydantic
from olmkit.runtime import (
    NORMAL,
    WARNING,
    Cache,
    Children,
    Client,
    ClusterError,
    EventRecorder,
    LabelSelector,
    Manifest,
    NameTaken,
    NotFound,
    Registry,
    Request,
    Result,
    TerminalError,
    finalizers,
    objects,
)

from memcached_operator import decisions
from memcached_operator.api.v1alpha1.memcached import Memcached
from memcached_operator.decisions import DEPLOYMENT, FINALIZER, POD, Trouble

_LOG = logging.getLogger(__name__)
_NAME_TAKEN_PAUSE = 60.0  # the object of another owner is not watched

# +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch;patch
# +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
# +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
# +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch
# +kubebuilder:rbac:groups=core,resources=services,verbs=get;list;watch;create;patch
# +kubebuilder:rbac:groups=core,resources=pods,verbs=list;watch
# +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The image and the user of the pods; without `user` the cluster chooses one."""

    image: str
    user: int | None = decisions.USER


class _Gone(Exception):  # noqa: N818 - a fact, not a fault
    """The Memcached was deleted during the pass: nothing is left to do."""


@dataclass(slots=True)
class _Pass:
    """The findings of one pass."""

    memcached: Memcached
    manifest: Manifest
    troubles: list[Trouble] = field(default_factory=list)
    errors: list[ClusterError] = field(default_factory=list)
    is_scaled: bool = False

    def add(self, error: ClusterError | NameTaken, *, is_scaling: bool = False) -> None:
        """A problem to report."""
        if isinstance(error, NameTaken):
            self.troubles.append(Trouble(decisions.NAME_TAKEN, str(error)))
        else:
            self.troubles.append(Trouble(decisions.RECONCILING, str(error), is_scaling))
            self.errors.append(error)


class MemcachedReconciler:
    """Creates and updates the children of one Memcached, and reports them in its status.

    `now` returns the time as RFC 3339 in whole seconds.
    """

    def __init__(
        self,
        client: Client,
        cache: Cache,
        recorder: EventRecorder,
        registry: Registry,
        *,
        settings: Settings,
        now: Callable[[], str],
    ) -> None:
        self._client = client
        self._cache = cache
        self._recorder = recorder
        self._children = Children(client, recorder=recorder)
        self._settings = settings
        self._now = now
        self._undesired = registry.counter(
            "memcached_deployment_size_undesired_total",
            "How often the size of a Deployment was not the wanted one",
        )

    async def reconcile(self, request: Request) -> Result:
        manifest = await self._look(request)
        if manifest is None:
            return Result()
        try:
            if finalizers.is_being_deleted(manifest):
                await self._finalize(manifest)
                return Result()
            return await self._tend(manifest)
        except _Gone:
            return Result()

    async def _tend(self, manifest: Manifest) -> Result:
        """Update the children, and report their state."""
        memcached = await self._read(manifest)
        if not self._settings.image:
            await self._write_status(
                manifest, decisions.status_without_image(memcached, self._now())
            )
            raise RuntimeError("the environment variable MEMCACHED_IMAGE is not set")
        manifest = await self._keep(manifest)
        this = _Pass(memcached, manifest)
        deployment = await self._make_children(this)
        status = decisions.status_from(
            memcached,
            deployment,
            await self._pods(this),
            self._now(),
            troubles=this.troubles,
            is_scaled=this.is_scaled,
        )
        await self._write_status(manifest, status)
        if this.errors:
            raise this.errors[0]
        taken = any(trouble.reason == decisions.NAME_TAKEN for trouble in this.troubles)
        return Result(requeue_after=_NAME_TAKEN_PAUSE if taken else 0.0)

    async def _look(self, request: Request) -> Manifest | None:
        """Return the object with the last written status, on which the next one builds."""
        try:
            return await self._client.get(Memcached.gvk, request, fresh=True)
        except TimeoutError:  # the watch is late, or the cluster was restored from a backup
            return await self._client.direct.get(Memcached.gvk, request)

    async def _read(self, manifest: Manifest) -> Memcached:
        """Return the typed object; report an invalid one from before its schema, once."""
        try:
            return _typed(manifest, manifest.get("spec") or {})
        except pydantic.ValidationError as error:
            problem = "; ".join(
                f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()
            )
            sound = _typed(manifest, {})
            status = decisions.status_of_invalid(sound, problem, self._now())
            await self._write_status(manifest, status)
            raise TerminalError(problem) from error

    async def _keep(self, manifest: Manifest) -> Manifest:
        """Return the object with the finalizer, stored before any child is created."""
        kept = copy.deepcopy(manifest)
        if not finalizers.add(kept, FINALIZER):
            return manifest
        return await self._own(self._client.patch(manifest, kept, locked=True))

    async def _finalize(self, manifest: Manifest) -> None:
        """Report the deletion, and remove the finalizer."""
        if not finalizers.contains(manifest, FINALIZER):
            return
        memcached = _typed(manifest, {})
        last = await self._write_status(
            manifest, decisions.status_of_deleted(memcached, self._now())
        )
        self._recorder.event(
            manifest,
            WARNING,
            "Deleting",
            "Delete",
            f"Memcached {objects.name(manifest)} is being deleted from the namespace "
            f"{objects.namespace(manifest)}",
        )
        freed = copy.deepcopy(last)
        finalizers.remove(freed, FINALIZER)
        await self._own(self._client.patch(last, freed, locked=True))

    async def _make_children(self, this: _Pass) -> Manifest:
        """Return the Deployment after this pass; empty if the operator does not own one."""
        wanted = decisions.children_of(this.memcached, self._settings.image, self._settings.user)
        family = await self._children.apply(this.manifest, wanted)
        deployment = family.of(DEPLOYMENT)
        before, size = _replicas(deployment.before), this.memcached.spec.size
        is_other_size = deployment.before is not None and before != size
        if is_other_size:
            self._undesired.inc()
        for child in family.children:
            if child.error is not None:
                this.add(child.error, is_scaling=is_other_size and child is deployment)
        if is_other_size and deployment.error is None:
            this.is_scaled = True
            note = f"scaled from {before} to {size} pods"
            self._recorder.event(this.manifest, NORMAL, "Scaled", "Scale", note)
        return deployment.manifest

    async def _pods(self, this: _Pass) -> Sequence[Manifest] | None:
        """Return the pods of one Memcached, of which only metadata is cached; None: unknown."""
        try:
            informer = await self._cache.synced_informer(POD, metadata_only=True)
        except ClusterError as error:
            this.add(error)
            return None
        found = informer.list(
            namespace=this.memcached.metadata.namespace,
            labels=LabelSelector.parse(decisions.selector_for(this.memcached)),
        )
        return [snapshot.manifest() for snapshot in found]

    async def _write_status(self, manifest: Manifest, status: dict[str, Any]) -> Manifest:
        """Write the status, unless it is unchanged; return the object afterward."""
        if manifest.get("status") == status:
            return manifest
        return await self._own(self._client.apply_status({**manifest, "status": status}))

    async def _own(self, writing: Awaitable[Manifest]) -> Manifest:
        """Write the Memcached itself."""
        try:
            return await writing
        except NotFound as error:
            raise _Gone from error


def _replicas(deployment: Manifest | None) -> object:
    return objects.mapping(objects.mapping(deployment).get("spec")).get("replicas")


def _typed(manifest: Manifest, spec: object) -> Memcached:
    """Return the typed object with this spec; an unreadable status counts as none.

    The operator itself writes the status: an invalid one must not block the deletion of an object.
    """
    try:
        return Memcached.from_manifest({**manifest, "spec": spec})
    except pydantic.ValidationError as error:
        if all(one["loc"][:1] != ("status",) for one in error.errors()):
            raise
    rest = {key: value for key, value in manifest.items() if key != "status"}
    return Memcached.from_manifest({**rest, "spec": spec})
