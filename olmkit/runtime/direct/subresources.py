"""Subresources, and the kinds of patches that the Kubernetes API defines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from olmkit.kube import objects
from olmkit.kube.api import Conflict, Invalid, NotFound, PatchType
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime import typed
from olmkit.runtime.durations import Duration, seconds
from olmkit.runtime.manifests.manifest_client import ManifestClient
from olmkit.runtime.typed import K, Kind, ModelKind
from olmkit.runtime.work.reconcile import Request

_POD = GVK("", "v1", "Pod")
_SERVICE_ACCOUNT = GVK("", "v1", "ServiceAccount")
_SCALE = GVK("autoscaling", "v1", "Scale")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The desired number of replicas of an object (`replicas`) and the current one (`current`).

    `selector` is the label selector of its pods; `resource_version` is that of the object.
    """

    replicas: int
    current: int = 0
    selector: str = ""
    resource_version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A service account token and its expiration time (RFC 3339)."""

    value: str = field(repr=False)
    expires: str


class Subresources(ManifestClient):
    """The client's methods for scale, eviction, tokens, and patches with preconditions."""

    @overload
    async def json_patch(
        self,
        kind: GVK,
        key: Request,
        operations: Sequence[Mapping[str, Any]],
        *,
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> Manifest: ...

    @overload
    async def json_patch(
        self,
        kind: type[K],
        key: Request,
        operations: Sequence[Mapping[str, Any]],
        *,
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> K: ...

    async def json_patch(
        self,
        kind: GVK | type[K],
        key: Request,
        operations: Sequence[Mapping[str, Any]],
        *,
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> Manifest | K:
        """Send a JSON patch (RFC 6902).

        Raises `Conflict` if the object has a different UID or resource version, and `Invalid` if an
        operation does not apply, such as a `test`.
        """
        given = {"uid": uid, "resourceVersion": resource_version}
        conditions = [
            {"op": "add", "path": f"/metadata/{name}", "value": value}
            for name, value in given.items()
            if value
        ]
        body = [*conditions, *map(dict, operations)]
        made: Manifest | K = await self._patched(kind, key, body, PatchType.JSON, subresource)
        return made

    @overload
    async def merge_patch(
        self,
        kind: GVK,
        key: Request,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> Manifest: ...

    @overload
    async def merge_patch(
        self,
        kind: type[K],
        key: Request,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> K: ...

    async def merge_patch(
        self,
        kind: GVK | type[K],
        key: Request,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> Manifest | K:
        """Send a merge patch (RFC 7386): mappings merge, None removes, lists are replaced.

        Raises `Conflict` if the object has a different UID or resource version.
        """
        body = _conditional(patch, uid, resource_version)
        made: Manifest | K = await self._patched(kind, key, body, PatchType.MERGE, subresource)
        return made

    @overload
    async def strategic_patch(
        self,
        kind: GVK,
        key: Request,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> Manifest: ...

    @overload
    async def strategic_patch(
        self,
        kind: type[K],
        key: Request,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> K: ...

    async def strategic_patch(
        self,
        kind: GVK | type[K],
        key: Request,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> Manifest | K:
        """Send a strategic merge patch: lists such as containers merge by a key.

        The server rejects it for custom resources. Raises `Conflict` if the object has a different
        UID or resource version.
        """
        body = _conditional(patch, uid, resource_version)
        made: Manifest | K = await self._patched(kind, key, body, PatchType.STRATEGIC, subresource)
        return made

    async def scale_of(self, kind: GVK | type[Kind | ModelKind], key: Request) -> Scale | None:
        """Read the scale of an object from the server; return None if it does not exist."""
        gvk = typed.gvk_of(kind)
        found = await self._of_server(gvk, await self._located(gvk, key), "scale")
        return None if found is None else _scale(found)

    async def scale(
        self,
        kind: GVK | type[Kind | ModelKind],
        key: Request,
        replicas: int,
        *,
        resource_version: str = "",
    ) -> Scale:
        """Set the number of replicas through the `scale` subresource.

        Raises `Conflict` if the object has a different resource version.
        """
        body = _conditional({"spec": {"replicas": replicas}}, "", resource_version)
        gvk = typed.gvk_of(kind)
        return _scale(await self._patched(gvk, key, body, PatchType.MERGE, "scale"))

    async def evict(
        self,
        pod: Request,
        *,
        uid: str = "",
        resource_version: str = "",
        grace: Duration | None = None,
        missing_ok: bool = True,
    ) -> None:
        """Evict a pod; raise `TooManyRequests` if a PodDisruptionBudget does not allow it.

        `grace` is the grace period in which the pod terminates. Raises `Conflict` for a pod with a
        different UID or resource version.
        """
        pod = await self._located(_POD, pod)
        preconditions = _without_empty({"uid": uid, "resourceVersion": resource_version})
        options: Manifest = {"preconditions": preconditions} if preconditions else {}
        if grace is not None:
            options["gracePeriodSeconds"] = int(seconds(grace, "grace"))
        if self._dry_run:
            options["dryRun"] = ["All"]
        manifest: Manifest = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
        }
        if options:
            manifest["deleteOptions"] = options
        try:
            await self.cluster.create(
                await self._resource(_POD),
                manifest,
                subresource="eviction",
                name=pod.name,
                dry_run=self._dry_run,
            )
        except NotFound:
            if not missing_ok:
                raise

    async def token(
        self,
        account: Request,
        *,
        audiences: Sequence[str] = (),
        lifetime: Duration = 3600.0,
        pod: Manifest | None = None,
    ) -> Token:
        """Request a token for a service account; it expires when `pod`, if given, is deleted.

        Without `audiences`, the token is for the API server. The server may choose a different
        lifetime, and rejects one below ten minutes.
        """
        account = await self._located(_SERVICE_ACCOUNT, account)
        spec: Manifest = {
            "audiences": list(audiences),
            "expirationSeconds": int(seconds(lifetime, "lifetime")),
        }
        if pod is not None:
            name, uid = objects.name(pod), objects.metadata(pod).get("uid")
            spec["boundObjectRef"] = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}
        answer = await self.cluster.create(
            await self._resource(_SERVICE_ACCOUNT),
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "metadata": {"name": account.name, "namespace": account.namespace},
                "spec": spec,
            },
            subresource="token",
            name=account.name,
            dry_run=self._dry_run,
        )
        status = answer.get("status") or {}
        return Token(
            value=str(status.get("token") or ""),
            expires=str(status.get("expirationTimestamp") or ""),
        )

    async def _patched(
        self, kind: GVK | type[K], key: Request, body: Any, type_: PatchType, subresource: str
    ) -> Any:
        if not isinstance(kind, GVK) and subresource not in ("", "status"):
            raise TypeError(f"`{subresource}` is not the object: pass `{kind.__name__}.gvk`")
        gvk = typed.gvk_of(kind)
        key = await self._located(gvk, key)
        resource = await self._resource(gvk)
        try:
            made = await self.cluster.patch(
                resource,
                key.name,
                body,
                type=type_,
                namespace=key.namespace,
                subresource=subresource,
                field_manager=self._field_manager,
                dry_run=self._dry_run,
                field_validation=self._field_validation,
            )
        except Invalid as error:
            if any(cause.field == "metadata.uid" for cause in error.causes):
                raise Conflict(
                    f"`{gvk.kind}` `{key}` has another UID: it was deleted and created again",
                    code=409,
                    reason="Conflict",
                    name=key.name,
                ) from error
            raise
        if objects.gvk(made) == _SCALE:
            return made
        self._remember(resource, made)
        return made if isinstance(kind, GVK) else typed.read(kind, made)


def _conditional(patch: Mapping[str, Any], uid: str, resource_version: str) -> Manifest:
    conditions = _without_empty({"uid": uid, "resourceVersion": resource_version})
    if not conditions:
        return dict(patch)
    return {**patch, "metadata": {**(patch.get("metadata") or {}), **conditions}}


def _without_empty(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}


def _scale(manifest: Manifest) -> Scale:
    spec, status = manifest.get("spec") or {}, manifest.get("status") or {}
    return Scale(
        replicas=int(spec.get("replicas") or 0),
        current=int(status.get("replicas") or 0),
        selector=str(status.get("selector") or ""),
        resource_version=str(objects.metadata(manifest).get("resourceVersion") or ""),
    )
