"""The objects of a bundle from manifests and a base."""

from __future__ import annotations

import contextlib
import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import InputError, OlmkitError
from olmkit.bundle.generation import generate
from olmkit.bundle.generation.generate import GeneratedBundle
from olmkit.bundle.generation.generate_request import GenerateRequest

BASE: dict[str, Any] = {
    "apiVersion": "operators.coreos.com/v1alpha1",
    "kind": "ClusterServiceVersion",
    "metadata": {"name": "p.v0.0.0", "annotations": {"alm-examples": "[]"}},
    "spec": {"displayName": "P", "version": "0.0.0"},
}
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "labels": {"a": "b"}},
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    },
}
CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Thing", "plural": "things"},
        "versions": [{"name": "v1", "served": True}, {"name": "v2", "served": True}],
    },
}


def made(
    *manifests: dict[str, Any],
    base: dict[str, Any] | None = None,
    alone: bool = False,
    **request: Any,
) -> GeneratedBundle:
    """Generate, with a Deployment unless the input has one or is `alone`."""
    if not alone and all(item["kind"] != "Deployment" for item in manifests):
        manifests = (*manifests, DEPLOYMENT)
    text = b"---\n".join(documents.dump(item) for item in (base or BASE, *manifests))
    settings = {"package": "p", "builder": "test", "version": "1.0.0", **request}
    return generate.generate(GenerateRequest(**settings), documents.load_all(text, "in.yaml"))


def based(**spec: Any) -> dict[str, Any]:
    annotations = spec.pop("annotations", {})
    return {
        **BASE,
        "metadata": {**BASE["metadata"], "annotations": annotations},
        "spec": {**BASE["spec"], **spec},
    }


def rules(result: GeneratedBundle) -> list[str]:
    # The Deployment of these tests has no service account, and so no permissions.
    return [found.rule for found in result.findings if found.rule != "PRJ118"]


def test_the_version_is_in_the_name_of_the_csv() -> None:
    csv = made(DEPLOYMENT).csv
    assert csv["metadata"]["name"] == "p.v1.0.0"
    assert csv["spec"]["version"] == "1.0.0"
    csv = made(DEPLOYMENT, version="").csv
    assert csv["metadata"]["name"] == "p.v0.0.0"


def test_the_watched_namespaces_come_from_the_operator_group() -> None:
    manifest = documents.load(documents.dump(DEPLOYMENT), "d").value
    containers = manifest["spec"]["template"]["spec"]["containers"]
    containers[0]["env"] = [{"name": "WATCH_NAMESPACE", "value": ""}, {"name": "B", "value": "1"}]
    install = made(manifest).csv["spec"]["install"]["spec"]
    env = install["deployments"][0]["spec"]["template"]["spec"]["containers"][0]["env"]
    assert env[0]["valueFrom"]["fieldRef"]["fieldPath"].endswith("['olm.targetNamespaces']")
    assert env[1] == {"name": "B", "value": "1"}


def test_owned_apis_follow_the_crds_and_keep_their_descriptions() -> None:
    owned = [
        {"name": "things.example.com", "version": "v2", "kind": "Thing", "displayName": "Words"},
        {"name": "gone.example.com", "version": "v1", "kind": "Gone"},
    ]
    required = [{"name": "x.y.z", "version": "v1", "kind": "X"}]
    result = made(
        DEPLOYMENT,
        CRD,
        base=based(customresourcedefinitions={"owned": owned, "required": required}),
    )
    definitions = result.csv["spec"]["customresourcedefinitions"]
    assert definitions["owned"] == [
        {"name": "things.example.com", "version": "v1", "kind": "Thing"},
        owned[0],
    ]
    assert definitions["required"] == required
    assert rules(result) == ["PRJ106"]


def test_a_repeated_crd_has_its_descriptions_twice() -> None:
    owned = [{"name": "things.example.com", "kind": "Thing", "version": "v1", "displayName": "T"}]
    other = {**CRD, "metadata": {**CRD["metadata"], "labels": {"a": "b"}}}

    result = made(CRD, other, DEPLOYMENT, base=based(customresourcedefinitions={"owned": owned}))

    described = result.csv["spec"]["customresourcedefinitions"]["owned"]
    assert [item.get("displayName") for item in described] == ["T", None, "T", None]


def test_samples_become_examples() -> None:
    sample = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "s"}}
    result = made(DEPLOYMENT, CRD, sample)
    assert '"name": "s"' in result.csv["metadata"]["annotations"]["alm-examples"]
    assert not [name for name in result.objects if "thing" in name and "things" not in name]


