"""Check whether the service account of an OperatorGroup may install a bundle.

OLM creates each object of the bundle except CRDs as that account, and retries forbidden requests
forever. The account can create roles only with permissions that it has itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

from olmkit.bundle.summary import grants
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster.read import or_default
from olmkit.kube import objects
from olmkit.kube.api import NoSuchKind
from olmkit.kube.objects import Manifest, text
from olmkit.olm import kinds

_REVIEW = ("authorization.k8s.io/v1", "SubjectAccessReview")
_RBAC = "rbac.authorization.k8s.io"
# maximum number of access reviews; the first denied ones are enough
_MAX_REVIEWS = 300
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class _Action:
    """A verb on a resource; `namespace` is empty for the whole cluster.

    `is_rule`: OLM creates a role with this permission.
    """

    verb: str
    group: str
    resource: str
    namespace: str
    name: str = ""
    is_rule: bool = False

    def __str__(self) -> str:
        what = f"{self.resource}.{self.group}" if self.group else self.resource
        where = f"in namespace `{self.namespace}`" if self.namespace else "in the whole cluster"
        return f"{self.verb} {what} {where}"


async def find_denied(
    reader: ClusterObjects, namespace: str, group: Manifest, manifests: Iterable[Manifest]
) -> tuple[str, ...]:
    """Return the denied actions; none without an account or if reviews are forbidden."""
    account = text(kinds.spec(group).get("serviceAccountName"))
    if not account:
        return ()
    found = [action async for action in _actions(reader, namespace, manifests)]
    wanted = list(dict.fromkeys(found))[:_MAX_REVIEWS]
    limit = asyncio.Semaphore(_AT_ONCE)

    async def is_denied(action: _Action) -> bool:
        async with limit:
            answer = await or_default(
                reader.create(_review(namespace, account, action)), {"status": {"allowed": True}}
            )
            return kinds.status(answer).get("allowed") is False

    answers = await asyncio.gather(*map(is_denied, wanted))
    lacking = [one for one, no in zip(wanted, answers, strict=True) if no]
    if any(one.is_rule for one in lacking):
        # With `escalate`, an account can create roles with permissions that it does not have.
        for roles in ("clusterroles", "roles"):
            place = "" if roles == "clusterroles" else namespace
            if not await is_denied(_Action("escalate", _RBAC, roles, place)):
                lacking = [one for one in lacking if not one.is_rule or one.namespace != place]
    return tuple(map(str, lacking))


def _review(namespace: str, account: str, action: _Action) -> Manifest:
    asked = {"verb": action.verb, "group": action.group, "resource": action.resource}
    if action.namespace:
        asked["namespace"] = action.namespace
    if action.name:
        asked["name"] = action.name
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}",
              "system:authenticated"]  # fmt: skip
    return {
        "apiVersion": _REVIEW[0],
        "kind": _REVIEW[1],
        "metadata": {},
        "spec": {
            "user": f"system:serviceaccount:{namespace}:{account}",
            "groups": groups,
            "resourceAttributes": asked,
        },
    }


async def _actions(
    reader: ClusterObjects, namespace: str, manifests: Iterable[Manifest]
) -> AsyncIterator[_Action]:
    for one in manifests:
        if objects.kind(one) == kinds.CRD[1]:
            continue
        try:
            kind = text(one.get("apiVersion")), objects.kind(one)
            resource = await reader.cluster.resource(*kind)
        except NoSuchKind:
            continue
        place = namespace if resource.namespaced else ""
        yield _Action("create", resource.gvk.group, resource.plural, place)
        for grant in grants.csv_grants(one) if kind[1] == kinds.CSV[1] else ():
            is_wide = grant.scope == "cluster"
            roles = "clusterroles" if is_wide else "roles"
            yield _Action("create", _RBAC, roles, "" if is_wide else namespace)
            yield _Action("create", _RBAC, f"{roles[:-1]}bindings", "" if is_wide else namespace)
            place = "" if is_wide else namespace
            for verb in grant.verbs:
                for api in grant.groups:
                    for plural in grant.resources:
                        for name in grant.names or ("",):
                            yield _Action(verb, api, plural, place, name, is_rule=True)
