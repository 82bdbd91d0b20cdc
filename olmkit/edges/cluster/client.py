"""The API server over HTTP: a thin client on aiohttp and msgspec.

Objects are plain data or the server's own bytes; nothing unknown is lost. Every
failure becomes a `ClusterError`. How requests travel is the connection's part.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import msgspec

from olmkit import __version__
from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.edges.cluster import failures, impersonation, streams, watch_stream
from olmkit.edges.cluster.connection import REQUEST_TIMEOUT, Connection
from olmkit.edges.cluster.discovery import Discovery
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.cluster.sent_requests import Observer, Tracer
from olmkit.kube.api import (
    ClusterError,
    ImpersonatedUser,
    ObjectList,
    PatchType,
    Propagation,
    Resource,
    WatchEvent,
)
from olmkit.kube.objects import GVK, Manifest

_LIST_TIMEOUT = 60.0  # ten thousand objects take seconds to come over
_WATCH_GRACE = 30.0  # the server ends a watch by itself; later than this it never will
_WATCH_IDLE = 150.0  # bookmarks come about once a minute, where the server has them

_PLAIN = ":@!$&'()*+,;=~"  # next to letters, digits and `_.-`

_PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


class _ListMeta(msgspec.Struct, rename="camel", gc=False):
    resource_version: str | None = None
    continue_: str | None = msgspec.field(default=None, name="continue")


class _List(msgspec.Struct, gc=False):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] | None = None
    kind: str | None = None


_LIST_DECODER = msgspec.json.Decoder(_List)


class HttpCluster:
    """Fulfils `olmkit.kube.api.Cluster`. Use as an async context manager."""

    def __init__(
        self,
        config: ClusterConfig,
        *,
        user_agent: str = f"olmkit/{__version__}",
        observer: Observer | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self.config = config
        self._connection = Connection(
            config, user_agent=user_agent, observer=observer, tracer=tracer
        )
        self._discovery = Discovery(self._ask, self._connection.host)
        self.headers: tuple[tuple[str, str], ...] = ()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()

    def impersonating(self, identity: ImpersonatedUser) -> Self:
        """The same server over the same connections, asked as another user.

        Raises `ConfigurationError` for an identity without user.
        """
        made = copy.copy(self)
        made.headers = impersonation.headers(identity)
        return made

    async def resource(self, api_version: str, kind: str) -> Resource:
        return await self._discovery.find(GVK.parse(api_version, kind))

    async def version(self) -> Mapping[str, Any]:
        """The server's `/version`."""
        return _object(await self.request("GET", "/version"))

    async def get(
        self, resource: Resource, name: str, *, namespace: str = "", subresource: str = ""
    ) -> Manifest:
        path = _path(resource, namespace, _one(name), subresource)
        return _object(await self.request("GET", path))

    async def list_page(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str | None = None,
        limit: int | None = None,
        continue_token: str = "",
        metadata_only: bool = False,
    ) -> ObjectList:
        params = _params(
            labelSelector=label_selector,
            fieldSelector=field_selector,
            limit=str(limit) if limit else "",
        )
        if continue_token:
            params["continue"] = continue_token
        elif resource_version is not None:
            params["resourceVersion"] = resource_version
        body = await self.request(
            "GET",
            _path(resource, namespace),
            params=params,
            accept=_PARTIAL_LIST if metadata_only else "application/json",
            seconds=_LIST_TIMEOUT,
        )
        await _breathe()  # each step takes milliseconds for ten thousand objects
        try:
            found = _LIST_DECODER.decode(body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ClusterError(
                f"the API server's list of `{resource}` cannot be read", temporary=True
            ) from error
        if found.items is None and found.kind in (None, "Status"):
            # Taken for an empty list, it would say that everything was deleted.
            raise ClusterError(
                f"the API server's list of `{resource}` is not a list", temporary=True
            )
        await _breathe()
        return ObjectList(
            resource_version=found.metadata.resource_version or "",
            items=[bytes(item) for item in found.items or ()],
            continue_token=found.metadata.continue_ or "",
        )

    async def watch(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        timeout_seconds: int = 300,
        metadata_only: bool = False,
        initial_events: bool = False,
        opened: Callable[[], None] | None = None,
        idle_timeout: float = _WATCH_IDLE,
    ) -> AsyncIterator[WatchEvent]:
        """Events until the server ends the stream, or nothing came for `idle_timeout` seconds."""
        params = _params(
            labelSelector=label_selector,
            fieldSelector=field_selector,
            resourceVersion=resource_version,
            timeoutSeconds=str(timeout_seconds),
        ) | {"watch": "true", "allowWatchBookmarks": "true"}
        if initial_events:
            params |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        stream = self._connection.stream(
            _path(resource, namespace),
            params=params,
            accept=_PARTIAL if metadata_only else "application/json",
            seconds=timeout_seconds + _WATCH_GRACE,
            idle=idle_timeout,
            opened=opened,
            headers=self.headers,
        )
        async with contextlib.aclosing(stream) as lines:
            async for line in lines:
                yield watch_stream.event(line)

    async def create(
        self,
        resource: Resource,
        manifest: Manifest,
        *,
        namespace: str = "",
        subresource: str = "",
        name: str = "",
        field_manager: str = "",
        dry_run: bool = False,
        field_validation: str = "",
    ) -> Manifest:
        path = _path(
            resource, namespace or _namespace(manifest), _one(name) if name else "", subresource
        )
        params = _params(
            fieldManager=field_manager,
            dryRun="All" if dry_run else "",
            fieldValidation=field_validation,
        )
        return _object(await self.request("POST", path, params=params, body=_encode(manifest)))

    async def replace(
        self,
        resource: Resource,
        manifest: Manifest,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
        field_validation: str = "",
    ) -> Manifest:
        name = str((manifest.get("metadata") or {}).get("name") or "")
        path = _path(resource, _namespace(manifest), _one(name), subresource)
        params = _params(
            fieldManager=field_manager,
            dryRun="All" if dry_run else "",
            fieldValidation=field_validation,
        )
        return _object(await self.request("PUT", path, params=params, body=_encode(manifest)))

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Any,
        *,
        type: PatchType,  # noqa: A002 - the API's own word
        namespace: str = "",
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
        dry_run: bool = False,
        field_validation: str = "",
    ) -> Manifest:
        path = _path(resource, namespace, _one(name), subresource)
        params = _params(
            fieldManager=field_manager,
            force="true" if force else "",
            dryRun="All" if dry_run else "",
            fieldValidation=field_validation,
        )
        body = _encode(patch)
        return _object(
            await self.request("PATCH", path, params=params, body=body, content_type=str(type))
        )

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str = "",
        propagation: Propagation | None = None,
        uid: str = "",
        resource_version: str = "",
        grace_seconds: int | None = None,
        dry_run: bool = False,
    ) -> Manifest:
        options = _delete_options(propagation, grace_seconds, dry_run=dry_run)
        preconditions = _params(uid=uid, resourceVersion=resource_version)
        if preconditions:
            options["preconditions"] = preconditions
        path = _path(resource, namespace, _one(name))
        return _object(await self.request("DELETE", path, body=_encode(options)))

    async def delete_collection(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        propagation: Propagation | None = None,
        grace_seconds: int | None = None,
        dry_run: bool = False,
    ) -> None:
        """DELETE of all objects that are selected; in a namespace, or in all."""
        options = _delete_options(propagation, grace_seconds, dry_run=dry_run)
        params = _params(labelSelector=label_selector, fieldSelector=field_selector)
        path = _path(resource, namespace)
        await self.request(
            "DELETE", path, params=params, body=_encode(options), seconds=_LIST_TIMEOUT
        )

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        seconds: float = REQUEST_TIMEOUT,
    ) -> bytes:
        """One request, answered in full; raises `ClusterError`."""
        return await self._connection.request(
            method,
            path,
            params=params,
            body=body,
            content_type=content_type,
            accept=accept,
            seconds=seconds,
            headers=self.headers,
        )

    async def log(
        self, namespace: str, pod: str, *, params: Mapping[str, str], follow: bool = False
    ) -> AsyncGenerator[bytes, None]:
        """The log of a container in parts, as they come; with `follow` until it ends."""
        parts = self._connection.parts(
            f"/api/v1/namespaces/{_one(namespace)}/pods/{_one(pod)}/log",
            params=dict(params) | ({"follow": "true"} if follow else {}),
            accept="*/*",
            seconds=None if follow else _LIST_TIMEOUT,
            headers=self.headers,
        )
        async with contextlib.aclosing(parts):
            async for part in parts:
                yield part

    async def execute(
        self,
        namespace: str,
        pod: str,
        container: str,
        command: Sequence[str],
        *,
        stdin: bytes | None = None,
    ) -> AsyncGenerator[tuple[int, bytes], None]:
        """The messages of a command in a container; see `streams.execute`."""
        path = f"/api/v1/namespaces/{_one(namespace)}/pods/{_one(pod)}/exec"
        params = [("container", container)] if container else []
        params += [("stdout", "true"), ("stderr", "true")]
        params += [("stdin", "true")] if stdin is not None else []
        params += [("command", word) for word in command]
        # Only version 5 can end the input; all servers know version 4.
        protocols = streams.INPUT_PROTOCOLS if stdin is not None else streams.OUTPUT_PROTOCOLS
        socket = self._connection.socket(
            path, params=params, protocols=protocols, headers=self.headers
        )
        async with socket as opened:
            async for message in streams.execute(opened, stdin):
                yield message

    @contextlib.asynccontextmanager
    async def forward(self, namespace: str, pod: str, port: int) -> AsyncIterator[streams.PodPipe]:
        """A connection to a port of a pod; closed at the end."""
        path = f"/api/v1/namespaces/{_one(namespace)}/pods/{_one(pod)}/portforward"
        socket = self._connection.socket(
            path,
            params=[("ports", str(port))],
            protocols=streams.FORWARD_PROTOCOLS,
            headers=self.headers,
        )
        async with socket as opened:
            yield streams.PodPipe(opened, f"port {port} of pod `{pod}`")

    async def _ask(self, path: str, accept: str) -> Mapping[str, Any]:
        body = await self.request("GET", path, accept=accept)
        try:
            return _object(body)
        except ClusterError:
            answer = f"its answer to `{path}` is not a JSON object"
            raise failures.not_kubernetes(self._connection.host, answer) from None