def test_examples_of_the_base_are_kept_only_without_samples() -> None:
    base = based(annotations={"alm-examples": '[{"kind": "Old"}]'})
    kept = made(DEPLOYMENT, CRD, base=base)
    assert "Old" in kept.csv["metadata"]["annotations"]["alm-examples"]
    sample = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "s"}}
    replaced = made(DEPLOYMENT, CRD, sample, base=base)
    assert "Old" not in replaced.csv["metadata"]["annotations"]["alm-examples"]
    assert rules(replaced) == ["PRJ106"]


def test_a_sample_of_an_unserved_version_is_reported() -> None:
    sample = {"apiVersion": "example.com/v9", "kind": "Thing", "metadata": {"name": "s"}}
    assert rules(made(DEPLOYMENT, CRD, sample)) == ["PRJ114"]


def test_related_images_of_the_user_are_kept() -> None:
    images = [{"name": "own", "image": "quay.io/own:v1"}]
    assert made(DEPLOYMENT, base=based(relatedImages=images)).csv["spec"]["relatedImages"] == images


def test_values_that_the_manifests_replace_are_reported() -> None:
    base = based(
        install={
            "strategy": "deployment",
            "spec": {
                "deployments": [{"name": "old", "spec": DEPLOYMENT["spec"]}],
                "permissions": [{"serviceAccountName": "old", "rules": []}],
            },
        },
        webhookdefinitions=[{"generateName": "old", "type": "x"}],
    )
    result = made(DEPLOYMENT, base=base)
    assert rules(result) == ["PRJ106"] * 3
    assert "old" not in str(result.csv["spec"])


def test_without_a_deployment_the_one_of_the_base_is_kept() -> None:
    deployments = [{"name": "old", "spec": DEPLOYMENT["spec"]}]
    base = based(install={"strategy": "deployment", "spec": {"deployments": deployments}})
    result = made(base=base, alone=True)
    assert result.csv["spec"]["install"]["spec"]["deployments"][0]["name"] == "old"
    assert rules(result) == ["PRJ116"]


def test_without_any_deployment_no_bundle_is_generated() -> None:
    with pytest.raises(InputError, match="has no Deployment, so OLM would have nothing to run"):
        made(alone=True)


def test_an_empty_list_of_deployments_is_accepted() -> None:
    base = based(install={"strategy": "deployment", "spec": {"deployments": []}})
    assert rules(made(base=base, alone=True)) == ["PRJ116"]


def test_a_deployment_without_permissions_is_reported() -> None:
    codes = [found.rule for found in made(DEPLOYMENT).findings]
    assert codes == ["PRJ118"]


def test_a_ca_of_cert_manager_is_reported_for_a_crd_that_olm_converts() -> None:
    crd = copy.deepcopy(CRD)
    crd["metadata"]["annotations"] = {"cert-manager.io/inject-ca-from": "system/serving-cert"}
    assert "PRJ119" not in rules(made(crd))
    crd["spec"]["conversion"] = {"strategy": "Webhook"}
    assert "PRJ119" in rules(made(crd))


def test_a_secret_that_only_a_left_out_certificate_creates_is_reported() -> None:
    certificate: dict[str, Any] = {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": {"name": "metrics-certs"},
        "spec": {"secretName": "metrics-server-cert"},
    }
    secret: dict[str, Any] = {"secretName": "metrics-server-cert"}
    deployment = copy.deepcopy(DEPLOYMENT)
    pod = deployment["spec"]["template"]["spec"]
    pod["volumes"] = [{"name": "certs", "secret": secret}]
    assert "PRJ122" not in rules(made(deployment, certificate)), "the kubelet does not mount it"
    served = "/tmp/k8s-webhook-server/serving-certs"  # noqa: S108 - in the pod
    mount = {"name": "certs", "mountPath": "/metrics-certs"}
    pod["containers"][0]["volumeMounts"] = [mount]
    found = made(deployment, certificate).findings
    (one,) = (one for one in found if one.rule == "PRJ122")
    assert "mounts the Secret `metrics-server-cert`, which the Certificate `metrics-certs`" in (
        one.message
    )
    present = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "metrics-server-cert"}}
    assert "PRJ122" not in rules(made(deployment, certificate, present))
    assert "PRJ122" not in rules(made(deployment))
    crd = copy.deepcopy(CRD)
    crd["spec"]["conversion"] = {"strategy": "Webhook"}
    assert "PRJ122" in rules(made(deployment, certificate, crd))
    mount["mountPath"] = served
    assert "PRJ122" not in rules(made(deployment, certificate, crd)), "OLM replaces the mount"
    assert "PRJ122" in rules(made(deployment, certificate))
    secret["optional"] = True
    assert "PRJ122" not in rules(made(deployment, certificate))


