"""Generate the files of a bundle from manifests and a base CSV.

The author's data in the base is kept; data that follows from the manifests is computed again on
every run: permissions, deployments, owned APIs, webhooks, examples. Nothing is removed without a
finding, and no clock is read, so the same input gives the same bytes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olmkit.base import findings, names
from olmkit.base.diagnostics import ConfigurationError, Diagnostic, InputError, Location
from olmkit.base.documents import Document
from olmkit.base.versions import Version
from olmkit.bundle.generation import base_csv, collect, images, rbac, serialise, webhooks
from olmkit.bundle.generation.collect import CollectedObjects
from olmkit.bundle.generation.findings import refusal
from olmkit.bundle.generation.rbac import AccountAccess, ServiceAccountRules
from olmkit.bundle.generation.supported_kinds import REPLACED_BY_OLM, SUPPORTED
from olmkit.bundle.model import (
    CERT_MANAGER_INJECTION,
    BundleObject,
    ClusterServiceVersion,
    CustomResourceDefinition,
)
from olmkit.kube import objects
from olmkit.kube.objects import Manifest

BUILDER = "operators.operatorframework.io/builder"
PROJECT_LAYOUT = "operators.operatorframework.io/project_layout"
CREATED_AT = "createdAt"
EXAMPLES = "alm-examples"
SCORECARD_FILE = "tests/scorecard/config.yaml"

_BASE, _DEFAULT = "base CSV", "default"
# The values of these fields in the base are replaced, or are reported in parts.
_COMPUTED = frozenset(
    {
        ("metadata", "annotations"),
        ("spec", "customresourcedefinitions"),
        ("spec", "install"),
        ("spec", "relatedImages"),
        ("spec", "webhookdefinitions"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateRequest:
    """The user's request, and facts of the project.

    With an empty `version`, that of the base is used. `created_at` is the time to write; if empty,
    that of the base or of the existing CSV is used.
    """

    package: str
    builder: str
    project_layout: str = "unknown"
    version: str = ""
    version_from: str = "`--version`"
    extra_service_accounts: tuple[str, ...] = ()
    created_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The origin of a field of the CSV."""

    field: str
    source: str
    at: Location | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedBundle:
    """The manifests of a bundle by file name, and findings."""

    csv: Manifest
    csv_file: str
    objects: Mapping[str, Manifest]
    scorecard: Manifest | None
    findings: tuple[Diagnostic, ...]
    origins: tuple[Origin, ...]

    def files(self) -> dict[str, bytes]:
        """Return path in the bundle → bytes, for manifests and the scorecard's configuration."""
        result = {f"manifests/{self.csv_file}": serialise.yaml(self.csv)}
        for name, manifest in self.objects.items():
            result[f"manifests/{name}"] = serialise.yaml(manifest)
        if self.scorecard is not None:
            result[SCORECARD_FILE] = serialise.yaml(self.scorecard)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleDraft:
    """A bundle whose images are as the input names them, and whose CSV has no time yet."""

    csv: Manifest
    base: ClusterServiceVersion | None
    builder: _CsvBuilder

    def unpinned(self) -> tuple[str, ...]:
        """Return the images of the CSV without a digest."""
        found = images.pullspecs(serialise.csv_manifest(self.csv))
        return tuple(dict.fromkeys(item.image for item in found if "@" not in item.image))


def generate(
    request: GenerateRequest,
    inputs: Iterable[Document],
    *,
    stored_base: Document | None = None,
    previous: Mapping[str, Any] | None = None,
) -> GeneratedBundle:
    """Return the objects of a bundle.

    `stored_base` is the project's base CSV, used if the input has none; `previous` is the CSV of an
    earlier run. Raises `InputError` if the input does not form a bundle, and `ConfigurationError`
    for an invalid version.
    """
    return finish(draft(request, inputs, stored_base=stored_base), previous=previous)


def draft(
    request: GenerateRequest, inputs: Iterable[Document], *, stored_base: Document | None = None
) -> BundleDraft:
    """Return a bundle without the digests of its images. Raises like `generate`."""
    check_version(request.version)
    collection = collect.collect(inputs)
    builder = _CsvBuilder(request=request, collection=collection, notes=list(collection.findings))
    base = base_csv.choose(request.package, collection.csvs, stored_base, builder.notes.append)
    return BundleDraft(csv=builder.csv(base), base=base, builder=builder)


def finish(
    made: BundleDraft,
    *,
    digests: Mapping[str, str] | None = None,
    previous: Mapping[str, Any] | None = None,
) -> GeneratedBundle:
    """Return the bundle of a draft; `digests` pins and relates every image of its CSV.

    Call this once for a draft.
    """
    builder = made.builder
    csv = builder.pinned(made.csv, digests)
    builder.date(csv, made.base, previous or {})
    builder.report_dropped()
    builder.note_certificates()
    return GeneratedBundle(
        csv=csv,
        csv_file=f"{builder.request.package.lower()}.clusterserviceversion.yaml",
        objects=dict(_name_files(builder.written(), builder.notes.append)),
        scorecard=next((serialise.manifest(item) for item in builder.collection.scorecards), None),
        findings=tuple(sorted(builder.notes, key=Diagnostic.sort_key)),
        origins=tuple(builder.origins),
    )