async def _breathe() -> None:
    """Let others run, also what became due meanwhile: that is done after the first time."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ClusterError("the API server's answer is not JSON", temporary=True) from error
    if not isinstance(value, dict):
        raise ClusterError("the API server's answer is not an object", temporary=True)
    return value


def _encode(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"the object cannot be written as JSON: {error}") from error


def _delete_options(
    propagation: Propagation | None, grace_seconds: int | None, *, dry_run: bool
) -> dict[str, Any]:
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if propagation is not None:
        options["propagationPolicy"] = str(propagation)
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    if dry_run:
        options["dryRun"] = ["All"]
    return options


def _params(**params: str) -> dict[str, str]:
    return {key: value for key, value in params.items() if value}


def _path(resource: Resource, namespace: str, name: str = "", subresource: str = "") -> str:
    # What a name holds must not end the path, nor lead out of it: names may come from users.
    return resource.path(
        namespace=quote(_one(namespace), safe=_PLAIN) if namespace else "",
        name=quote(name, safe=_PLAIN),
        subresource=subresource,
    )


def _one(name: str) -> str:
    if not name or "/" in name or name in (".", "..") or "%" in name:
        raise ConfigurationError(f"`{name}` cannot be the name of an object")
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise ConfigurationError(f"{name!r} cannot be the name of an object") from error
    return name


def _namespace(manifest: Manifest) -> str:
    return str((manifest.get("metadata") or {}).get("namespace") or "")
