"""The API server over HTTP: a thin client on aiohttp and msgspec.

Objects are plain data or the server's own bytes; nothing unknown is lost. Every
failure becomes a `ClusterError`. Requests are tried again only where the server
asks for it (429 and 5xx with `Retry-After`) and, once, after a 401 that fresh
credentials may cure.
"""

from __future__ import annotations

import asyncio
import json
import socket
import urllib.request
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any, NoReturn, Self
from urllib.parse import urlsplit

import aiohttp
import msgspec

from olmkit import __version__
from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.edges.kubeconfig import ClusterConfig
from olmkit.kube.api import (
    ClusterError,
    EventType,
    NoSuchKind,
    NotFound,
    ObjectList,
    PatchType,
    Propagation,
    Resource,
    Unauthorized,
    Unreachable,
    WatchEvent,
    error_from_status,
)
from olmkit.kube.objects import GVK, Manifest

_CONNECT_TIMEOUT = 10.0
_REQUEST_TIMEOUT = 30.0
_LIST_TIMEOUT = 60.0  # ten thousand objects take seconds to come over
_WATCH_GRACE = 30.0  # the server ends a watch by itself; later than this it never will
_WATCH_IDLE = 150.0  # bookmarks come about once a minute
_MAX_LINE = 64 * 1024 * 1024
_MAX_BODY = 512 * 1024 * 1024
_MAX_RETRIES = 10
_MAX_RETRY_AFTER = 60.0
_MISS_MEMORY = 5.0  # seconds for which the same unknown kind is not asked for again

_AGGREGATED = "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList"
_PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

Observer = Callable[[str, str, str], None]
"""Told of each request: method, host, and the code (`<error>` when no answer came)."""


class _ListMeta(msgspec.Struct, rename="camel", gc=False):
    resource_version: str | None = None
    continue_: str | None = msgspec.field(default=None, name="continue")


class _List(msgspec.Struct, gc=False):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] | None = None
    kind: str | None = None


