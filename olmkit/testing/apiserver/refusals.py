"""Errors of the API server double: Status objects with the messages of a real API server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olmkit.kube.api import Resource
from olmkit.kube.objects import Manifest
from olmkit.testing.rbac import Access


@dataclass(frozen=True, slots=True)
class FieldCause:
    """The error of one field; `message` starts with the kind of error."""

    field: str
    reason: str
    message: str


class Refusal(Exception):  # noqa: N818 - an answer, not a fault
    """An error response with a Status."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after
        self.status: Manifest = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": dict(metadata or {}),
            "status": "Failure",
            "message": message,
            "reason": reason,
            **({"details": dict(details)} if details else {}),
            "code": code,
        }


def details_of(resource: Resource, name: str) -> dict[str, Any]:
    """Return the details of a Status that name an object by its plural."""
    group = {"group": resource.gvk.group} if resource.gvk.group else {}
    return {"name": name} | group | {"kind": resource.plural}


def not_found(resource: Resource, name: str) -> Refusal:
    return Refusal(
        404, "NotFound", f'{resource} "{name}" not found', details=details_of(resource, name)
    )


def no_such_path() -> Refusal:
    return Refusal(404, "NotFound", "the server could not find the requested resource")


def method_not_allowed() -> Refusal:
    return Refusal(
        *(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        ),
        details={},
    )


def exists(resource: Resource, name: str) -> Refusal:
    return Refusal(
        *(409, "AlreadyExists", f'{resource} "{name}" already exists'),
        details=details_of(resource, name),
    )


_MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def conflict(resource: Resource, name: str, why: str = _MODIFIED) -> Refusal:
    return Refusal(
        *(409, "Conflict", f'Operation cannot be fulfilled on {resource} "{name}": {why}'),
        details=details_of(resource, name),
    )


def bad_request(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)


def forbidden(resource: Resource, name: str, verb: str, user: str, namespace: str) -> Refusal:
    place = f' in the namespace "{namespace}"' if namespace else " at the cluster scope"
    quoted = f' "{name}"' if name else ""
    return Refusal(
        *(403, "Forbidden"),
        f'{resource}{quoted} is forbidden: User "{user}" cannot {verb} resource '
        f'"{resource.plural}" in API group "{resource.gvk.group}"{place}',
        details=details_of(resource, name),
    )


def forbidden_to_impersonate(access: Access, user: str) -> Refusal:
    return Refusal(
        *(403, "Forbidden"),
        f'{access.resource} "{access.name}" is forbidden: User "{user}" cannot impersonate '
        f'resource "{access.resource}" in API group "{access.group}" at the cluster scope',
        details={"name": access.name, "kind": access.resource},
    )


def unauthorized() -> Refusal:
    return Refusal(401, "Unauthorized", "Unauthorized")


def unsupported_media(sort: str) -> Refusal:
    return Refusal(
        *(415, "UnsupportedMediaType"),
        f"the body of the request was in an unknown format: {sort}",
    )


def invalid(resource: Resource, name: str, causes: Sequence[FieldCause]) -> Refusal:
    """Return a 422 refusal with a cause for each field."""
    gvk = resource.gvk
    words = [f"{cause.field}: {cause.message}" for cause in causes]
    joined = words[0] if len(words) == 1 else f"[{', '.join(words)}]"
    kind = f"{gvk.kind}.{gvk.group}" if gvk.group else gvk.kind
    group = {"group": gvk.group} if gvk.group else {}
    return Refusal(
        *(422, "Invalid", f'{kind} "{name}" is invalid: {joined}'),
        details={
            "name": name,
            **group,
            "kind": gvk.kind,
            "causes": [
                {"reason": cause.reason, "message": cause.message, "field": cause.field}
                for cause in causes
            ],
        },
    )


def expired(message: str, **metadata: str) -> Refusal:
    return Refusal(410, "Expired", message, metadata=metadata)


def too_large_version(requested: int, present: int) -> Refusal:
    return Refusal(
        *(504, "Timeout"),
        f"Timeout: Too large resource version: {requested}, current: {present}",
        details={
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ],
            "retryAfterSeconds": 1,
        },
        retry_after=1,
    )
