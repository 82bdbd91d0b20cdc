"""Rules about bundles that OLM v1 cannot install, or installs with other effects than OLM v0.

Source: operator-controller's converter of registry+v1 bundles. Problems that the default rules
already report (unsupported kinds, folders, missing CRDs, an unknown deployment of a webhook) are
not repeated.
"""

from __future__ import annotations

from collections.abc import Iterator

from olmkit.base import names
from olmkit.base.diagnostics import Related, Severity
from olmkit.base.documents import Key
from olmkit.bundle.model import Bundle
from olmkit.kube import objects as kube
from olmkit.rules import permissions
from olmkit.rules.engine import Finding, rule
from olmkit.rules.publishing import certification

SUITE = "olmv1"
_DEPENDENCIES = ("olm.package", "olm.gvk", "olm.constraint")
_REQUIREMENTS = ("olm.package.required", "olm.gvk.required", "olm.constraint")
_WEBHOOKS: tuple[Key, ...] = ("spec", "webhookdefinitions")
_ADMISSION = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
_READ = frozenset({"get", "list", "watch", "update", "patch", "create"})


@rule("EXT001", "dependency-unsupported", suite=SUITE)
def dependency_unsupported(bundle: Bundle) -> Iterator[Finding]:
    """The bundle requires another package or API.

    Why: OLM v1 does not resolve dependencies, and rejects such a bundle.

    Fix: remove the dependency, and document what users must install first.
    """
    for entry in bundle.dependencies:
        if entry.type in _DEPENDENCIES:
            yield Finding(
                f"OLM v1 does not resolve dependency `{entry.type}`",
                at=entry.at(),
                hint="remove it, and describe what users have to install first",
            )
    for entry in bundle.properties:
        if entry.type in _REQUIREMENTS:
            yield Finding(
                f"OLM v1 does not resolve property `{entry.type}`", at=entry.at(), hint="remove it"
            )
    csv = bundle.csv
    for api in (*csv.required_crds, *csv.required_api_services) if csv else ():
        if csv is not None:
            yield Finding(
                f"OLM v1 does not resolve the required API `{api.name}`",
                at=csv.at(*api.keys),
                hint="remove it from `required`, and describe what users have to install first",
            )


@rule("EXT002", "api-service-unsupported", suite=SUITE)
def api_service_unsupported(bundle: Bundle) -> Iterator[Finding]:
    """The CSV owns an API service.

    Why: OLM v1 does not install aggregated API servers.

    Fix: serve the API with a CRD.
    """
    csv = bundle.csv
    for api in csv.owned_api_services if csv else ():
        if csv is not None:
            yield Finding(
                f"OLM v1 does not install API service `{api.name}`",
                at=csv.at(*api.keys),
                hint="serve the API by a CRD",
            )


@rule("EXT003", "all-namespaces-unsupported", suite=SUITE)
def all_namespaces_unsupported(bundle: Bundle) -> Iterator[Finding]:
    """The operator cannot watch all namespaces.

    Why: OLM v1 installs an operator once for the whole cluster. The feature gate
    `SingleOwnNamespaceInstallSupport`, which is off by default, allows a single or own
    namespace. Several namespaces are not possible.

    Fix: support the install mode `AllNamespaces`.
    """
    csv = bundle.csv
    modes = {mode.type for mode in csv.install_modes if mode.supported} if csv else set()
    if csv is not None and "AllNamespaces" not in modes:
        gated = bool(modes & {"OwnNamespace", "SingleNamespace"})
        yield Finding(
            "install mode `AllNamespaces` is not supported",
            at=csv.at("spec", "installModes"),
            hint="support `AllNamespaces`, or enable `SingleOwnNamespaceInstallSupport` in OLM"
            if gated
            else "support `AllNamespaces`",
        )


@rule("EXT004", "webhook-certificate", severity=Severity.WARNING, suite=SUITE)
def webhook_certificate(bundle: Bundle) -> Iterator[Finding]:
    """The operator has webhooks, which need a certificate provider in OLM v1.

    Why: OLM v1 does not create certificates. It uses cert-manager or the service CA of
    OpenShift, and rejects the bundle if neither is installed.

    Fix: document that users must install cert-manager first.
    """
    csv = bundle.csv
    if csv is not None and csv.webhooks:
        yield Finding(
            "OLM v1 needs cert-manager or OpenShift's service CA for the webhooks",
            at=csv.at_key(*_WEBHOOKS),
            hint="tell users to install cert-manager first",
        )


@rule("EXT005", "conversion-shared", suite=SUITE)
def conversion_shared(bundle: Bundle) -> Iterator[Finding]:
    """Two conversion webhooks name the same CRD.

    Why: a CRD has one conversion webhook; OLM v1 rejects the bundle.

    Fix: name the CRD once.
    """
    csv = bundle.csv
    seen: dict[str, int] = {}
    for index, webhook in enumerate(csv.webhooks if csv else ()):
        for item in kube.sequence(webhook.get("conversionCRDs")):
            name = kube.scalar_text(item)
            first = seen.setdefault(name, index)
            if csv is not None and first != index:
                yield Finding(
                    f"two webhooks convert CRD `{name}`",
                    at=csv.at(*_WEBHOOKS, index, "conversionCRDs"),
                    hint="name it in one of them",
                    related=(Related(csv.at(*_WEBHOOKS, first, "conversionCRDs"), "also here"),),
                )


