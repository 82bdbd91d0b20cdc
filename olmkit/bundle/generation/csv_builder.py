"""Build the CSV of a bundle from the collected objects and a base."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olmkit.base import findings, names
from olmkit.base.diagnostics import ConfigurationError, Diagnostic
from olmkit.bundle.generation import (
    base_csv,
    bundle_objects,
    collect,
    images,
    rbac,
    serialise,
    webhooks,
)
from olmkit.bundle.generation.collect import CollectedObjects
from olmkit.bundle.generation.findings import refusal
from olmkit.bundle.generation.generate_request import GenerateRequest
from olmkit.bundle.generation.origins import BASE, Origin, Origins
from olmkit.bundle.generation.rbac import AccountAccess, ServiceAccountRules
from olmkit.bundle.model import (
    BundleObject,
    ClusterServiceVersion,
)
from olmkit.kube import objects
from olmkit.kube.objects import Manifest

BUILDER = "operators.operatorframework.io/builder"
PROJECT_LAYOUT = "operators.operatorframework.io/project_layout"
CREATED_AT = "createdAt"
EXAMPLES = "alm-examples"


@dataclass(slots=True, kw_only=True)
class CsvBuilder:
    """One run: collects findings and origins while it builds the CSV."""

    request: GenerateRequest
    collection: CollectedObjects
    notes: list[Diagnostic]
    origins: Origins = field(default_factory=Origins)
    access: AccountAccess | None = None

    def csv(self, base: ClusterServiceVersion | None) -> Manifest:
        csv = self._start(base)
        self._identify(csv, base)
        self._set_related_images(csv, base)
        self._install(csv, base)
        self._set_owned_apis(csv, base)
        self._set_examples(csv, base)
        self._describe_webhooks(csv, base)
        self._set_builder(csv)
        return csv

    def pinned(self, csv: Manifest, digests: Mapping[str, str] | None) -> Manifest:
        """Return the CSV as it is written, with pinned images if there are digests."""
        if digests is not None:
            csv = images.pin(csv, digests)
            self.origins.add("spec.relatedImages", "every image of the CSV")
        return serialise.csv_manifest(csv)

    def _note(self, code: str, message: str, **more: Any) -> None:
        self.notes.append(findings.create(code, message, **more))

    def _start(self, base: ClusterServiceVersion | None) -> Manifest:
        if base is None:
            if not self.request.version:
                raise ConfigurationError(
                    "the bundle has no version: no base ClusterServiceVersion sets one",
                    hint="pass `--version`",
                )
            csv = base_csv.default(self.request.package)
            self.origins.add_defaults(csv["spec"])
            return csv
        csv = copy.deepcopy(serialise.read_type(base, "ClusterServiceVersion"))
        csv["kind"], csv["apiVersion"] = base.kind, base.api_version
        self.origins.add_base(base)
        return dict(csv)

    def _identify(self, csv: Manifest, base: ClusterServiceVersion | None) -> None:
        version = self.request.version
        if version:
            csv["metadata"]["name"] = f"{self.request.package}.v{version}"
            csv["spec"]["version"] = version
            self.origins.add("metadata.name", f"package and {self.request.version_from}")
            self.origins.add("spec.version", self.request.version_from)
        elif base is not None and not base.version:
            raise refusal(
                "the bundle has no version: the base ClusterServiceVersion sets none",
                at=base.at("spec"),
                hint="pass `--version`, or write `spec.version`",
            )
        name = csv["metadata"]["name"]
        if not names.is_subdomain(name):
            raise refusal(
                f'metadata.name "{name}" is invalid',
                at=base.at("metadata", "name") if base and not version else None,
                hint="use lower-case letters, digits, `-` and `.` only; "
                "the name is built from package and version",
            )

    def _set_related_images(self, csv: Manifest, base: ClusterServiceVersion | None) -> None:
        found = images.find_related(self.collection.deployments, self.notes.append)
        entries = [{"name": item.name, "image": item.image} for item in found]
        for item in found:
            self.origins.add("spec.relatedImages", f"variable of {item.image}", item.source)
        by_hand = base.related_images if base else ()
        for index, given in enumerate(by_hand):
            if all(given.get("image") != entry.get("image") for entry in entries):
                entries.append(dict(given))
                at = base.at("spec", "relatedImages", index) if base else None
                self.origins.found.append(
                    Origin(field="spec.relatedImages", source=f"{BASE}, by hand", at=at)
                )
        csv["spec"]["relatedImages"] = entries

    def _install(self, csv: Manifest, base: ClusterServiceVersion | None) -> None:
        install = csv["spec"].setdefault("install", {})
        if install.get("strategy") not in ("", None, "deployment"):
            return
        install["strategy"] = "deployment"
        spec = install.get("spec") or {}
        install["spec"] = spec
        for binding in (*self.collection.role_bindings, *self.collection.cluster_role_bindings):
            serialise.read_type(binding, binding.kind)  # otherwise it would be skipped
        self.access = rbac.divide(self.collection, self.request.extra_service_accounts)
        self.notes.extend(self.access.findings)
        if not self.collection.deployments:
            self._without_deployment(spec, base)
            if spec.get("deployments"):
                return
        self._report_replaced(
            base,
            ("install", "spec", "deployments"),
            [deployment.name for deployment in self.collection.deployments],
            "name",
        )
        spec["deployments"] = [self._deployment(item) for item in self.collection.deployments]
        for key, permissions in (
            ("permissions", self.access.permissions),
            ("clusterPermissions", self.access.cluster_permissions),
        ):
            self._report_replaced(
                base,
                ("install", "spec", key),
                [item.service_account for item in permissions],
                "serviceAccountName",
            )
            spec[key] = [self._permission(key, item) for item in permissions]

    def _without_deployment(
        self, spec: Mapping[str, Any], base: ClusterServiceVersion | None
    ) -> None:
        at = base.at("spec", "install", "spec") if base else None
        hint = (
            "add the rendered manager to the input, as `kustomize build config/manifests` prints it"
        )
        if spec.get("deployments") is None:
            raise refusal(
                "the input has no Deployment, so OLM would have nothing to run",
                at=at,
                hint=f"{hint}; or write `deployments: []` into the base CSV if nothing is to run",
            )
        self._note(
            "PRJ116",
            "the input has no Deployment, so the Deployment of the base CSV is kept"
            if spec["deployments"]
            else "the input has no Deployment, and the base CSV has an empty list of Deployments",
            at=at,
            hint=hint,
        )

    def _deployment(self, deployment: BundleObject) -> Manifest:
        spec = serialise.read_type(deployment, "DeploymentSpec", "spec")
        for container in objects.sequence(objects.mapping(spec["template"])["spec"]["containers"]):
            for index, variable in enumerate(container.get("env", [])):
                if variable.get("name") == "WATCH_NAMESPACE":
                    container["env"][index] = copy.deepcopy(_WATCH_NAMESPACE)
        for key in ("annotations", "finalizers", "ownerReferences"):
            if objects.metadata(deployment.value).get(key):
                self._note(
                    "PRJ112",
                    f"a CSV cannot contain the {key} of a Deployment",
                    at=deployment.at_key("metadata", key),
                    subject=collect.subject(deployment),
                    hint="set them on the pod template, or remove them"
                    if key == "annotations"
                    else "remove them: OLM sets these itself",
                )
        self.origins.add("spec.install.spec.deployments", collect.subject(deployment), deployment)
        labels = dict(deployment.labels)
        return {"name": deployment.name, "spec": spec} | ({"label": labels} if labels else {})

    def _permission(self, key: str, permission: ServiceAccountRules) -> Manifest:
        for source in permission.sources:
            self.origins.add(
                f"spec.install.spec.{key} of {permission.service_account}",
                collect.subject(source),
                source,
            )
            serialise.read_type(source, source.kind)
        return {
            "serviceAccountName": permission.service_account,
            "rules": copy.deepcopy(list(permission.rules)),
        }

    def _set_owned_apis(self, csv: Manifest, base: ClusterServiceVersion | None) -> None:
        described: dict[tuple[str, str, str], Mapping[str, Any]] = {}
        for item in base.owned_crds if base else ():
            described.setdefault((item.name, item.gvk.version, item.gvk.kind), item.value)
        owned = []
        served: set[tuple[str, str, str]] = set()
        for crd in bundle_objects.in_order(self.collection.crds):
            for version in collect.served_versions(crd):
                key = (crd.name, version, crd.defined_kind)
                self.origins.add(
                    f"spec.customresourcedefinitions.owned {crd.defined_kind} {version}",
                    collect.subject(crd)
                    + (f", descriptions of the {BASE}" if key in described else ""),
                    crd,
                )
                bare = {"name": crd.name, "version": version, "kind": crd.defined_kind}
                owned.append(copy.deepcopy(dict(described.get(key, bare))))
                served.add(key)
        for item in base.owned_crds if base else ():
            if (item.name, item.gvk.version, item.gvk.kind) not in served and base:
                self._note(
                    "PRJ106",
                    f"`{item.name}` {item.gvk.version} is described as owned, "
                    "but no CRD of the input serves it",
                    at=base.at(*item.keys),
                    hint="add its CRD to the input, or remove the description",
                )
        definitions = csv["spec"].setdefault("customresourcedefinitions", {})
        definitions["owned"] = owned

    def _set_examples(self, csv: Manifest, base: ClusterServiceVersion | None) -> None:
        annotations = csv["metadata"].setdefault("annotations", {})
        old = serialise.parse_examples(annotations.get(EXAMPLES, ""))
        samples = [dict(item.value) for item in self.collection.custom_resources]
        for item in self.collection.custom_resources:
            self.origins.add(f"metadata.annotations.{EXAMPLES}", collect.subject(item), item)
        if not samples and old:
            return
        keys = {objects.key(item) for item in samples}
        lost = [item for item in old if objects.key(item) not in keys]
        if lost and base:
            kinds = ", ".join(f"`{objects.kind(item) or '?'}`" for item in lost)
            self._note(
                "PRJ106",
                f"the samples of the input replace the examples of the base CSV: {kinds}",
                at=base.at("metadata", "annotations", EXAMPLES),
                hint="keep samples in `config/samples`, or write `[]` into the base",
            )
        annotations[EXAMPLES] = serialise.examples(samples)

    def _describe_webhooks(self, csv: Manifest, base: ClusterServiceVersion | None) -> None:
        definitions = webhooks.define(self.collection, self.notes.append)
        for item in definitions:
            name = item.value["generateName"]
            for source in item.sources:
                self.origins.add(f"spec.webhookdefinitions {name}", collect.subject(source), source)
        self._report_replaced(
            base,
            ("webhookdefinitions",),
            [item.value["generateName"] for item in definitions],
            "generateName",
        )
        csv["spec"]["webhookdefinitions"] = [dict(item.value) for item in definitions]

    def _report_replaced(
        self,
        base: ClusterServiceVersion | None,
        keys: Sequence[str],
        computed: Sequence[str],
        name_key: str,
    ) -> None:
        """Report entries of the base's list under `keys` that no manifest provides."""
        if base is None:
            return
        for index, item in enumerate(objects.sequence(base.document.get("spec", *keys))):
            name = objects.text(objects.mapping(item).get(name_key))
            if name not in computed:
                self._note(
                    "PRJ106",
                    f"`{name}` of the base CSV is replaced by the manifests of the input",
                    at=base.at("spec", *keys, index),
                    hint="write it as a manifest, or remove it from the base",
                )

    def _set_builder(self, csv: Manifest) -> None:
        annotations = csv["metadata"]["annotations"]
        annotations[BUILDER] = self.request.builder
        annotations[PROJECT_LAYOUT] = self.request.project_layout
        self.origins.add(f"metadata.annotations.{BUILDER}", "olmkit's version")
        self.origins.add(f"metadata.annotations.{PROJECT_LAYOUT}", "the PROJECT file")

    def date(
        self,
        csv: Manifest,
        base: ClusterServiceVersion | None,
        previous: Mapping[str, Any],
    ) -> None:
        annotations = csv["metadata"]["annotations"]
        written = objects.annotations_of(previous).get(CREATED_AT, "")
        by_hand = base.annotations.get(CREATED_AT, "") if base else ""
        unchanged = _remove_date(previous) == _remove_date(csv)
        if written and unchanged:
            annotations[CREATED_AT] = written
            self.origins.add(
                f"metadata.annotations.{CREATED_AT}", "the last run: nothing has changed"
            )
        elif self.request.created_at:
            annotations[CREATED_AT] = self.request.created_at
            self.origins.add(f"metadata.annotations.{CREATED_AT}", "`SOURCE_DATE_EPOCH`")
        elif not by_hand and written:
            annotations[CREATED_AT] = written
            self.origins.add(f"metadata.annotations.{CREATED_AT}", "the last run")


_WATCH_NAMESPACE: Manifest = {
    "name": "WATCH_NAMESPACE",
    "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['olm.targetNamespaces']"}},
}


def _remove_date(csv: Mapping[str, Any]) -> Manifest:
    result = copy.deepcopy(dict(csv))
    metadata = result.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(annotations, dict):
        annotations.pop(CREATED_AT, None)
    return result
