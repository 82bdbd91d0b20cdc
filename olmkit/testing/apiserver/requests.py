"""Parsing of the query and the body of requests to the API server double."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from olmkit.kube import patches
from olmkit.kube.objects import Manifest
from olmkit.kube.patches import PatchError
from olmkit.testing.apiserver import protobuf, refusals
from olmkit.testing.apiserver.kinds.collection import Key
from olmkit.testing.apiserver.refusals import Refusal
from olmkit.testing.apiserver.rules import Manner
from olmkit.testing.rbac import Access

_EXTRA = "impersonate-extra-"


def limit_of(request: web.Request) -> int:
    text = request.query.get("limit") or "0"
    try:
        return int(text)
    except ValueError as error:
        raise refusals.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from error


def version_of(request: web.Request) -> int | None:
    text = request.query.get("resourceVersion", "")
    if not text:
        return None
    if not text.isdecimal():
        raise refusals.bad_request(f"invalid resource version {text!r}")
    return int(text)


def token_for(version: int, key: Key) -> str:
    value = json.dumps({"v": version, "n": key[0], "k": key[1]})
    return base64.urlsafe_b64encode(value.encode()).decode()


def manner_of(request: web.Request) -> tuple[Manner, bool]:
    dry_run = request.query.get("dryRun", "")
    if dry_run not in ("", "All"):
        raise refusals.bad_request(f'dryRun: Unsupported value: "{dry_run}"')
    manner = Manner(
        validation=request.query.get("fieldValidation") or "Warn",
        is_patch=request.method == "PATCH",
    )
    return manner, dry_run == "All"


def check_unmanaged(desired: Any) -> None:
    if isinstance(desired, dict) and (desired.get("metadata") or {}).get("managedFields"):
        raise refusals.bad_request("metadata.managedFields must be nil")


def clears_owners(desired: Manifest) -> bool:
    return (desired.get("metadata") or {}).get("managedFields") in ([], [{}])


def manager_of(request: web.Request) -> str:
    found = request.query.get("fieldManager")
    if not found:
        raise Refusal(
            *(422, "Invalid"),
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required '
            "for apply patch",
        )
    return found


def identity_of(request: web.Request) -> dict[str, Any]:
    """Return the user that a request impersonates; empty if it does not."""
    headers = request.headers
    name = headers.get("Impersonate-User")
    if not name:
        if any(one.lower().startswith("impersonate-") for one in headers):
            raise Refusal(
                *(500, "InternalError"),
                "requested impersonation without impersonating a user",
            )
        return {}
    found: dict[str, Any] = {
        "username": name,
        "groups": [*headers.getall("Impersonate-Group", ()), "system:authenticated"],
    }
    if uid := headers.get("Impersonate-Uid"):
        found["uid"] = uid
    extra: dict[str, list[str]] = {}
    for header, value in headers.items():
        if header.lower().startswith(_EXTRA):
            extra.setdefault(unquote(header[len(_EXTRA) :]).lower(), []).append(value)
    return found | ({"extra": extra} if extra else {})


def accesses_of(identity: Mapping[str, Any]) -> Iterator[Access]:
    """Return the accesses that RBAC must allow for an impersonation."""
    if not identity:
        return
    yield Access(group="", resource="users", verb="impersonate", name=identity["username"])
    for group in identity["groups"][:-1]:
        yield Access(group="", resource="groups", verb="impersonate", name=group)
    group = "authentication.k8s.io"
    if "uid" in identity:
        yield Access(group=group, resource="uids", verb="impersonate", name=identity["uid"])
    for key, values in identity.get("extra", {}).items():
        for value in values:
            yield Access(group=group, resource=f"userextras/{key}", verb="impersonate", name=value)


async def body_of(request: web.Request) -> Any:
    try:
        if request.content_type == protobuf.CONTENT_TYPE:
            return protobuf.decode(await request.read())
        return await request.json()
    except ValueError as error:
        raise refusals.bad_request(f"the object provided is unrecognized: {error}") from error


def patched(request: web.Request, base: Manifest, patch: Any) -> Any:
    """Apply a patch to `base`; the content type is the type of the patch."""
    if request.method == "PUT":
        return patch
    sort = request.content_type
    if sort == "application/json-patch+json":
        if not isinstance(patch, list):
            raise refusals.bad_request("a JSON patch is a list of operations")
        try:
            return patches.json_patch(base, patch)
        except PatchError as error:
            raise Refusal(422, "Invalid", f"the server rejected our request: {error}") from error
    if not isinstance(patch, dict):
        raise refusals.bad_request("a patch is an object")
    if sort == "application/merge-patch+json":
        return patches.merge_patch(base, patch)
    group = str(base.get("apiVersion", "")).rpartition("/")[0]
    if sort == "application/strategic-merge-patch+json" and patches.is_built_in(group):
        merged = patches.strategic_merge(base, patch)
        return merged if merged is None else patches.sort_like_server(merged, base, patch)
    raise refusals.unsupported_media(sort)
