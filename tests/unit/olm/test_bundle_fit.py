"""Bundles that a cluster refuses: one case for each reason, and for accepted bundles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from olmkit.base.versions import Version
from olmkit.olm import bundle_fit
from olmkit.olm.bundle_fit import ClusterFacts

Manifest = dict[str, Any]
ALL = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
ONLY_ALL = ("AllNamespaces",)


def csv(name: str = "cache.v2", *, modes: tuple[str, ...] = ALL, **spec: Any) -> Manifest:
    owned = {"name": "caches.example.com", "kind": "Cache", "version": "v1"}
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": name, "namespace": "apps"},
        "spec": {
            "installModes": [{"type": mode, "supported": mode in modes} for mode in ALL],
            "customresourcedefinitions": {"owned": [owned]},
            **spec,
        },
    }


def crd(*versions: str, stored: tuple[str, ...] = (), minimum: int = 0, **spec: Any) -> Manifest:
    size = {"type": "integer", "minimum": minimum}
    properties = {"spec": {"type": "object", "properties": {"size": size}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "caches.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "versions": [{"name": one, "served": True, "schema": schema} for one in versions],
            **spec,
        },
        "status": {"storedVersions": list(stored)},
    }


def group(*targets: str, name: str = "g", namespace: str = "apps", provides: str = "") -> Manifest:
    return {
        "apiVersion": "operators.coreos.com/v1",
        "kind": "OperatorGroup",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "annotations": {"olm.providedAPIs": provides},
        },
        "spec": {"targetNamespaces": list(targets)} if targets else {},
    }


SMALL = {
    "apiVersion": "example.com/v1",
    "kind": "Cache",
    "metadata": {"name": "small", "namespace": "web"},
    "spec": {"size": 1, "colour": "pruned by the server"},
}
FACTS = ClusterFacts(
    namespace="apps",
    group=group(),
    version=Version.parse("1.30.2"),
    crds={"caches.example.com": crd("v1", stored=("v1",))},
    instances={("caches.example.com", "v1"): (SMALL,)},
)
ROLE = {"apiVersion": "v1beta1", "kind": "Role", "metadata": {"name": "r"}}
NEEDY = {"required": [{"name": "needs.example.org", "kind": "Need", "version": "v1"}]}
NATIVE = {"group": "snapshot.storage.k8s.io", "version": "v1", "kind": "VolumeSnapshot"}
OLD_CRD = {
    "apiVersion": "apiextensions.k8s.io/v1beta1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "old.example.com"},
}
UNSERVED = frozenset(
    [
        ("v1beta1", "Role"),
        ("snapshot.storage.k8s.io/v1", "VolumeSnapshot"),
        ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"),
    ]
)


def causes(*manifests: Manifest, facts: ClusterFacts = FACTS, replaces: str = "") -> list[str]:
    return [one.cause for one in bundle_fit.refusals(manifests, facts, replaces=replaces)]


def test_a_valid_bundle_is_not_refused() -> None:
    facts = replace(FACTS, unserved=UNSERVED, is_whole=True)

    assert causes(csv(minKubeVersion="1.30.0"), crd("v1", "v2"), facts=facts) == []


@pytest.mark.parametrize("version", ["operators.coreos.com/v1", "example.com/v9", "v1"])
def test_a_csv_of_another_group_or_version_is_accepted_because_olm_reads_its_kind(
    version: str,
) -> None:
    facts = replace(FACTS, unserved=UNSERVED | {(version, "ClusterServiceVersion")})

    assert causes({**csv(), "apiVersion": version}, crd("v1"), facts=facts) == []


@pytest.mark.parametrize(
    ("cause", "manifests", "changed", "says"),
    [
        ("install-mode-not-supported", [csv(modes=("AllNamespaces",))],
         {"group": group("apps")}, "install mode `OwnNamespace`"),
        ("cluster-too-old", [csv(minKubeVersion="1.31.0")], {}, "needs Kubernetes 1.31.0"),
        ("cluster-too-old", [csv(minKubeVersion="new")], {}, "is not a version: `new`"),
        ("crd-rejects-objects", [crd("v1", minimum=5)], {},
         "Cache web/small: `spec.size` must be at least 5"),
        ("crd-loses-version", [crd("v2")], {}, "no version v1"),
        ("install-plan-failed", [crd("v1", scope="Cluster")], {},
         "the scope changes from `Namespaced` to `Cluster`"),
        ("crd-owned-elsewhere", [csv()], {"csvs": (csv("other.v1"),)}, "belongs to `other.v1`"),
        ("api-owned-elsewhere", [csv()],
         {"groups": (group(name="o", namespace="else", provides="Cache.v1.example.com"),)},
         "OperatorGroup else/o watches the same"),
        ("missing-api", [ROLE], {"unserved": UNSERVED}, "the Role `r` of `v1beta1`"),
        ("removed-api", [OLD_CRD, crd("v1")], {"unserved": UNSERVED},
         "the CustomResourceDefinition `old.example.com` of `apiextensions.k8s.io/v1beta1`, which"),
        ("missing-api", [csv(nativeAPIs=[NATIVE])], {"unserved": UNSERVED}, "`VolumeSnapshot`"),
        ("missing-api", [csv(customresourcedefinitions=NEEDY)], {"is_whole": True},
         "`needs.example.org`, which"),
        ("service-account-forbidden", [csv()], {"denied": ("create roles",)},
         "may not create roles"),
    ],
)  # fmt: skip
def test_a_bundle_that_the_cluster_would_refuse_is_refused(
    cause: str, manifests: list[Manifest], changed: dict[str, Any], says: str
) -> None:
    (found,) = bundle_fit.refusals(manifests, replace(FACTS, **changed))

    assert found.cause == cause
    assert says in found.message


def test_a_replaced_or_recorded_owner_is_not_a_conflict() -> None:
    old = csv("cache.v1")
    other = group(name="o", namespace="else", provides="Cache.v1.example.com")
    noted = group(provides="Cache.v1.example.com")
    apart = group("web", namespace="else", provides="Cache.v1.example.com")

    assert causes(csv(), facts=replace(FACTS, csvs=(old,)), replaces="cache.v1") == []
    assert causes(csv(replaces="cache.v1"), facts=replace(FACTS, csvs=(old,))) == []
    assert causes(csv(), facts=replace(FACTS, group=noted, groups=(other,))) == []
    assert causes(csv(), facts=replace(FACTS, group=group("apps"), groups=(apart,))) == []


def test_with_a_conversion_webhook_invalid_objects_are_accepted() -> None:
    assert causes(crd("v1", minimum=5, conversion={"strategy": "Webhook"})) == []


AWAY = (
    'conversion webhook for example.com/v1, Kind=Cache failed: Post "https://gone.apps.svc:443/": '
)


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ('service "gone" not found', "correct the Service in `spec.conversion.webhook"),
        ("x509: certificate has expired", "renew the certificate of the webhook's server"),
        ("dial tcp 10.0.0.1:443: connect: connection refused", "read the logs of its pods"),
    ],
)
def test_objects_that_cannot_be_converted_are_refused_unless_the_bundle_converts_them(
    said: str, hint: str
) -> None:
    facts = replace(FACTS, group={}, instances={}, unconverted={"caches.example.com": AWAY + said})
    hook = {"type": "ConversionWebhook", "conversionCRDs": ["caches.example.com"]}

    (found,) = bundle_fit.refusals([csv(), crd("v1")], facts)

    assert found.cause == "conversion-webhook-away"
    assert "the objects of `caches.example.com` against the new" in found.message
    assert found.message.endswith(said)
    assert hint in found.hint
    assert causes(csv(modes=ONLY_ALL, webhookdefinitions=[hook]), crd("v1"), facts=facts) == []
    assert causes(csv(), crd("v1", conversion={"strategy": "Webhook"}), facts=facts) == []


def test_olm_checks_objects_without_the_defaults_of_the_new_crd() -> None:
    new = crd("v1")
    spec = new["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["required"] = ["mode"]
    spec["properties"]["mode"] = {"type": "string", "default": "a"}

    (found,) = bundle_fit.refusals([new], FACTS)

    assert found.cause == "crd-rejects-objects"
    assert "lacks the required field `mode`" in found.message


def test_an_object_that_two_versions_refuse_is_named_once() -> None:
    versions = ("v1", "v2")
    name = "caches.example.com"
    facts = replace(
        FACTS,
        crds={name: crd(*versions)},
        instances={(name, version): (SMALL,) for version in versions},
    )

    (found,) = bundle_fit.refusals([crd(*versions, minimum=5)], facts)

    assert found.message == (
        f"the new CustomResourceDefinition `{name}` refuses existing objects: Cache web/small: "
        "`spec.size` must be at least 5"
    )


def test_values_of_a_crd_that_olm_ignores_are_a_note() -> None:
    new = crd("v1", minimum=3)
    owned = csv(customresourcedefinitions={"owned": [
        {"name": "caches.example.com", "version": "v1alpha1", "kind": "Cache"}]})  # fmt: skip
    old = crd("v1", "v1alpha1")

    notes = list(bundle_fit.crd_notes([new], {"caches.example.com": old}, owned))

    assert notes == [
        "CustomResourceDefinition `caches.example.com`: the version `v1alpha1` is gone",
        (
            "CustomResourceDefinition `caches.example.com`: `spec.size` must now be at least `3` "
            "(before: `0`)"
        ),
    ]
    assert list(bundle_fit.crd_notes([new], {}, None)) == []


def test_unknown_facts_are_not_refused() -> None:
    facts = ClusterFacts(namespace="apps", crds={"needs.example.org": {}}, is_whole=True)

    assert causes(csv(customresourcedefinitions=NEEDY), crd("v1"), facts=facts) == []
    assert causes(csv(customresourcedefinitions=NEEDY), facts=FACTS) == []
