"""Calls of admission webhooks by the API server double."""

from __future__ import annotations

import base64
import json
import ssl
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from olmkit.kube import patches
from olmkit.kube.objects import Manifest
from olmkit.testing.apiserver.kinds.collection import Collection
from olmkit.testing.apiserver.refusals import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """One webhook of a configuration, and its address."""

    name: str
    url: str
    mutates: bool
    rules: Sequence[Mapping[str, Any]]
    fails_open: bool = False
    timeout: float = 10.0

    def concerns(self, collection: Collection, subresource: str, operation: str) -> bool:
        resource = collection.resource
        plural = f"{resource.plural}/{subresource}" if subresource else resource.plural
        return any(
            _has(rule, "operations", operation)
            and _has(rule, "apiGroups", resource.gvk.group)
            and _has(rule, "apiVersions", resource.gvk.version)
            and _has(rule, "resources", plural)
            for rule in self.rules
        )


def of_configuration(configuration: Manifest, server: str) -> list[Webhook]:
    """Return the webhooks of a configuration object, with `server` as their address."""
    return [
        Webhook(
            name=one["name"],
            url=server + ((one["clientConfig"].get("service") or {}).get("path") or "/"),
            mutates=configuration["kind"] == "MutatingWebhookConfiguration",
            rules=one.get("rules") or (),
            fails_open=one.get("failurePolicy") == "Ignore",
            timeout=float(one.get("timeoutSeconds") or 10),
        )
        for one in configuration.get("webhooks") or ()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A write to an object; `new` is None for a deletion."""

    collection: Collection
    operation: str
    old: Manifest | None
    new: Manifest | None
    user: str
    subresource: str = ""
    dry_run: bool = False


async def mutated(
    webhooks: Sequence[Webhook], write: Write, warnings: list[str]
) -> Manifest | None:
    """Return the object after the mutating webhooks, which are called in order."""
    new = write.new
    for webhook in webhooks:
        if webhook.mutates and webhook.concerns(
            write.collection, write.subresource, write.operation
        ):
            answer = await _ask(webhook, write, new, warnings)
            if new is not None and answer.get("patch"):
                new = patches.json_patch(new, json.loads(base64.b64decode(answer["patch"])))
    return new


async def check(
    webhooks: Sequence[Webhook], write: Write, new: Manifest | None, warnings: list[str]
) -> None:
    """Call the validating webhooks; raise a `Refusal` if one denies the write."""
    for webhook in webhooks:
        if not webhook.mutates and webhook.concerns(
            write.collection, write.subresource, write.operation
        ):
            await _ask(webhook, write, new, warnings)


async def _ask(
    webhook: Webhook, write: Write, new: Manifest | None, warnings: list[str]
) -> Mapping[str, Any]:
    review = _review(write, new)
    try:
        response = await _answer(webhook, review)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        if webhook.fails_open:
            return {}
        raise Refusal(
            *(500, "InternalError"),
            f'Internal error occurred: failed calling webhook "{webhook.name}": {error}',
        ) from error
    warnings.extend(response.get("warnings") or ())
    if response.get("allowed") is True:
        return response
    status = response.get("status") or {}
    words = status.get("message") or status.get("reason") or "without explanation"
    raise Refusal(
        int(status.get("code") or 403),
        status.get("reason") or "Forbidden",
        f'admission webhook "{webhook.name}" denied the request: {words}',
        details=status.get("details"),
    )


async def _answer(webhook: Webhook, review: Manifest) -> Mapping[str, Any]:
    limit = aiohttp.ClientTimeout(total=webhook.timeout)
    # The server is in the test process, and its certificate was created for the test.
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connector = aiohttp.TCPConnector(ssl=context)
    async with (
        aiohttp.ClientSession(connector=connector, timeout=limit) as session,
        session.post(webhook.url, json=review) as answer,
    ):
        found = await answer.json(content_type=None)
    response = found.get("response") if isinstance(found, dict) else None
    if not isinstance(response, dict) or response.get("uid") != review["request"]["uid"]:
        raise ValueError("the answer is not an AdmissionReview for this request")
    return response


def _review(write: Write, new: Manifest | None) -> Manifest:
    resource = write.collection.resource
    gvk = resource.gvk
    kind = {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}
    place = {"group": gvk.group, "version": gvk.version, "resource": resource.plural}
    named = (new or write.old or {}).get("metadata") or {}
    request: dict[str, Any] = {
        "uid": str(uuid.uuid4()),
        "kind": kind,
        "resource": place,
        "requestKind": kind,
        "requestResource": place,
        "name": named.get("name", ""),
        "namespace": named.get("namespace", ""),
        "operation": write.operation,
        "userInfo": {"username": write.user},
        "object": new,
        "oldObject": None if write.old is None else write.collection.shown(write.old),
        "dryRun": write.dry_run,
        "options": None,
    }
    if write.subresource:
        request |= {"subResource": write.subresource, "requestSubResource": write.subresource}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def _has(rule: Mapping[str, Any], field: str, word: str) -> bool:
    listed = rule.get(field) or ()
    plural = word.partition("/")[0]
    return "*" in listed or word in listed or f"{plural}/*" in listed
