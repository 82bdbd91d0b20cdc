"""Find cluster-scoped objects of an operator that OLM does not delete.

Roles and priority classes in a bundle have no owner, and OLM does not delete them. They are listed
in the InstallPlan that creates them, and OLM labels them with the name of the ClusterServiceVersion
when a later InstallPlan updates them. OLM deletes the roles of an OperatorGroup with the group, but
recreates them if it is processing the group at that time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from olmkit.edges.cluster.objects import ClusterObjects, Kind
from olmkit.jobs.cluster.leases import election_ids, find_leases
from olmkit.jobs.cluster.read import or_default
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState

_OWNER = "olm.owner"
_MANAGED = "olm.managed"
_RBAC = "rbac.authorization.k8s.io/v1"
# Kinds that belong to one operator only, unlike a Namespace or a dependency's Subscription.
_PARTS = frozenset(
    ("ClusterRole", "ClusterRoleBinding", "ConfigMap", "Deployment", "OperatorCondition", "Role",
     "RoleBinding", "Secret", "Service", "ServiceAccount")
)  # fmt: skip
_KINDS: tuple[Kind, ...] = (
    (_RBAC, "ClusterRoleBinding"),
    (_RBAC, "ClusterRole"),
    ("scheduling.k8s.io/v1", "PriorityClass"),
)


async def find_for_csvs(
    reader: ClusterObjects, namespace: str, names: Iterable[str], plans: Iterable[Manifest]
) -> list[Manifest]:
    """Return the objects of the CSVs' bundles, found by label and InstallPlan.

    Objects of the same CSV in another namespace are excluded. Returns none if the user may not list
    them.
    """
    return await or_default(_find_for_csvs(reader, namespace, set(names), list(plans)), [])


async def find_for_groups(reader: ClusterObjects, groups: Iterable[Manifest]) -> list[Manifest]:
    """Return the roles that OLM created for OperatorGroups; empty if listing is forbidden."""
    found: list[Manifest] = []
    for group in groups:
        owner = {
            _OWNER: objects.name(group),
            f"{_OWNER}.namespace": objects.namespace(group),
            f"{_OWNER}.kind": kinds.OPERATOR_GROUP[1],
        }
        labels = ",".join(f"{key}={value}" for key, value in owner.items())
        found += await or_default(reader.list((_RBAC, "ClusterRole"), labels=labels), ())
    return found


async def find_orphans(reader: ClusterObjects, seen: ClusterState, package: str) -> list[Manifest]:
    """Return objects of OLM for the namespace whose owner no longer exists.

    These are the roles of a deleted OperatorGroup, and the roles, bindings and InstallPlans of a
    CSV or a Subscription of the package. OLM leaves the roles if it has created them for a CSV that
    a copied CSV prevents, or if it was interrupted.
    """
    groups = {objects.name(one) for one in seen.groups}
    csvs = {objects.name(one) for one in seen.own_csvs()}
    found = []
    for kind in _KINDS[:2]:
        labels = f"{_OWNER}.namespace={seen.namespace}"
        for one in await or_default(reader.list(kind, labels=labels), ()):
            owner = objects.labels_of(one).get(_OWNER, "")
            owner_kind = objects.labels_of(one).get(f"{_OWNER}.kind")
            if owner_kind == kinds.OPERATOR_GROUP[1] and owner not in groups:
                found.append(one)
            is_own = owner_kind == kinds.CSV[1] and kinds.package_named_in(owner) == package
            if is_own and owner not in csvs:
                found.append(one)
    return found + [one for one in seen.plans if _is_orphaned_plan(one, seen, package)]


def _is_orphaned_plan(plan: Manifest, seen: ClusterState, package: str) -> bool:
    owners = [
        mapping(one)
        for one in sequence(objects.metadata(plan).get("ownerReferences"))
        if mapping(one).get("kind") == kinds.SUBSCRIPTION[1]
    ]
    existing = {objects.metadata(one).get("uid") for one in seen.subscriptions}
    names = {kinds.package_named_in(name) for name in kinds.plan_csvs(plan)}
    return (
        bool(owners)
        and names == {package}
        and all(one.get("uid") not in existing for one in owners)
    )


async def leases(
    reader: ClusterObjects, namespace: str, csvs: Iterable[Manifest]
) -> list[Manifest]:
    """Return the leader election locks of the CSVs' pods."""
    listed = list(csvs)
    names = [name for csv in listed for name in kinds.deployment_names(csv)]
    specs = [spec for csv in listed for spec in kinds.pod_specs(csv)]
    return await find_leases(reader, namespace, names, released=election_ids(specs))


async def find_for_operator(reader: ClusterObjects, package: str, namespace: str) -> list[Manifest]:
    """Return existing objects in OLM's Operator object, without CRDs and CSVs."""
    name = kinds.operator_name(package, namespace)
    listed = await or_default(reader.find(kinds.OPERATOR, name), None)
    refs = sequence(mapping(kinds.status(listed).get("components")).get("refs"))
    found = []
    for ref in map(mapping, refs):
        kind = text(ref.get("apiVersion")), text(ref.get("kind"))
        place = text(ref.get("namespace"))
        if kind[1] not in _PARTS or place not in ("", namespace):
            continue
        question = reader.find(kind, text(ref.get("name")), place)
        found.append(await or_default(question, None))
    return [one for one in found if one is not None]


async def _find_for_csvs(
    reader: ClusterObjects, namespace: str, names: set[str], plans: list[Manifest]
) -> list[Manifest]:
    if not names:
        return []
    alone = names - {
        objects.name(csv)
        for csv in await reader.list(kinds.CSV)
        if not kinds.is_copy(csv) and objects.namespace(csv) != namespace
    }
    labelled = [
        one
        for kind in _KINDS
        for name in sorted(alone)
        for one in await reader.list(kind, labels=f"{_OWNER}={name}")
        if f"{_OWNER}.namespace" not in objects.labels_of(one)
    ]
    planned = []
    for kind, name, is_created in sorted(
        {one for plan in plans for one in _list_steps(plan, alone)}
    ):
        found = await reader.find(kind, name)
        labels = objects.labels_of(found)
        if found is not None and _OWNER not in labels and (is_created or _MANAGED in labels):
            planned.append(found)
    return labelled + planned


def _list_steps(plan: Manifest, csvs: set[str]) -> Iterator[tuple[Kind, str, bool]]:
    """Yield kind and name of each object in a plan's steps, and whether it was created."""
    for one in sequence(kinds.status(plan).get("plan")):
        step = mapping(one)
        resource = mapping(step.get("resource"))
        group, version = text(resource.get("group")), text(resource.get("version"))
        kind = (f"{group}/{version}", text(resource.get("kind")))
        if kind in _KINDS and text(step.get("resolving")) in csvs:
            yield kind, text(resource.get("name")), step.get("status") == "Created"
