"""The interface of a Kubernetes API server, and its errors.

Objects are plain data (`Manifest`) or, where there are thousands of them, the bytes that the server
sent. `olmkit.edges.cluster.client` implements the port over HTTP; tests use a fake server.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypedDict, Unpack

from olmkit.base.diagnostics import RemoteError
from olmkit.kube.objects import GVK, Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """The resource of a kind on the API server."""

    gvk: GVK
    plural: str
    namespaced: bool = True
    subresources: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()

    @property
    def api_version(self) -> str:
        """Return group and version as in manifests."""
        return self.gvk.api_version

    def path(self, *, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the URL path of a collection, an object or a subresource."""
        root = f"/apis/{self.api_version}" if self.gvk.group else f"/api/{self.api_version}"
        if self.namespaced and namespace:
            root += f"/namespaces/{namespace}"
        return "/".join(part for part in (root, self.plural, name, subresource) if part)

    def __str__(self) -> str:
        return f"{self.plural}.{self.gvk.group}" if self.gvk.group else self.plural


_WEBHOOK = re.compile(r"conversion webhook for |failed calling webhook|failed to call webhook")


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of a Status' `details.causes`."""

    reason: str
    message: str
    field: str


@dataclass(eq=False)
class ClusterError(RemoteError):
    """The API server returned an error; `code` is 0 without a response."""

    code: int = 0
    reason: str = ""
    kind: str = ""
    name: str = ""
    causes: Sequence[Cause] = field(default=())
    retry_after: float | None = None
    continue_token: str = ""
    """Continues a list whose token is too old, with the changes since then."""

    @property
    def is_of_webhook(self) -> bool:
        """Return whether the server refuses because a webhook of an operator does not respond."""
        return _WEBHOOK.search(self.message) is not None


class Unreachable(ClusterError):
    """No response: connection refused, connection lost, or timeout."""


class NotFound(ClusterError):
    """The object does not exist, or its kind is not served if `reason` is empty."""


class NoSuchKind(ClusterError):
    """The server does not know the kind: its CRD is not installed."""


class NotKubernetes(ClusterError):
    """The server is not a Kubernetes API server."""


class AlreadyExists(ClusterError):
    """An object with this name already exists."""


class Conflict(ClusterError):
    """The object changed since it was read, or another manager owns a field."""


class Forbidden(ClusterError):
    """RBAC does not allow it."""


class Unauthorized(ClusterError):
    """The credentials were not accepted."""


class Invalid(ClusterError):
    """The object violates its schema or an admission rule; `causes` name fields."""


class Gone(ClusterError):
    """The resource version is too old: list again."""


class TooLargeResourceVersion(ClusterError):
    """The server has not yet seen that resource version."""


class TooManyRequests(ClusterError):
    """The server is overloaded; `retry_after` says how long to wait."""


