"""The objects of each overlay of the operator and of each shipped bundle."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from olmkit.jobs.project import overlay
from olmkit.project.kustomize import build as kustomize
from olmkit.runtime.serve import webhook
from olmkit.testing import load_manifest

CONFIGURATIONS = {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
FOLDER = "/tmp/k8s-webhook-server/serving-certs"  # noqa: S108 - where OLM mounts it


def rendered(root: Path, folder: str) -> dict[str, list[Any]]:
    """Return the manifests of an overlay by kind."""
    found: dict[str, list[Any]] = {}
    for one in kustomize.render(overlay.reader(root / "operator"), folder):
        found.setdefault(one.value["kind"], []).append(one.value)
    return found


def csv(root: Path, version: str) -> Any:
    path = root / f"bundle/{version}/manifests/memcached-operator.clusterserviceversion.yaml"
    return load_manifest(path)


def crds(root: Path, version: str) -> Iterator[Any]:
    for path in sorted((root / f"bundle/{version}/manifests").glob("cache.*.yaml")):
        yield load_manifest(path)


def versions(crd: Any) -> list[str]:
    return [one["name"] for one in crd["spec"]["versions"] if one["served"]]


def test_without_a_certificate_one_version_is_served_and_there_are_no_webhooks(
    root: Path,
) -> None:
    found = rendered(root, "config/default")
    [crd] = found["CustomResourceDefinition"]
    assert versions(crd) == ["v1alpha1"]
    assert "conversion" not in crd["spec"]
    assert not CONFIGURATIONS & found.keys()


def test_with_webhooks_every_reference_leads_to_the_service_and_to_the_pod(root: Path) -> None:
    found = rendered(root, "config/with-webhooks")
    [crd] = found["CustomResourceDefinition"]
    clients = [crd["spec"]["conversion"]["webhook"]["clientConfig"]] + [
        hook["clientConfig"]
        for kind in CONFIGURATIONS
        for one in found[kind]
        for hook in one["webhooks"]
    ]
    [service] = [one for one in found["Service"] if "webhook" in one["metadata"]["name"]]
    for client in clients:
        assert client["service"]["name"] == service["metadata"]["name"]
        assert client["service"]["namespace"] == service["metadata"]["namespace"]
    [deployment] = found["Deployment"]
    template = deployment["spec"]["template"]
    assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
    assert service["spec"]["ports"][0]["targetPort"] == webhook.PORT
    assert versions(crd) == ["v1alpha1", "v1beta1"]


def test_cert_managers_certificate_is_mounted_and_has_the_name_of_the_service(root: Path) -> None:
    found = rendered(root, "config/with-cert-manager")
    [certificate] = found["Certificate"]
    [service] = [one for one in found["Service"] if "webhook" in one["metadata"]["name"]]
    host = f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc"
    assert host in certificate["spec"]["dnsNames"]
    [deployment] = found["Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    [mount] = pod["containers"][0]["volumeMounts"]
    assert mount["mountPath"] == FOLDER
    assert pod["volumes"][0]["secret"]["secretName"] == certificate["spec"]["secretName"]
    told = [
        one["metadata"]["annotations"]["cert-manager.io/inject-ca-from"]
        for kind in (*CONFIGURATIONS, "CustomResourceDefinition")
        for one in found[kind]
    ]
    name, namespace = certificate["metadata"]["name"], certificate["metadata"]["namespace"]
    assert told == [f"{namespace}/{name}"] * 3


@pytest.mark.parametrize(
    ("version", "served", "hooks", "modes"),
    [
        (
            "0.0.1",
            ["v1alpha1"],
            set(),
            {"OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"},
        ),
        (
            "0.0.2",
            ["v1alpha1", "v1beta1"],
            {"ConversionWebhook", "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"},
            {"AllNamespaces"},
        ),
    ],
)
def test_a_release_names_its_apis_and_install_modes(
    root: Path, version: str, served: list[str], hooks: set[str], modes: set[str]
) -> None:
    spec = csv(root, version)["spec"]
    [crd] = crds(root, version)
    owned = [one["version"] for one in spec["customresourcedefinitions"]["owned"]]
    assert versions(crd) == owned == served
    definitions = spec.get("webhookdefinitions") or []
    assert {one["type"] for one in definitions} == hooks
    assert {one["targetPort"] for one in definitions} <= {webhook.PORT}
    assert {one["type"] for one in spec["installModes"] if one["supported"]} == modes
    [deployment] = spec["install"]["spec"]["deployments"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    [watched] = [one for one in container["env"] if one["name"] == "WATCH_NAMESPACE"]
    field = watched["valueFrom"]["fieldRef"]["fieldPath"]
    assert field == "metadata.annotations['olm.targetNamespaces']"
    # OLM mounts the certificate itself.
    assert not deployment["spec"]["template"]["spec"].get("volumes")


def test_the_stored_version_stays_the_same_in_every_release(root: Path) -> None:
    [old], [new] = crds(root, "0.0.1"), crds(root, "0.0.2")
    stored = [
        [one["name"] for one in crd["spec"]["versions"] if one["storage"]] for crd in (old, new)
    ]
    assert stored == [["v1alpha1"], ["v1alpha1"]]
    assert old["spec"]["versions"][0] == new["spec"]["versions"][0]