def check_version(version: str) -> None:
    """Raise `ConfigurationError` unless `version` is empty or a version that a bundle can have."""
    if not version:
        return
    hint = "a version is MAJOR.MINOR.PATCH with an optional `-pre.release`, such as `1.2.3-rc.1`"
    try:
        parsed = Version.parse(version)
    except InputError as error:
        if _is_version(version.removeprefix("v")):
            hint = f"pass `--version {version.removeprefix('v')}`"
        reason = error.message.partition(": ")[2] or error.message
        raise ConfigurationError(
            f"{version} is not a valid semantic version: {reason}", hint=hint
        ) from None
    if parsed.build:
        raise ConfigurationError(
            f"{version} is not a version that a bundle can have: a build part after `+` cannot "
            "be part of an object's name",
            hint=f"pass `--version {parsed.without_build}`",
        )


def _is_version(text: str) -> bool:
    try:
        Version.parse(text)
    except InputError:
        return False
    return True


@dataclass(slots=True, kw_only=True)
class _CsvBuilder:
    """One run: collects findings and origins while it builds the CSV."""

    request: GenerateRequest
    collection: CollectedObjects
    notes: list[Diagnostic]
    origins: list[Origin] = field(default_factory=list)
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
            self._from("spec.relatedImages", "every image of the CSV")
        return serialise.csv_manifest(csv)

    def _note(self, code: str, message: str, **more: Any) -> None:
        self.notes.append(findings.create(code, message, **more))

    def _from(self, path: str, source: str, resource: BundleObject | None = None) -> None:
        """A field comes from here, and not from the base; several objects may make one field."""
        at = resource.at() if resource is not None else None
        self.origins = [
            origin
            for origin in self.origins
            if origin.field != path or origin.source not in (_BASE, _DEFAULT)
        ]
        self.origins.append(Origin(field=path, source=source, at=at))

    def _from_base(self, base: ClusterServiceVersion) -> None:
        keys: list[tuple[str, ...]] = [("metadata", key) for key in base.metadata]
        keys += [("metadata", "annotations", key) for key in base.annotations]
        keys += [("spec", key) for key in base.spec]
        for path in keys:
            if path not in _COMPUTED:
                self.origins.append(
                    Origin(field=".".join(path), source=_BASE, at=base.at_key(*path))
                )

    def _start(self, base: ClusterServiceVersion | None) -> Manifest:
        if base is None:
            if not self.request.version:
                raise ConfigurationError(
                    "the bundle has no version: no base ClusterServiceVersion sets one",
                    hint="pass `--version`",
                )
            csv = base_csv.default(self.request.package)
            self.origins.extend(Origin(field=f"spec.{key}", source=_DEFAULT) for key in csv["spec"])
            return csv
        csv = copy.deepcopy(serialise.read_type(base, "ClusterServiceVersion"))
        csv["kind"], csv["apiVersion"] = base.kind, base.api_version
        self._from_base(base)
        return dict(csv)

    def _identify(self, csv: Manifest, base: ClusterServiceVersion | None) -> None:
        version = self.request.version
        if version:
            csv["metadata"]["name"] = f"{self.request.package}.v{version}"
            csv["spec"]["version"] = version
            self._from("metadata.name", f"package and {self.request.version_from}")
            self._from("spec.version", self.request.version_from)
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
            self._from("spec.relatedImages", f"variable of {item.image}", item.source)
        by_hand = base.related_images if base else ()
        for index, given in enumerate(by_hand):
            if all(given.get("image") != entry.get("image") for entry in entries):
                entries.append(dict(given))
                at = base.at("spec", "relatedImages", index) if base else None
                source = f"{_BASE}, by hand"
                self.origins.append(Origin(field="spec.relatedImages", source=source, at=at))
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
        self._from("spec.install.spec.deployments", collect.subject(deployment), deployment)
        labels = dict(deployment.labels)
        return {"name": deployment.name, "spec": spec} | ({"label": labels} if labels else {})

    def _permission(self, key: str, permission: ServiceAccountRules) -> Manifest:
        for source in permission.sources:
            self._from(
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
        for crd in _crds(self.collection.crds):
            for version in collect.served_versions(crd):
                key = (crd.name, version, crd.defined_kind)
                self._from(
                    f"spec.customresourcedefinitions.owned {crd.defined_kind} {version}",
                    collect.subject(crd)
                    + (f", descriptions of the {_BASE}" if key in described else ""),
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
            self._from(f"metadata.annotations.{EXAMPLES}", collect.subject(item), item)
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
                self._from(f"spec.webhookdefinitions {name}", collect.subject(source), source)
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
        self._from(f"metadata.annotations.{BUILDER}", "olmkit's version")
        self._from(f"metadata.annotations.{PROJECT_LAYOUT}", "the PROJECT file")

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
            self._from(f"metadata.annotations.{CREATED_AT}", "the last run: nothing has changed")
        elif self.request.created_at:
            annotations[CREATED_AT] = self.request.created_at
            self._from(f"metadata.annotations.{CREATED_AT}", "`SOURCE_DATE_EPOCH`")
        elif not by_hand and written:
            annotations[CREATED_AT] = written
            self._from(f"metadata.annotations.{CREATED_AT}", "the last run")

    def written(self) -> Iterator[Manifest]:
        """Yield the objects that become separate files, in the order of their names."""
        yield from map(serialise.manifest, _crds(self.collection.crds))
        yield from map(serialise.manifest, self.collection.services)
        for other in self.collection.others:
            if other.kind in SUPPORTED:
                yield serialise.manifest(other)
        if self.access is not None:
            yield from map(serialise.manifest, self.access.leftover)

    def report_dropped(self) -> None:
        groups = {(crd.group, crd.defined_kind) for crd in self.collection.crds}
        for other in self.collection.others:
            if other.kind in SUPPORTED:
                continue
            gvk = other.gvk
            reason = REPLACED_BY_OLM.get((gvk.group, gvk.kind))
            where: dict[str, Any] = {"at": other.at("kind"), "subject": collect.subject(other)}
            if reason is not None:
                self._note("PRJ103", f"a bundle needs no `{other.kind}`", hint=reason, **where)
            elif (gvk.group, gvk.kind) in groups:
                self._note(
                    "PRJ114",
                    f"the sample `{other.name}` is of version `{gvk.version}`, "
                    "which its CRD does not serve, so it does not become an example",
                    hint="write the sample in a served version",
                    **where,
                )
            else:
                self._note(
                    "PRJ102",
                    f"a bundle cannot hold the kind `{other.kind}`, so `{other.name}` is left out",
                    hint="let the operator create it, or install it separately from the bundle",
                    **where,
                )

    def note_certificates(self) -> None:
        """Report annotations of CRDs with which cert-manager and OLM would overwrite each other."""
        for crd in self.collection.crds:
            for key in crd.annotations if crd.converts_by_webhook else ():
                if key.startswith(CERT_MANAGER_INJECTION):
                    self._note(
                        "PRJ119",
                        f"OLM sets the CA of the conversion webhook, and `{key}` makes "
                        "cert-manager overwrite it",
                        at=crd.at_key("metadata", "annotations", key),
                        subject=collect.subject(crd),
                        hint="remove the annotation from `config/manifests`",
                    )


_WATCH_NAMESPACE: Manifest = {
    "name": "WATCH_NAMESPACE",
    "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['olm.targetNamespaces']"}},
}


