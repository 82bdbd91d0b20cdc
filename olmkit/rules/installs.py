"""Rules about what a CSV installs: deployments, permissions, webhooks, API services.

OLM makes Deployments, ServiceAccounts, roles, Services and webhook
configurations from the CSV. What the API server would refuse of these shows
only when a user installs the operator; here it shows before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.base.diagnostics import Related, Severity
from olmkit.base.documents import Key
from olmkit.bundle.model import Bundle, ClusterServiceVersion
from olmkit.kube import objects as kube_objects
from olmkit.rules import objects
from olmkit.rules.engine import SOUND_SUITE, Finding, rule

WEBHOOK_TYPES = ("ValidatingAdmissionWebhook", "MutatingAdmissionWebhook", "ConversionWebhook")
_DEPLOYMENTS: tuple[Key, ...] = ("spec", "install", "spec", "deployments")
_WEBHOOKS: tuple[Key, ...] = ("spec", "webhookdefinitions")
_MAX_PORT = 65535


@rule("CSV017", "conversion-install-modes")
def conversion_install_modes(bundle: Bundle) -> Iterator[Finding]:
    """A CSV with conversion webhooks supports more than all namespaces.

    Why: a CRD has one conversion webhook for the whole cluster, so there can be
    one installation of the operator only.

    Fix: support `AllNamespaces` and no other mode.
    """
    csv = bundle.csv
    if csv is None:
        return
    others = any(m.supported for m in csv.install_modes if m.type != "AllNamespaces")
    refused = any(m.type == "AllNamespaces" and not m.supported for m in csv.install_modes)
    if not others and not refused:
        return
    for index, webhook in enumerate(csv.webhooks):
        if kube_objects.sequence(webhook.get("conversionCRDs")):
            yield Finding(
                "only AllNamespaces InstallModeType is supported when conversionCRDs is present",
                at=csv.at(*_WEBHOOKS, index, "conversionCRDs"),
                hint="support `AllNamespaces` and no other mode",
                related=(Related(csv.at("spec", "installModes"), "the modes are here"),),
            )


@rule("CSV027", "service-account-clash")
def service_account_clash(bundle: Bundle) -> Iterator[Finding]:
    """A ServiceAccount of the bundle is one that a deployment of the CSV uses.

    Why: OLM makes the ServiceAccounts of the deployments itself, and one in the
    bundle overwrites it, so that the operator loses its permissions on upgrade.

    Fix: remove the manifest.
    """
    csv = bundle.csv
    used = {_service_account(deployment) for deployment in csv.deployments} if csv else set()
    for account in objects.resources(bundle):
        if account.api_version == "v1" and account.kind == "ServiceAccount":
            name = account.name
            if name and name in used:
                yield Finding(
                    f"{name}: invalid service account found in bundle. This service account "
                    f"{name} in your bundle is not valid, because a service account with the "
                    "same name was already specified in your CSV",
                    at=account.at("metadata", "name"),
                    hint="remove this manifest: OLM makes the ServiceAccount",
                )


@rule("CSV028", "service-account-permissions", severity=Severity.WARNING, suite=SOUND_SUITE)
def service_account_permissions(bundle: Bundle) -> Iterator[Finding]:
    """A ServiceAccount of the bundle is one that the CSV gives permissions to.

    Why: OLM makes every ServiceAccount that has permissions in the CSV itself.

    Fix: remove the manifest.
    """
    csv = bundle.csv
    if csv is None:
        return
    used = {_service_account(deployment) for deployment in csv.deployments}
    given = {
        kube_objects.scalar_text(kube_objects.mapping(entry).get("serviceAccountName"))
        for section in ("permissions", "clusterPermissions")
        for entry in kube_objects.sequence(csv.install_spec.get(section))
    }
    for account in objects.resources(bundle):
        is_account = account.api_version == "v1" and account.kind == "ServiceAccount"
        if is_account and account.name in given - used - {"default"}:
            yield Finding(
                f"OLM makes ServiceAccount `{account.name}` too, from the permissions",
                at=account.at("metadata", "name"),
                hint="remove this manifest",
            )


@rule("CSV060", "no-deployment", suite=SOUND_SUITE)
def no_deployment(bundle: Bundle) -> Iterator[Finding]:
    """The CSV installs no deployment.

    Why: there is nothing that runs. An empty list may be meant, and is a warning.

    Fix: write it at `spec.install.spec.deployments`.
    """
    csv = bundle.csv
    install = kube_objects.mapping(csv.spec.get("install")) if csv else {}
    strategy = kube_objects.scalar_text(install.get("strategy"))
    if csv is None or strategy != "deployment" or csv.deployments:
        return
    if csv.install_spec and csv.install_spec.get("deployments") is None:
        return
    yield Finding(
        "the CSV has no deployment",
        at=csv.at(*_DEPLOYMENTS),
        hint="write it at `spec.install.spec.deployments`",
        severity=Severity.WARNING if "deployments" in csv.install_spec else None,
    )


@rule("CSV061", "install-strategy", suite=SOUND_SUITE)
def install_strategy(bundle: Bundle) -> Iterator[Finding]:
    """The install strategy is not `deployment`.

    Why: OLM knows no other.

    Fix: write `strategy: deployment`.
    """
    csv = bundle.csv
    strategy = (
        kube_objects.scalar_text(kube_objects.mapping(csv.spec.get("install")).get("strategy"))
        if csv
        else ""
    )
    if csv is not None and strategy not in ("", "deployment"):
        yield Finding(
            f"install strategy `{strategy}` is not known",
            at=csv.at("spec", "install", "strategy"),
            hint="write `deployment`",
        )


@rule("CSV062", "deployment-name", suite=SOUND_SUITE)
def deployment_name(bundle: Bundle) -> Iterator[Finding]:
    """A deployment of the CSV has no name, or that of another one.

    Why: the name becomes that of the Deployment, and two with one name overwrite
    each other without end.

    Fix: give each a name of its own.
    """
    csv = bundle.csv
    seen: dict[str, int] = {}
    for index, deployment in enumerate(csv.deployments if csv else ()):
        name = kube_objects.scalar_text(deployment.get("name"))
        first = seen.setdefault(name, index)
        if csv is not None and name and first != index:
            yield Finding(
                f"two deployments are named `{name}`",
                at=csv.at(*_DEPLOYMENTS, index, "name"),
                related=(Related(csv.at(*_DEPLOYMENTS, first, "name"), "also here"),),
            )
        elif csv is not None and name == "" and "name" in deployment:
            yield Finding("the deployment has no name", at=csv.at(*_DEPLOYMENTS, index, "name"))


@rule("CSV063", "deployment-selector", suite=SOUND_SUITE)
def deployment_selector(bundle: Bundle) -> Iterator[Finding]:
    """The selector of a deployment does not match the labels of its pods.

    Why: the API server refuses such a Deployment.

    Fix: use the same labels in `selector.matchLabels` and in the template.
    """
    csv = bundle.csv
    for index, deployment in enumerate(csv.deployments if csv else ()):
        spec = kube_objects.mapping(deployment.get("spec"))
        wanted = kube_objects.mapping(kube_objects.mapping(spec.get("selector")).get("matchLabels"))
        labels = _template(deployment, "metadata").get("labels")
        for key, value in wanted.items():
            if csv is not None and kube_objects.mapping(labels).get(key) != value:
                yield Finding(
                    f"the pods of the deployment lack the label `{key}: {value}` "
                    "that its selector wants",
                    at=csv.at(*_DEPLOYMENTS, index, "spec", "selector", "matchLabels", key),
                    hint="write the same labels at `spec.template.metadata.labels`",
                )


@rule("CSV064", "deployment-containers", suite=SOUND_SUITE)
def deployment_containers(bundle: Bundle) -> Iterator[Finding]:
    """A deployment has no container, or a container no image.

    Why: the API server refuses such a Deployment.

    Fix: write them.
    """
    csv = bundle.csv
    for index, deployment in enumerate(csv.deployments if csv else ()):
        keys = (*_DEPLOYMENTS, index, "spec", "template", "spec")
        pod = _template(deployment, "spec")
        containers = kube_objects.sequence(pod.get("containers"))
        if csv is not None and not containers and "containers" in pod:
            yield Finding("the deployment has no container", at=csv.at(*keys, "containers"))
        for section in ("initContainers", "containers"):
            for position, item in enumerate(kube_objects.sequence(pod.get(section))):
                container = kube_objects.mapping(item)
                if (
                    csv is not None
                    and container
                    and not kube_objects.scalar_text(container.get("image"))
                ):
                    name = kube_objects.scalar_text(container.get("name"))
                    yield Finding(
                        f"container `{name}` has no image", at=csv.at(*keys, section, position)
                    )


@rule("CSV065", "webhook-type", suite=SOUND_SUITE)
def webhook_type(bundle: Bundle) -> Iterator[Finding]:
    """A webhook has a type that does not exist.

    Why: OLM fails to install the CSV.

    Fix: write one of the three types.
    """
    for csv, index, webhook in _webhooks(bundle):
        kind = kube_objects.scalar_text(webhook.get("type"))
        if kind and kind not in WEBHOOK_TYPES:
            yield Finding(
                f"webhook type `{kind}` does not exist",
                at=csv.at(*_WEBHOOKS, index, "type"),
                hint=f"types are {', '.join(f'`{word}`' for word in WEBHOOK_TYPES)}",
            )


@rule("CSV066", "webhook-deployment", suite=SOUND_SUITE)
def webhook_deployment(bundle: Bundle) -> Iterator[Finding]:
    """A webhook or an API service names a deployment that the CSV has not.

    Why: OLM waits for the deployment, and the CSV is never installed.

    Fix: write the name of an entry of `spec.install.spec.deployments`.
    """
    csv = bundle.csv
    if csv is None:
        return
    names = [kube_objects.scalar_text(deployment.get("name")) for deployment in csv.deployments]
    hint = f"the CSV has {', '.join(f'`{name}`' for name in names)}" if names else ""
    for index, webhook in enumerate(csv.webhooks):
        name = kube_objects.scalar_text(webhook.get("deploymentName"))
        if name and name not in names:
            yield Finding(
                f"the CSV has no deployment `{name}`",
                at=csv.at(*_WEBHOOKS, index, "deploymentName"),
                hint=hint,
            )
    for api in csv.owned_api_services:
        name = kube_objects.scalar_text(api.value.get("deploymentName"))
        if name and name not in names:
            yield Finding(
                f"the CSV has no deployment `{name}`",
                at=csv.at(*api.keys, "deploymentName"),
                hint=hint,
            )


@rule("CSV067", "webhook-port", suite=SOUND_SUITE)
def webhook_port(bundle: Bundle) -> Iterator[Finding]:
    """The port of a webhook is no port.

    Why: the API server refuses the Service that OLM makes. 0 counts as left out, and
    is a warning.

    Fix: write a number from 1 to 65535, or leave it out for 443.
    """
    for csv, index, webhook in _webhooks(bundle):
        for key in ("containerPort", "targetPort"):
            port = webhook.get(key)
            if isinstance(port, int) and not 1 <= port <= _MAX_PORT:
                yield Finding(
                    f"`{port}` is no port",
                    at=csv.at(*_WEBHOOKS, index, key),
                    hint=f"write a number from 1 to {_MAX_PORT}",
                    severity=Severity.WARNING if port == 0 else None,
                )


@rule("CSV068", "webhook-name", suite=SOUND_SUITE)
def webhook_name(bundle: Bundle) -> Iterator[Finding]:
    """Two webhooks of one type have the same name.

    Why: OLM finds the configurations that it made by this name, and takes one for
    the other.

    Fix: give each a `generateName` of its own.
    """
    seen: dict[tuple[str, str], int] = {}
    for csv, index, webhook in _webhooks(bundle):
        key = (
            kube_objects.scalar_text(webhook.get("type")),
            kube_objects.scalar_text(webhook.get("generateName")),
        )
        first = seen.setdefault(key, index)
        if key[1] and first != index:
            yield Finding(
                f"two webhooks are named `{key[1]}`",
                at=csv.at(*_WEBHOOKS, index, "generateName"),
                related=(Related(csv.at(*_WEBHOOKS, first, "generateName"), "also here"),),
            )


@rule("CSV069", "conversion-crd", suite=SOUND_SUITE)
def conversion_crd(bundle: Bundle) -> Iterator[Finding]:
    """A conversion webhook names a CRD that the CSV does not own.

    Why: OLM fails to install the CSV.

    Fix: write names of CRDs of the bundle.
    """
    csv = bundle.csv
    owned = {api.name for api in csv.owned_crds} if csv else set()
    for found, index, webhook in _webhooks(bundle):
        for position, name in enumerate(kube_objects.sequence(webhook.get("conversionCRDs"))):
            if kube_objects.scalar_text(name) not in owned:
                yield Finding(
                    f"the CSV owns no CRD `{kube_objects.scalar_text(name)}`",
                    at=found.at(*_WEBHOOKS, index, "conversionCRDs", position),
                )


def _webhooks(
    bundle: Bundle,
) -> Iterator[tuple[ClusterServiceVersion, int, Mapping[str, Any]]]:
    csv = bundle.csv
    if csv is not None:
        for index, webhook in enumerate(csv.webhooks):
            yield csv, index, webhook


def _template(deployment: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    spec = kube_objects.mapping(deployment.get("spec"))
    return kube_objects.mapping(kube_objects.mapping(spec.get("template")).get(part))


def _service_account(deployment: Mapping[str, Any]) -> str:
    return kube_objects.scalar_text(_template(deployment, "spec").get("serviceAccountName"))