@rule("EXT006", "webhook-name-form", suite=SUITE)
def webhook_name_form(bundle: Bundle) -> Iterator[Finding]:
    """The name of a webhook or a deployment is not a DNS subdomain.

    Why: OLM v1 rejects the bundle.

    Fix: use lowercase letters, digits, `-` and `.`.
    """
    csv = bundle.csv
    if csv is None:
        return
    named = [
        (
            "webhook",
            kube.scalar_text(item.get("generateName")),
            (*_WEBHOOKS, index, "generateName"),
        )
        for index, item in enumerate(csv.webhooks)
    ]
    named += [
        (
            "deployment",
            kube.scalar_text(item.get("name")),
            ("spec", "install", "spec", "deployments", index, "name"),
        )
        for index, item in enumerate(csv.deployments)
    ]
    for noun, name, keys in named:
        if not names.is_subdomain(name):
            yield Finding(
                f"`{name}` is not a DNS subdomain, so it cannot name a {noun}", at=csv.at(*keys)
            )


@rule("EXT007", "webhook-scope", suite=SUITE)
def webhook_scope(bundle: Bundle) -> Iterator[Finding]:
    """A webhook intercepts all API groups, OLM itself, or the configuration of webhooks.

    Why: such a webhook can stop the whole cluster, so OLM v1 rejects the bundle.

    Fix: name the groups and resources that the operator owns.
    """
    csv = bundle.csv
    for index, webhook in enumerate(csv.webhooks if csv else ()):
        for position, item in enumerate(kube.sequence(webhook.get("rules"))):
            value = kube.mapping(item)
            groups = {kube.scalar_text(group) for group in kube.sequence(value.get("apiGroups"))}
            resources = {kube.scalar_text(word) for word in kube.sequence(value.get("resources"))}
            admission = "admissionregistration.k8s.io" in groups and bool(
                resources & {*_ADMISSION, "*", "*/*"}
            )
            problem = (
                "all API groups"
                if "*" in groups
                else "OLM's own objects"
                if "olm.operatorframework.io" in groups
                else "the configuration of webhooks"
                if admission
                else ""
            )
            if csv is not None and problem:
                yield Finding(
                    f"the webhook intercepts {problem}",
                    at=csv.at(*_WEBHOOKS, index, "rules", position),
                    hint="name the groups and resources that the operator owns",
                )


@rule("EXT008", "operator-condition", severity=Severity.WARNING, suite=SUITE)
def operator_condition(bundle: Bundle) -> Iterator[Finding]:
    """The operator uses an object that only OLM v0 creates.

    Why: OLM v1 creates neither the OperatorCondition of an operator nor its CSV, so reads
    and writes of these objects fail.

    Fix: let the operator work without the object, and remove the permission.
    """
    for permission in permissions.csv_rules(bundle):
        for resource, noun in (
            ("operatorconditions", "OperatorCondition"),
            ("clusterserviceversions", "ClusterServiceVersion"),
        ):
            if (
                "operators.coreos.com" in permission.groups
                and resource in permission.resources
                and permission.allows("operators.coreos.com", resource, _READ)
            ):
                yield Finding(
                    f"OLM v1 creates no {noun} for the operator",
                    at=permission.at,
                    hint="let the operator work without it",
                )


@rule("EXT009", "olmv0-annotation-read", severity=Severity.WARNING, suite=SUITE)
def olmv0_annotation_read(bundle: Bundle) -> Iterator[Finding]:
    """A container reads an annotation that only OLM v0 sets.

    Why: OLM v1 sets only `olm.targetNamespaces`; `olm.operatorGroup` and
    `olm.operatorNamespace` are empty.

    Fix: read the operator's namespace from `metadata.namespace`.
    """
    csv = bundle.csv
    for index, container in certification.containers(csv.deployments if csv else ()):
        for item in kube.sequence(container.get("env")):
            source = kube.mapping(kube.mapping(item).get("valueFrom")).get("fieldRef")
            path = kube.scalar_text(kube.mapping(source).get("fieldPath"))
            if csv is not None and ("olm.operatorGroup" in path or "olm.operatorNamespace" in path):
                yield Finding(
                    f"`{path}` is not set by OLM v1",
                    at=csv.at("spec", "install", "spec", "deployments", index),
                    hint="read `metadata.namespace` instead",
                )


@rule("EXT010", "cleanup-unsupported", severity=Severity.WARNING, suite=SUITE)
def cleanup_unsupported(bundle: Bundle) -> Iterator[Finding]:
    """The CSV requests the cleanup of its objects.

    Why: OLM v1 does not support this. It deletes the CRDs, and thereby all their objects.

    Fix: document that users must delete the objects before they delete the operator.
    """
    csv = bundle.csv
    if csv is not None and kube.mapping(csv.spec.get("cleanup")).get("enabled") is True:
        yield Finding(
            "OLM v1 does not implement `spec.cleanup`",
            at=csv.at("spec", "cleanup"),
            hint="tell users to delete the objects before they delete the operator",
        )


@rule("EXT011", "min-kube-version-ignored", severity=Severity.INFO, suite=SUITE)
def min_kube_version_ignored(bundle: Bundle) -> Iterator[Finding]:
    """The CSV sets `minKubeVersion`, which OLM v1 ignores.

    Why: OLM v1 also installs the operator into an older cluster.

    Fix: let the operator check the version when it starts.
    """
    csv = bundle.csv
    if csv is not None and csv.min_kube_version.strip():
        yield Finding(
            "OLM v1 does not evaluate `minKubeVersion`", at=csv.at("spec", "minKubeVersion")
        )