class _Line(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


_LIST_DECODER = msgspec.json.Decoder(_List)
_LINE_DECODER = msgspec.json.Decoder(_Line)


class HttpCluster:
    """Fulfils `olmkit.kube.api.Cluster`. Use as an async context manager."""

    def __init__(
        self,
        config: ClusterConfig,
        *,
        user_agent: str = f"olmkit/{__version__}",
        observer: Observer | None = None,
    ) -> None:
        self.config = config
        self._host = urlsplit(config.server).netloc
        self._user_agent = user_agent
        self._observer = observer
        self._session: aiohttp.ClientSession | None = None
        self._certificate: tuple[bytes, bytes] | None = None
        self._discovery = _Discovery(self)

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
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def resource(self, api_version: str, kind: str) -> Resource:
        return await self._discovery.find(GVK.parse(api_version, kind))

    async def version(self) -> Mapping[str, Any]:
        """The server's `/version`."""
        return _object(await self.request("GET", "/version"))

    async def get(
        self, resource: Resource, name: str, *, namespace: str = "", subresource: str = ""
    ) -> Manifest:
        path = resource.path(namespace=namespace, name=_one(name), subresource=subresource)
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
            resource.path(namespace=namespace),
            params=params,
            accept=_PARTIAL_LIST if metadata_only else "application/json",
            seconds=_LIST_TIMEOUT,
        )
        try:
            found = _LIST_DECODER.decode(body)
        except msgspec.DecodeError as error:
            raise ClusterError(
                f"the API server's list of `{resource}` cannot be read", temporary=True
            ) from error
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
        idle_timeout: float = _WATCH_IDLE,
    ) -> AsyncIterator[WatchEvent]:
        """Events until the server ends the stream, or nothing came for `idle_timeout` seconds."""
        params = _params(
            labelSelector=label_selector,
            fieldSelector=field_selector,
            resourceVersion=resource_version,
            timeoutSeconds=str(timeout_seconds),
        ) | {"watch": "true", "allowWatchBookmarks": "true"}
        response = await self._open(
            "GET",
            resource.path(namespace=namespace),
            params=params,
            accept=_PARTIAL if metadata_only else "application/json",
            limits=aiohttp.ClientTimeout(
                total=timeout_seconds + _WATCH_GRACE, sock_connect=_CONNECT_TIMEOUT
            ),
        )
        try:
            async for line in _lines(response, idle_timeout):
                yield _event(line)
        except aiohttp.ClientError as error:
            raise self._unreachable(error) from error
        except TimeoutError:
            return
        finally:
            response.close()

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
    ) -> Manifest:
        path = resource.path(
            namespace=namespace or _namespace(manifest), name=name, subresource=subresource
        )
        params = _params(fieldManager=field_manager, dryRun="All" if dry_run else "")
        return _object(await self.request("POST", path, params=params, body=_encode(manifest)))

    async def replace(
        self,
        resource: Resource,
        manifest: Manifest,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> Manifest:
        name = str((manifest.get("metadata") or {}).get("name") or "")
        path = resource.path(
            namespace=_namespace(manifest), name=_one(name), subresource=subresource
        )
        params = _params(fieldManager=field_manager, dryRun="All" if dry_run else "")
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
        path = resource.path(namespace=namespace, name=_one(name), subresource=subresource)
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
        dry_run: bool = False,
    ) -> Manifest:
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if propagation is not None:
            options["propagationPolicy"] = str(propagation)
        preconditions = _params(uid=uid, resourceVersion=resource_version)
        if preconditions:
            options["preconditions"] = preconditions
        if dry_run:
            options["dryRun"] = ["All"]
        path = resource.path(namespace=namespace, name=_one(name))
        return _object(await self.request("DELETE", path, body=_encode(options)))

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        seconds: float = _REQUEST_TIMEOUT,
    ) -> bytes:
        """One request, answered in full; raises `ClusterError`."""
        response = await self._open(
            method,
            path,
            params=params,
            body=body,
            content_type=content_type,
            accept=accept,
            limits=aiohttp.ClientTimeout(total=seconds, sock_connect=_CONNECT_TIMEOUT),
        )
        try:
            return await _read(response)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable(error) from error
        finally:
            response.release()

    async def _open(
        self,
        method: str,
        path: str,
        *,
        limits: aiohttp.ClientTimeout,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> aiohttp.ClientResponse:
        """The response's head, once the server has said yes."""
        fresh = False
        attempt = 0
        while True:
            try:
                response = await self._send(
                    method,
                    path,
                    params=params,
                    body=body,
                    content_type=content_type,
                    accept=accept,
                    limits=limits,
                )
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                self._observe(method, "<error>")
                raise self._unreachable(error) from error
            self._observe(method, str(response.status))
            if response.status < 400:
                return response
            refused = await self._refusal(response)
            if (
                isinstance(refused, Unauthorized)
                and not fresh
                and self.config.credentials.refused()
            ):
                fresh = True
                continue
            attempt += 1
            if refused.retry_after is None or not refused.temporary or attempt > _MAX_RETRIES:
                raise refused
            await asyncio.sleep(min(refused.retry_after, _MAX_RETRY_AFTER))

    async def _send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None,
        body: bytes | None,
        content_type: str,
        accept: str,
        limits: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        headers = [("Accept", accept), *_pairs(self.config.headers)]
        authorization = await self.config.credentials.authorization()
        if authorization:
            headers.append(("Authorization", authorization))
        if body is not None:
            headers.append(("Content-Type", content_type))
        session = await self._opened()
        return await session.request(
            method,
            self.config.server + path,
            params=params,
            data=body,
            headers=headers,
            timeout=limits,
            proxy=self.config.proxy or _environment_proxy(self.config.server),
            server_hostname=self.config.server_name,
            allow_redirects=False,
        )

    async def _opened(self) -> aiohttp.ClientSession:
        certificate = self.config.credentials.certificate()
        if self._session is not None and certificate != self._certificate:
            await self.close()  # an exec plug-in gave a new client certificate
        if self._session is None:
            self._certificate = certificate
            context = self.config.ssl_context(certificate)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0,  # each watch holds a connection, and workers need theirs
                    ssl=context if context is not None else True,
                    socket_factory=_socket,
                ),
                headers={"User-Agent": self._user_agent},
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    async def _refusal(self, response: aiohttp.ClientResponse) -> ClusterError:
        try:
            body = await _read(response, limit=1024 * 1024)
        except (aiohttp.ClientError, TimeoutError, ClusterError):
            body = b""
        finally:
            response.release()
        try:
            status = json.loads(body)
        except ValueError:
            status = None
        if not isinstance(status, dict) or status.get("kind") != "Status":
            words = body[:200].decode("utf-8", "replace").strip()
            status = {"message": f"the API server answered {response.status}: {words}".rstrip(": ")}
        return error_from_status(
            status, code=response.status, retry_after=_retry_after(response.headers)
        )

    def _observe(self, method: str, code: str) -> None:
        if self._observer is not None:
            self._observer(method, self._host, code)

    def _unreachable(self, error: BaseException) -> ClusterError:
        match error:
            case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientSSLError():
                reason = f"its certificate cannot be trusted: {error.__cause__ or error}"
                temporary = False
            case TimeoutError():
                reason, temporary = "it did not answer in time", True
            case aiohttp.ClientConnectorError() | OSError():
                os_error = getattr(error, "os_error", error)
                reason = str(os_error.strerror or os_error)
                temporary = True
            case _:
                reason, temporary = str(error) or type(error).__name__, True
        return Unreachable(
            f"cannot reach the API server at `{self._host}`: {reason}", temporary=temporary
        )


