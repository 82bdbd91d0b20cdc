"""The API server over HTTP: a thin client on aiohttp and msgspec.

Objects are plain data or the server's own bytes; nothing unknown is lost. Every failure becomes a
`ClusterError`. `connection` sends the requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, Unpack
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
    CollectionDeleteOptions,
    DeleteOptions,
    ImpersonatedUser,
    ObjectList,
    PatchType,
    Resource,
    Selectors,
    WatchEvent,
    WriteOptions,
)
from olmkit.kube.objects import GVK, Manifest

_LIST_TIMEOUT = 60.0  # ten thousand objects take seconds to transfer
_WATCH_GRACE = 30.0  # the server ends a watch by itself; after this time it never will
_WATCH_IDLE = 150.0  # bookmarks arrive about once a minute, if the server supports them

_PLAIN = ":@!$&'()*+,;=~"  # in addition to letters, digits and `_.-`

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
    """Implements `olmkit.kube.api.Cluster`. Use it as an async context manager."""

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
        self._discovery = Discovery(self._read, self._connection.host)
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
        """Return a client for the same connections that impersonates another user.

        Raises `ConfigurationError` for an identity without a user.
        """
        made = copy.copy(self)
        made.headers = impersonation.headers(identity)
        return made

    async def resource(self, api_version: str, kind: str) -> Resource:
        return await self._discovery.find(GVK.parse(api_version, kind))

    async def version(self) -> Mapping[str, Any]:
        """Return the server's `/version`."""
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
        resource_version: str | None = None,
        limit: int | None = None,
        continue_token: str = "",
        metadata_only: bool = False,
        **selectors: Unpack[Selectors],
    ) -> ObjectList:
        params = _selector_params(selectors) | _params(limit=str(limit) if limit else "")
        if continue_token:
            params["continue"] = continue_token
        elif resource_version is not None:
            params["resourceVersion"] = resource_version
        body = await self.request(
            "GET",
            _path(resource, selectors.get("namespace", "")),
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
            # As an empty list, it would mean that everything was deleted.
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
        resource_version: str = "",
        timeout_seconds: int = 300,
        metadata_only: bool = False,
        initial_events: bool = False,
        opened: Callable[[], None] | None = None,
        idle_timeout: float = _WATCH_IDLE,
        **selectors: Unpack[Selectors],
    ) -> AsyncIterator[WatchEvent]:
        """Yield events until the stream ends or the server is idle for `idle_timeout` seconds."""
        params = _selector_params(selectors) | _params(
            resourceVersion=resource_version, timeoutSeconds=str(timeout_seconds)
        )
        params |= {"watch": "true", "allowWatchBookmarks": "true"}
        if initial_events:
            params |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        stream = self._connection.stream(
            _path(resource, selectors.get("namespace", "")),
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
        **options: Unpack[WriteOptions],
    ) -> Manifest:
        path = _path(
            resource, namespace or _namespace(manifest), _one(name) if name else "", subresource
        )
        params = _write_params(options)
        return _object(await self.request("POST", path, params=params, body=_encode(manifest)))

    async def replace(
        self,
        resource: Resource,
        manifest: Manifest,
        *,
        subresource: str = "",
        **options: Unpack[WriteOptions],
    ) -> Manifest:
        name = str((manifest.get("metadata") or {}).get("name") or "")
        path = _path(resource, _namespace(manifest), _one(name), subresource)
        params = _write_params(options)
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
        force: bool = False,
        **options: Unpack[WriteOptions],
    ) -> Manifest:
        path = _path(resource, namespace, _one(name), subresource)
        params = _write_params(options) | _params(force="true" if force else "")
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
        uid: str = "",
        resource_version: str = "",
        **options: Unpack[DeleteOptions],
    ) -> Manifest:
        body = _delete_body(options)
        preconditions = _params(uid=uid, resourceVersion=resource_version)
        if preconditions:
            body["preconditions"] = preconditions
        path = _path(resource, namespace, _one(name))
        return _object(await self.request("DELETE", path, body=_encode(body)))

    async def delete_collection(
        self, resource: Resource, **options: Unpack[CollectionDeleteOptions]
    ) -> None:
        await self.request(
            "DELETE",
            _path(resource, options.get("namespace", "")),
            params=_selector_params(options),
            body=_encode(_delete_body(options)),
            seconds=_LIST_TIMEOUT,
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
        """Send one request, and return the whole response, or raise `ClusterError`."""
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
        """Yield the log of a container in parts as they arrive; with `follow` until it ends."""
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
        """Yield the messages of a command in a container; see `streams.execute`."""
        path = f"/api/v1/namespaces/{_one(namespace)}/pods/{_one(pod)}/exec"
        params = [("container", container)] if container else []
        params += [("stdout", "true"), ("stderr", "true")]
        params += [("stdin", "true")] if stdin is not None else []
        params += [("command", word) for word in command]
        # Only version 5 can end the input; all servers support version 4.
        protocols = streams.INPUT_PROTOCOLS if stdin is not None else streams.OUTPUT_PROTOCOLS
        socket = self._connection.socket(
            path, params=params, protocols=protocols, headers=self.headers
        )
        async with socket as opened:
            async for message in streams.execute(opened, stdin):
                yield message

    @contextlib.asynccontextmanager
    async def forward(self, namespace: str, pod: str, port: int) -> AsyncIterator[streams.PodPipe]:
        """Open a connection to a port of a pod, closed at the end of the block."""
        path = f"/api/v1/namespaces/{_one(namespace)}/pods/{_one(pod)}/portforward"
        socket = self._connection.socket(
            path,
            params=[("ports", str(port))],
            protocols=streams.FORWARD_PROTOCOLS,
            headers=self.headers,
        )
        async with socket as opened:
            yield streams.PodPipe(opened, f"port {port} of pod `{pod}`")

    async def _read(self, path: str, accept: str) -> Mapping[str, Any]:
        body = await self.request("GET", path, accept=accept)
        try:
            return _object(body)
        except ClusterError:
            answer = f"its answer to `{path}` is not a JSON object"
            raise failures.not_kubernetes(self._connection.host, answer) from None


async def _breathe() -> None:
    """Let other tasks run, including those that became due meanwhile."""
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


def _delete_body(options: DeleteOptions) -> dict[str, Any]:
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    propagation, seconds = options.get("propagation"), options.get("grace_seconds")
    if propagation is not None:
        body["propagationPolicy"] = str(propagation)
    if seconds is not None:
        body["gracePeriodSeconds"] = seconds
    if options.get("dry_run"):
        body["dryRun"] = ["All"]
    return body


def _write_params(options: WriteOptions) -> dict[str, str]:
    return _params(
        fieldManager=options.get("field_manager", ""),
        dryRun="All" if options.get("dry_run") else "",
        fieldValidation=options.get("field_validation", ""),
    )


def _selector_params(selectors: Selectors) -> dict[str, str]:
    return _params(
        labelSelector=selectors.get("label_selector", ""),
        fieldSelector=selectors.get("field_selector", ""),
    )


def _params(**params: str) -> dict[str, str]:
    return {key: value for key, value in params.items() if value}


def _path(resource: Resource, namespace: str, name: str = "", subresource: str = "") -> str:
    # A name must not end the path or lead out of it: names may come from users.
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
