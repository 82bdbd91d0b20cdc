"""Group manifests by their part in a bundle.

The same kind has a different meaning in a bundle than in a cluster: a Deployment becomes part of
the CSV, a custom resource an example, a webhook configuration a description. Here each object is
only assigned to its bucket; nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from olmkit.base import findings
from olmkit.base.diagnostics import Diagnostic
from olmkit.base.documents import Document, Key
from olmkit.bundle.generation.findings import refusal
from olmkit.bundle.model import BundleObject, CustomResourceDefinition
from olmkit.kube import objects

RBAC_GROUP = "rbac.authorization.k8s.io"
_R = TypeVar("_R", bound=BundleObject)
ADMISSION_GROUP = "admissionregistration.k8s.io"
SCORECARD_GROUP = "scorecard.operatorframework.io"


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedWebhook:
    """One entry of a webhook configuration; `source` and `keys` are its place."""

    value: dict[str, Any]
    mutating: bool
    source: BundleObject
    keys: tuple[Key, ...]


@dataclass(slots=True, kw_only=True)
class CollectedObjects:
    """Objects by their part in a bundle, each bucket in input order."""

    csvs: list[BundleObject] = field(default_factory=list)
    deployments: list[BundleObject] = field(default_factory=list)
    roles: list[BundleObject] = field(default_factory=list)
    cluster_roles: list[BundleObject] = field(default_factory=list)
    role_bindings: list[BundleObject] = field(default_factory=list)
    cluster_role_bindings: list[BundleObject] = field(default_factory=list)
    service_accounts: list[BundleObject] = field(default_factory=list)
    services: list[BundleObject] = field(default_factory=list)
    crds: list[CustomResourceDefinition] = field(default_factory=list)
    webhooks: list[CollectedWebhook] = field(default_factory=list)
    scorecards: list[BundleObject] = field(default_factory=list)
    custom_resources: list[BundleObject] = field(default_factory=list)
    others: list[BundleObject] = field(default_factory=list)
    findings: list[Diagnostic] = field(default_factory=list)


def collect(documents: Iterable[Document]) -> CollectedObjects:
    """Return the objects in their buckets.

    Raises `InputError` that names every object that cannot be used.
    """
    collection = CollectedObjects()
    errors: list[Diagnostic] = []
    for resource in _resources(documents, collection.findings):
        problem = _problem(resource)
        if problem:
            errors.append(problem)
        else:
            _sort_in(resource, collection)
    errors += _scorecard_problems(collection)
    if errors:
        first = errors[0]
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        error = refusal(f"{first.message}{more}", at=first.at, hint=first.hint)
        error.diagnostics = tuple(errors)
        raise error
    _split_custom_resources(collection)
    return collection


def subject(resource: BundleObject) -> str:
    """Return `Kind name`, as findings name an object."""
    return f"{resource.kind} {resource.name}".strip()


def served_versions(crd: CustomResourceDefinition) -> Iterator[str]:
    """Yield the names of the served versions, in the order of the definition."""
    for version in crd.versions:
        if version.get("served") is True:
            yield objects.text(version.get("name"))


def _resources(documents: Iterable[Document], notes: list[Diagnostic]) -> Iterator[BundleObject]:
    for document in documents:
        value = document.value
        if value is None:
            continue
        if not isinstance(value, dict):
            notes.append(
                findings.create(
                    "PRJ104", "the document is not a Kubernetes object", at=document.at()
                )
            )
        elif _is_list(value):
            yield from _resources(_items(document), notes)
        elif not objects.kind(value) or not objects.text(value.get("apiVersion")):
            missing = "kind" if not objects.kind(value) else "apiVersion"
            notes.append(
                findings.create(
                    "PRJ104",
                    f"the document has no `{missing}` and is left out",
                    at=document.at(),
                    hint=f"write its `{missing}`, or remove the document",
                )
            )
        else:
            yield BundleObject(document)


def _is_list(value: dict[str, Any]) -> bool:
    return (
        objects.kind(value).endswith("List")
        and isinstance(value.get("items"), list)
        and "spec" not in value
    )


def _items(document: Document) -> Iterator[Document]:
    kind = objects.kind(document.value)
    for index, item in enumerate(document.value["items"]):
        if isinstance(item, dict) and kind != "List":
            # The items of a typed list need not repeat the type of the list.
            item = {
                "apiVersion": document.value.get("apiVersion"),
                "kind": kind.removesuffix("List"),
                **item,
            }
        yield document.derived(item, "items", index)


def _problem(resource: BundleObject) -> Diagnostic | None:
    metadata = resource.value.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        return findings.create("PRJ101", "`metadata` must be a mapping", at=resource.at("metadata"))
    if not resource.name:
        hint = "write `metadata.name`"
        if resource.metadata.get("generateName"):
            hint += "; a bundle cannot contain generated names"
        return findings.create(
            "PRJ101",
            f"the `{resource.kind}` has no name",
            at=resource.at("metadata"),
            hint=hint,
        )
    if resource.kind == "CustomResourceDefinition" and resource.gvk.version not in (
        "v1",
        "v1beta1",
    ):
        return findings.create(
            "PRJ101",
            f'unrecognized CustomResourceDefinition version "{resource.gvk.version}"',
            at=resource.at("apiVersion"),
            hint="write `apiVersion: apiextensions.k8s.io/v1`",
        )
    return None


def _scorecard_problems(collection: CollectedObjects) -> Iterator[Diagnostic]:
    for extra in collection.scorecards[1:]:
        yield findings.create(
            "PRJ101",
            "duplicate scorecard configurations in collector input",
            at=extra.at("metadata", "name"),
            hint="a bundle has one scorecard configuration: keep one",
        )


def _sort_in(resource: BundleObject, collection: CollectedObjects) -> None:
    match (resource.gvk.group, resource.kind):
        case ("operators.coreos.com", "ClusterServiceVersion"):
            collection.csvs.append(resource)
        case ("apps", "Deployment"):
            _add_once(collection.deployments, resource)
        case (group, "Role") if group == RBAC_GROUP:
            _add_once(collection.roles, resource)
        case (group, "ClusterRole") if group == RBAC_GROUP:
            _add_once(collection.cluster_roles, resource)
        case (group, "RoleBinding") if group == RBAC_GROUP:
            collection.role_bindings.append(resource)
        case (group, "ClusterRoleBinding") if group == RBAC_GROUP:
            collection.cluster_role_bindings.append(resource)
        case ("", "ServiceAccount"):
            collection.service_accounts.append(resource)
        case ("", "Service"):
            collection.services.append(resource)
        case ("apiextensions.k8s.io", "CustomResourceDefinition"):
            _add_once(collection.crds, CustomResourceDefinition(resource.document))
        case (group, "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration") if (
            group == ADMISSION_GROUP
        ):
            _add_webhooks(collection, resource)
        case (group, "Configuration") if group == SCORECARD_GROUP:
            collection.scorecards.append(resource)
        case _:
            _add_once(collection.others, resource)


def _add_once(bucket: list[_R], resource: _R) -> None:
    if all(resource.value != other.value for other in bucket):
        bucket.append(resource)


def _add_webhooks(collection: CollectedObjects, resource: BundleObject) -> None:
    mutating = resource.kind == "MutatingWebhookConfiguration"
    for index, value in enumerate(objects.sequence(resource.value.get("webhooks"))):
        webhook = CollectedWebhook(
            value=dict(objects.mapping(value)),
            mutating=mutating,
            source=resource,
            keys=("webhooks", index),
        )
        if all(
            webhook.value != other.value or webhook.mutating != other.mutating
            for other in collection.webhooks
        ):
            collection.webhooks.append(webhook)


def _split_custom_resources(collection: CollectedObjects) -> None:
    served = {
        (crd.group, version, crd.defined_kind)
        for crd in collection.crds
        for version in served_versions(crd)
    }
    others, collection.others = collection.others, []
    for resource in others:
        gvk = resource.gvk
        if (gvk.group, gvk.version, gvk.kind) in served:
            collection.custom_resources.append(resource)
        else:
            collection.others.append(resource)