class _Discovery:
    """Which kinds the server has; asked once, and again after a miss."""

    def __init__(self, cluster: HttpCluster) -> None:
        self._cluster = cluster
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
                await self._ask(gvk)
                found = self._known.get(gvk)
                self._missed[gvk] = now
        if found is None:
            raise NoSuchKind(
                f"the cluster does not know the kind `{gvk.kind}` of "
                f"`{gvk.group + '/' if gvk.group else ''}{gvk.version}`",
                hint="install its CustomResourceDefinition first",
                code=404,
            )
        return found

    async def _ask(self, gvk: GVK) -> None:
        root = "/apis" if gvk.group else "/api"
        try:
            answer = _object(await self._cluster.request("GET", root, accept=_AGGREGATED))
        except NotFound:
            answer = {}
        if answer.get("kind") == "APIGroupDiscoveryList":
            self._take_aggregated(answer)
            return
        version = f"{gvk.group}/{gvk.version}" if gvk.group else gvk.version
        try:
            answer = _object(await self._cluster.request("GET", f"{root}/{version}"))
        except NotFound:
            return
        self._take_list(gvk, answer)

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


async def _lines(response: aiohttp.ClientResponse, idle_timeout: float) -> AsyncIterator[bytes]:
    """The lines of a body, however long (a watch event may be as large as an object)."""
    parts: list[bytes] = []
    size = 0
    while True:
        async with asyncio.timeout(idle_timeout):
            chunk = await response.content.readany()
        if not chunk:
            return  # what comes after the last newline was cut off
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            if parts:
                parts.append(chunk[start:end])
                yield b"".join(parts)
                parts, size = [], 0
            elif end > start:
                yield chunk[start:end]
            start = end + 1
        if start < len(chunk):
            parts.append(chunk[start:])
            size += len(chunk) - start
            if size > _MAX_LINE:
                raise ClusterError("the API server sent a line of more than 64 MiB")


def _event(line: bytes) -> WatchEvent:
    try:
        decoded = _LINE_DECODER.decode(line)
        if decoded.type == "ERROR":
            _raise_status(decoded.object)
        return WatchEvent(EventType(decoded.type), bytes(decoded.object))
    except (msgspec.DecodeError, ValueError) as error:
        raise ClusterError("the API server sent a line that is no event", temporary=True) from error


def _raise_status(raw: msgspec.Raw) -> NoReturn:
    status = msgspec.json.decode(raw)
    raise error_from_status(status if isinstance(status, dict) else {})


async def _read(response: aiohttp.ClientResponse, limit: int = _MAX_BODY) -> bytes:
    parts: list[bytes] = []
    size = 0
    while chunk := await response.content.readany():
        size += len(chunk)
        if size > limit:
            raise ClusterError(f"the API server's answer is larger than {limit >> 20} MiB")
        parts.append(chunk)
    return b"".join(parts)


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise ClusterError("the API server's answer is no JSON", temporary=True) from error
    if not isinstance(value, dict):
        raise ClusterError("the API server's answer is no object", temporary=True)
    return value


def _encode(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"the object cannot be written as JSON: {error}") from error


def _params(**params: str) -> dict[str, str]:
    return {key: value for key, value in params.items() if value}


def _pairs(headers: Any) -> list[tuple[str, str]]:
    return list(headers.items() if isinstance(headers, Mapping) else headers)


def _one(name: str) -> str:
    if not name or "/" in name or name in (".", "..") or "%" in name or "?" in name:
        raise ConfigurationError(f"`{name}` cannot be the name of an object")
    return name


def _namespace(manifest: Manifest) -> str:
    return str((manifest.get("metadata") or {}).get("namespace") or "")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    try:
        return max(0.0, float(headers["Retry-After"]))
    except (KeyError, ValueError):
        return None


def _environment_proxy(server: str) -> str | None:
    parts = urlsplit(server)
    if urllib.request.proxy_bypass(parts.hostname or ""):
        return None
    return urllib.request.getproxies().get(parts.scheme)


def _socket(address: tuple[Any, ...]) -> socket.socket:
    """A socket that notices within a minute when its other end is gone without a word."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family=family, type=kind, proto=protocol)
    made.setblocking(False)
    if family in (socket.AF_INET, socket.AF_INET6):
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
            if hasattr(socket, option):
                made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