def _crds(crds: Iterable[CustomResourceDefinition]) -> Iterator[CustomResourceDefinition]:
    """Return the CRDs, version v1 first, in the order that users know."""
    yield from sorted(crds, key=lambda crd: crd.gvk.version != "v1")


def _name_files(
    manifests: Iterable[Manifest], note: Callable[[Diagnostic], None]
) -> Iterator[tuple[str, Manifest]]:
    taken: set[str] = set()
    duplicates = 0
    for manifest in manifests:
        name = file_name(manifest)
        if name in taken:
            note(_same_name(manifest))
            name = f"dup{duplicates}_{name}"
            duplicates += 1
        taken.add(name)
        yield name, manifest


def _same_name(manifest: Manifest) -> Diagnostic:
    kind, name = objects.kind(manifest), objects.name(manifest)
    return findings.create(
        "PRJ111",
        f"there are several objects of kind `{kind}` with the name `{name}`, "
        "and in a bundle all objects have the same namespace",
        subject=f"{kind} {name}",
        hint="give them different names",
    )


def file_name(manifest: Manifest) -> str:
    """Return the name of an object's file in a bundle."""
    api = objects.gvk(manifest)
    if api.kind == "CustomResourceDefinition":
        spec = objects.mapping(manifest.get("spec"))
        group = objects.text(spec.get("group"))
        plural = objects.text(objects.mapping(spec.get("names")).get("plural"))
        if group and plural:
            return _safe(f"{group}_{plural}.yaml")
    parts = [objects.name(manifest), api.group, api.version, api.kind.lower()]
    return _safe("_".join(part for part in parts if part) + ".yaml")


def _safe(name: str) -> str:
    return name.replace("/", "-").replace("\0", "-").lstrip(".")


def _remove_date(csv: Mapping[str, Any]) -> Manifest:
    result = copy.deepcopy(dict(csv))
    metadata = result.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(annotations, dict):
        annotations.pop(CREATED_AT, None)
    return result
