from __future__ import annotations

from typing import Any

import pytest

from olmkit.base import documents
from olmkit.base.documents import Document
from olmkit.bundle import model
from olmkit.bundle.model import GVK, BundleObject, ClusterServiceVersion, CustomResourceDefinition


def _csv(text: str) -> ClusterServiceVersion:
    return ClusterServiceVersion(documents.load(text.encode(), "csv.yaml"))


def test_the_accessors_of_a_csv_read_its_fields() -> None:
    csv = _csv(
        """
        apiVersion: operators.coreos.com/v1alpha1
        kind: ClusterServiceVersion
        metadata: {name: a.v1.0.0, annotations: {olm.skipRange: <1.0.0}, labels: {x: z}}
        spec:
          displayName: A
          version: 1.0.0
          release: "2"
          MinKubeVersion: 1.28.0
          replaces: a.v0.9.0
          skips: [a.v0.8.0]
          installModes: [{type: OwnNamespace, supported: true}]
          relatedImages: [{name: a, image: b}]
          webhookdefinitions: [{type: ConversionWebhook}]
          install: {strategy: deployment, spec: {deployments: [{name: a}]}}
          customresourcedefinitions:
            owned: [{name: as.example.org, version: v1, kind: A}]
            required: [{name: bs.example.org, version: v1, kind: B}]
          apiservicedefinitions:
            owned: [{name: cs, group: example.org, version: v1, kind: C}]
        """
    )

    assert csv.name == "a.v1.0.0"
    assert csv.gvk == GVK(group="operators.coreos.com", version="v1alpha1", kind=csv.kind)
    assert (csv.version, csv.release, csv.display_name) == ("1.0.0", "2", "A")
    assert csv.min_kube_version == "1.28.0"
    assert (csv.replaces, csv.skips, csv.skip_range) == ("a.v0.9.0", ("a.v0.8.0",), "<1.0.0")
    assert csv.install_modes == (model.InstallMode("OwnNamespace", True),)
    assert [item["name"] for item in csv.deployments] == ["a"]
    assert [item["image"] for item in csv.related_images] == ["b"]
    assert [item["type"] for item in csv.webhooks] == ["ConversionWebhook"]
    assert [str(api.gvk) for api in csv.owned_crds] == ["example.org/v1, Kind=A"]
    assert [str(api.gvk) for api in csv.required_crds] == ["example.org/v1, Kind=B"]
    assert [str(api.gvk) for api in csv.owned_api_services] == ["example.org/v1, Kind=C"]
    assert csv.required_api_services == ()
    assert csv.labels == {"x": "z"}


@pytest.mark.parametrize("spec", ["a", "[]", "null", "{install: [], installModes: {}, skips: a}"])
def test_values_of_wrong_types_are_omitted(spec: str) -> None:
    csv = _csv(f"kind: ClusterServiceVersion\nspec: {spec}\n")

    assert csv.install_modes == ()
    assert csv.deployments == ()
    assert csv.skips == ()
    assert csv.version == ""


def test_a_csv_reports_fields_of_wrong_types() -> None:
    csv = _csv("kind: ClusterServiceVersion\nmetadata: {}\nspec: {keywords: a}\n")

    assert ("spec", "keywords") in [difference.keys for difference in csv.differences]


def test_values_keep_fields_that_the_type_does_not_have() -> None:
    csv = _csv("kind: ClusterServiceVersion\nspec: {x: 1}\n")

    assert csv.value["spec"] == {"x": 1}
    assert csv.spec == {}


def _crd(value: Any) -> CustomResourceDefinition:
    return CustomResourceDefinition(Document(value, path="crd.yaml"))


def test_a_crd_has_an_api_for_each_version() -> None:
    crd = _crd(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "spec": {
                "group": "example.org",
                "names": {"kind": "A", "plural": "as"},
                "versions": [{"name": "v1"}, {"name": "v2"}],
            },
        }
    )

    assert not crd.is_beta
    assert crd.plural == "as"
    assert [gvk.version for gvk in crd.gvks] == ["v1", "v2"]


def test_an_old_crd_can_have_one_version_at_the_top_level() -> None:
    old = "apiextensions.k8s.io/v1beta1"

    assert _crd({"apiVersion": old, "spec": {"version": "v1"}}).versions[0]["name"] == "v1"
    assert [gvk.version for gvk in _crd({"apiVersion": old, "spec": {}}).gvks] == [""]


@pytest.mark.parametrize(
    ("root", "path", "wanted"),
    [("a", "b", "a/b"), ("a/", "b", "a/b"), ("", "b", "b"), ("a", "", "a"), ("", "", "."),
     ("/", "b", "/b")],
)  # fmt: skip
def test_places_begin_with_the_path_that_the_user_passed(root: str, path: str, wanted: str) -> None:
    assert model.join(root, path) == wanted


def test_a_resource_shows_its_file() -> None:
    resource = BundleObject(Document({"kind": "A"}, path="a.yaml"))

    assert repr(resource) == "BundleObject(a.yaml)"
    assert resource.path == "a.yaml"
