"""Use the API server to check what a service account may do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.kube.objects import mapping, sequence
from olmkit.olm.v1.permissions import RBAC, ExtensionPermissions, Rule

_REVIEW = ("authorization.k8s.io/v1", "SubjectAccessReview")
_AT_ONCE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class _AccessRequest:
    """One verb on one resource or URL, in a namespace or in the whole cluster."""

    verb: str
    group: str = ""
    resource: str = ""
    name: str = ""
    url: str = ""
    namespace: str = ""

    def attributes(self) -> dict[str, Any]:
        if self.url:
            return {"nonResourceAttributes": {"path": self.url, "verb": self.verb}}
        resource, _, subresource = self.resource.partition("/")
        found = {
            "verb": self.verb,
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "name": self.name,
            "namespace": self.namespace,
        }
        return {"resourceAttributes": {key: value for key, value in found.items() if value}}


async def find_missing_permissions(
    reader: ClusterObjects, account: str, namespace: str, needs: ExtensionPermissions
) -> ExtensionPermissions:
    """Return the permissions that the service account lacks.

    Permissions that a bundle grants are not needed if the account may `escalate` and `bind` roles.
    Raises `Forbidden` if the user may not create access reviews.
    """
    review = _Review(reader, account, namespace)
    if await review.allows(_AccessRequest(verb="*", group="*", resource="*")):
        return ExtensionPermissions(cluster=(), local=(), granted=())
    free = [
        _AccessRequest(verb=verb, group=RBAC, resource="clusterroles")
        for verb in ("escalate", "bind")
    ]
    may_grant = all([await review.allows(one) for one in free])
    return ExtensionPermissions(
        cluster=await review.lacking(needs.cluster),
        local=await review.lacking(needs.local, namespace),
        granted=() if may_grant else await review.lacking(needs.granted),
    )


class _Review:
    """Access reviews of one service account; each result is cached."""

    def __init__(self, reader: ClusterObjects, account: str, namespace: str) -> None:
        self._reader = reader
        groups = ("serviceaccounts", f"serviceaccounts:{namespace}", "authenticated")
        self._subject = {
            "user": f"system:serviceaccount:{namespace}:{account}",
            "groups": [f"system:{group}" for group in groups],
        }
        self._known: dict[_AccessRequest, bool] = {}
        self._limit = asyncio.Semaphore(_AT_ONCE)

    async def lacking(self, rules: Iterable[Rule], namespace: str = "") -> tuple[Rule, ...]:
        """Return the rules, reduced to the permissions that the account lacks."""
        found = []
        for rule in rules:
            questions = list(_access_requests(rule, namespace))
            answers = await asyncio.gather(*map(self.allows, questions))
            refused = [one for one, is_allowed in zip(questions, answers, strict=True)
                       if not is_allowed]  # fmt: skip
            if refused:
                found.append(_reduce_rule(rule, refused))
        return tuple(found)

    async def allows(self, question: _AccessRequest) -> bool:
        if question not in self._known:
            async with self._limit:
                self._known[question] = await self._review(question)
        return self._known[question]

    async def _review(self, question: _AccessRequest) -> bool:
        body = {
            "apiVersion": _REVIEW[0],
            "kind": _REVIEW[1],
            "spec": {**self._subject, **question.attributes()},
        }
        answer = await self._reader.create(body)
        return mapping(answer.get("status")).get("allowed") is True


def _access_requests(rule: Mapping[str, Any], namespace: str) -> Iterator[_AccessRequest]:
    for verb in sequence(rule.get("verbs")):
        for url in sequence(rule.get("nonResourceURLs")):
            yield _AccessRequest(verb=verb, url=url)
        for group in sequence(rule.get("apiGroups")):
            for resource in sequence(rule.get("resources")):
                for name in sequence(rule.get("resourceNames")) or [""]:
                    yield _AccessRequest(
                        verb=verb, group=group, resource=resource, name=name, namespace=namespace
                    )


def _reduce_rule(rule: Rule, refused: list[_AccessRequest]) -> Rule:
    """Return the rule with only the denied verbs, groups, resources and names."""
    parts = {
        "apiGroups": {one.group for one in refused},
        "resources": {one.resource for one in refused},
        "resourceNames": {one.name for one in refused},
        "nonResourceURLs": {one.url for one in refused},
        "verbs": {one.verb for one in refused},
    }
    return {key: [one for one in sequence(rule[key]) if one in parts[key]]
            for key in rule if key in parts}  # fmt: skip