def test_another_install_strategy_is_not_changed() -> None:
    base = based(install={"strategy": "image", "spec": {"image": "x"}})
    install = made(DEPLOYMENT, base=base).csv["spec"]["install"]
    assert install == {"strategy": "image", "spec": {"image": "x", "deployments": None}}


@pytest.mark.parametrize(
    ("api_version", "kind", "expected"),
    [
        ("v1", "ConfigMap", []),
        ("v1", "Namespace", ["PRJ103"]),
        ("cert-manager.io/v1", "Issuer", ["PRJ103"]),
        ("networking.k8s.io/v1", "Ingress", ["PRJ102"]),
    ],
)
def test_an_omitted_kind_is_reported(api_version: str, kind: str, expected: list[str]) -> None:
    other = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}}
    result = made(DEPLOYMENT, other)
    assert rules(result) == expected
    assert bool(result.objects) is not bool(expected)


@pytest.mark.parametrize(
    ("key", "value"),
    [("annotations", {"a": "b"}), ("finalizers", ["a/b"]), ("ownerReferences", [{"uid": "1"}])],
)
def test_lost_fields_of_a_deployment_are_reported(key: str, value: Any) -> None:
    manifest = {**DEPLOYMENT, "metadata": {"name": "d", key: value}}
    assert rules(made(manifest)) == ["PRJ112"]


def test_files_with_the_same_name_are_distinguished() -> None:
    one = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "a"}}
    two = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "b"}}
    result = made(DEPLOYMENT, one, two)
    assert list(result.objects) == ["s_v1_secret.yaml", "dup0_s_v1_secret.yaml"]
    assert rules(result) == ["PRJ111"]


def test_each_field_has_an_origin() -> None:
    origins = made(DEPLOYMENT, CRD).origins
    assert {origin.field for origin in origins} >= {
        "metadata.name",
        "spec.version",
        "spec.displayName",
        "spec.install.spec.deployments",
        "spec.customresourcedefinitions.owned Thing v1",
    }
    (name,) = [origin for origin in origins if origin.field == "spec.displayName"]
    assert name.source == "base CSV"
    assert name.at is not None
    assert name.at.line == 8


def test_the_order_of_the_input_does_not_change_the_files() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    assert made(DEPLOYMENT, CRD, secret).files() == made(secret, CRD, DEPLOYMENT).files()


def _places(value: Any, keys: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if keys:
        yield keys
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _places(value[key], (*keys, key))


def _retyped(manifests: list[Any], source: random.Random) -> list[Any]:
    """Return the manifests with one to three values of other types in random places."""
    odd = [None, 3, -1, 1.5, True, "", "../x", [], {}, [1], [None], {"a": 1}, {"name": [3]}]
    result = copy.deepcopy(manifests)
    for _ in range(source.randint(1, 3)):
        holder = source.choice(result)
        *keys, last = source.choice(list(_places(holder)))
        for key in keys:
            holder = holder[key]
        holder[last] = copy.deepcopy(source.choice(odd))
    return result


@pytest.mark.property
@pytest.mark.parametrize("seed", range(8))
def test_any_manifests_result_in_a_bundle_or_a_refusal(seed: int, root: Path) -> None:
    data = (root / "tests/fixtures/go-project/rendered/manifests.yaml").read_bytes()
    manifests = [document.value for document in documents.load_all(data, "in.yaml")]
    source = random.Random(seed)
    request = GenerateRequest(package="ferry-operator", builder="test", version="1.0.0")
    for _ in range(25):
        text = b"---\n".join(documents.dump(item) for item in _retyped(manifests, source))
        with contextlib.suppress(OlmkitError):
            made = generate.draft(request, documents.load_all(text, "in.yaml"))
            generate.finish(made, digests={}).files()


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("roleRef", ["admin"], "`roleRef` must be a mapping"),
        ("subjects", "all", "`subjects` must be a list"),
    ],
)
def test_an_invalid_binding_is_refused(key: str, value: Any, words: str) -> None:
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "b"},
        key: value,
    }
    with pytest.raises(OlmkitError, match=f"{words} in RoleBinding `b`"):
        made(binding)