_BY_REASON: Mapping[str, type[ClusterError]] = {
    "NotFound": NotFound,
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "Forbidden": Forbidden,
    "Unauthorized": Unauthorized,
    "Invalid": Invalid,
    "Gone": Gone,
    "Expired": Gone,
    "TooManyRequests": TooManyRequests,
}
_BY_CODE: Mapping[int, type[ClusterError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


def error_from_status(
    status: Mapping[str, Any], *, code: int = 0, retry_after: float | None = None
) -> ClusterError:
    """Return the error that a `Status` object describes: by reason first, then by code."""
    reason = _text(status.get("reason"))
    found = status.get("code")
    code = found if isinstance(found, int) and found else code
    details = status.get("details")
    details = details if isinstance(details, Mapping) else {}
    causes = tuple(
        Cause(_text(cause.get("reason")), _text(cause.get("message")), _text(cause.get("field")))
        for cause in details.get("causes") or ()
        if isinstance(cause, Mapping)
    )
    metadata = status.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    seconds = details.get("retryAfterSeconds")
    if retry_after is None and isinstance(seconds, int | float) and seconds > 0:
        retry_after = float(seconds)
    if any(cause.reason == "ResourceVersionTooLarge" for cause in causes) or (
        "Too large resource version" in _text(status.get("message"))
    ):
        error: type[ClusterError] = TooLargeResourceVersion
    else:
        error = _BY_REASON.get(reason) or _BY_CODE.get(code) or ClusterError
    return error(
        _text(status.get("message")) or f"the API server answered {code}",
        temporary=code in (408, 429, 500, 502, 503, 504),
        code=code,
        reason=reason,
        kind=_text(details.get("kind")),
        name=_text(details.get("name")),
        causes=causes,
        retry_after=retry_after,
        continue_token=_text(metadata.get("continue")),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


class EventType(StrEnum):
    """The types of events of a watch."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One event of a watch: its type, and the object's bytes."""

    type: EventType
    object: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectList:
    """One page of a collection: the objects' bytes, and the resource version."""

    resource_version: str
    items: Sequence[bytes]
    continue_token: str = ""


class PatchType(StrEnum):
    """Media types of patches."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Propagation(StrEnum):
    """What a deletion does with dependents."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpersonatedUser:
    """A user to impersonate, as the API server knows users.

    RBAC must allow the verb `impersonate` for each part. Source: the authentication
    reference of Kubernetes, "User impersonation".
    """

    user: str
    groups: Sequence[str] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)


class Pipe(Protocol):
    """A connection through the API server, as a stream of bytes both ways."""

    async def read(self) -> bytes:
        """Return the received data, at least one byte, or empty at the end."""

    async def write(self, data: bytes) -> None:
        """Send data; raises `ClusterError` if the connection has ended."""


class Selectors(TypedDict, total=False):
    """The selectors of a request; without `namespace`, for all namespaces."""

    namespace: str
    label_selector: str
    field_selector: str


class WriteOptions(TypedDict, total=False):
    """The options of a write.

    `field_manager` owns the fields that the request sets. `dry_run` changes nothing.
    `field_validation` is `Strict`, `Warn` or `Ignore`; empty is the server's own default.
    """

    field_manager: str
    dry_run: bool
    field_validation: str


class DeleteOptions(TypedDict, total=False):
    """The options of a deletion. With `dry_run`, nothing is deleted.

    `propagation` and `grace_seconds` are the defaults of the kind if they are None.
    """

    propagation: Propagation | None
    grace_seconds: int | None
    dry_run: bool


class CollectionDeleteOptions(Selectors, DeleteOptions, total=False):
    """The selectors and options of a deletion of several objects."""


class Cluster(Protocol):
    """A Kubernetes API server. Every method may raise `ClusterError` or a subclass."""

    async def resource(self, api_version: str, kind: str) -> Resource:
        """Return the resource of a kind by discovery, or raise `NoSuchKind`."""

    async def get(
        self, resource: Resource, name: str, *, namespace: str = "", subresource: str = ""
    ) -> Manifest:
        """Return one object."""

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
        """Return one page of a collection."""

    def watch(
        self,
        resource: Resource,
        *,
        resource_version: str = "",
        timeout_seconds: int = 300,
        metadata_only: bool = False,
        initial_events: bool = False,
        opened: Callable[[], None] | None = None,
        **selectors: Unpack[Selectors],
    ) -> AsyncIterator[WatchEvent]:
        """Yield events until the server ends the stream; an `ERROR` event is raised.

        `initial_events`: first the existing objects, at least as new as `resource_version`, and
        then a bookmark with the annotation `k8s.io/initial-events-end`. `opened` is called when the
        server has accepted the watch, which may be long before the first event.
        """

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
        """Create an object (POST), or raise `AlreadyExists`."""

    async def replace(
        self,
        resource: Resource,
        manifest: Manifest,
        *,
        subresource: str = "",
        **options: Unpack[WriteOptions],
    ) -> Manifest:
        """Replace the whole object (PUT); `Conflict` if its resource version is old."""

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
        """Patch an object with any of the four types; server-side apply is `PatchType.APPLY`."""

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
        """Delete an object; return the object or a Status, as the server responds."""

    async def delete_collection(
        self, resource: Resource, **options: Unpack[CollectionDeleteOptions]
    ) -> None:
        """Delete all selected objects, in a namespace or in all namespaces."""

    def impersonating(self, identity: ImpersonatedUser) -> Cluster:
        """Return the same cluster, which impersonates another user."""

    def log(
        self, namespace: str, pod: str, *, params: Mapping[str, str], follow: bool = False
    ) -> AsyncGenerator[bytes, None]:
        """Return the log of a container in parts, as they come; `params` are those of the API."""

    def execute(
        self,
        namespace: str,
        pod: str,
        container: str,
        command: Sequence[str],
        *,
        stdin: bytes | None = None,
    ) -> AsyncGenerator[tuple[int, bytes], None]:
        """Yield channel (1: output, 2: errors, 3: end) and data of a command in a container."""

    def forward(self, namespace: str, pod: str, port: int) -> AbstractAsyncContextManager[Pipe]:
        """Return a connection to a port of a pod."""
