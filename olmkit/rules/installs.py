"""Rules about what a CSV installs: deployments, permissions, service accounts.

OLM creates Deployments, ServiceAccounts, roles, Services and webhook configurations from the CSV.
An object that the API server refuses is otherwise noticed only when a user installs the operator;
these rules find it before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.base.diagnostics import Related, Severity
from olmkit.base.documents import Key
from olmkit.bundle.model import Bundle
from olmkit.kube import objects as kube_objects
from olmkit.rules import objects
from olmkit.rules.engine import SOUND_SUITE, Finding, rule

_DEPLOYMENTS: tuple[Key, ...] = ("spec", "install", "spec", "deployments")


@rule("CSV027", "service-account-clash")
def service_account_clash(bundle: Bundle) -> Iterator[Finding]:
    """The bundle contains a ServiceAccount that a deployment of the CSV uses.

    Why: OLM creates the ServiceAccounts of the deployments itself. A ServiceAccount in the
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
                    hint="remove this manifest: OLM creates the ServiceAccount",
                )


@rule("CSV028", "service-account-permissions", severity=Severity.WARNING, suite=SOUND_SUITE)
def service_account_permissions(bundle: Bundle) -> Iterator[Finding]:
    """The bundle contains a ServiceAccount to which the CSV grants permissions.

    Why: OLM itself creates every ServiceAccount that has permissions in the CSV.

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
                f"OLM creates ServiceAccount `{account.name}` too, from the permissions",
                at=account.at("metadata", "name"),
                hint="remove this manifest",
            )


@rule("CSV051", "account-without-rules", severity=Severity.WARNING, suite=SOUND_SUITE)
def account_without_rules(bundle: Bundle) -> Iterator[Finding]:
    """The service account of a deployment has no permissions.

    Why: the operator cannot read any object of the cluster, and fails when it starts.
    Usually its roles or bindings were not among the manifests from which the bundle was
    generated.

    Fix: write `permissions` or `clusterPermissions` for the account.
    """
    csv = bundle.csv
    if csv is None:
        return
    given = {
        kube_objects.scalar_text(kube_objects.mapping(entry).get("serviceAccountName"))
        for section in ("permissions", "clusterPermissions")
        for entry in kube_objects.sequence(csv.install_spec.get(section))
        if kube_objects.sequence(kube_objects.mapping(entry).get("rules"))
    }
    bound = {
        kube_objects.scalar_text(kube_objects.mapping(item).get("name"))
        for resource in objects.resources(bundle)
        if resource.kind in ("RoleBinding", "ClusterRoleBinding")
        for item in kube_objects.sequence(resource.value.get("subjects"))
    }
    for index, deployment in enumerate(csv.deployments):
        account = _service_account(deployment) or "default"
        if _template(deployment, "spec") and account not in given | bound:
            yield Finding(
                f"the account `{account}` of the deployment has no permissions",
                at=csv.at(*_DEPLOYMENTS, index, "spec", "template", "spec", "serviceAccountName"),
                hint="write `permissions` or `clusterPermissions` for it",
            )


@rule("CSV060", "no-deployment", suite=SOUND_SUITE)
def no_deployment(bundle: Bundle) -> Iterator[Finding]:
    """The CSV installs no deployment.

    Why: OLM would start no pods. An empty list can be intentional, so it is a warning.

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

    Why: OLM supports no other strategy.

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
    """A deployment of the CSV has no name, or the name of another deployment.

    Why: OLM creates a Deployment with this name. Two with the same name overwrite each
    other without end.

    Fix: give each deployment a different name.
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

    Why: the API server rejects the Deployment.

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
                    "that its selector requires",
                    at=csv.at(*_DEPLOYMENTS, index, "spec", "selector", "matchLabels", key),
                    hint="write the same labels at `spec.template.metadata.labels`",
                )


@rule("CSV064", "deployment-containers", suite=SOUND_SUITE)
def deployment_containers(bundle: Bundle) -> Iterator[Finding]:
    """A deployment has no container, or a container no image.

    Why: the API server rejects the Deployment.

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


def _template(deployment: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    spec = kube_objects.mapping(deployment.get("spec"))
    return kube_objects.mapping(kube_objects.mapping(spec.get("template")).get(part))


def _service_account(deployment: Mapping[str, Any]) -> str:
    return kube_objects.scalar_text(_template(deployment, "spec").get("serviceAccountName"))
