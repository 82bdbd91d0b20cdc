"""Charts: variable values, escaped values, refused overlays.

`e2e/hybrid/test_chart.py` tests that Helm creates the objects of the overlay from a chart.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.project import chart
from olmkit.project.chart import ChartRequest

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "pond", "namespace": "pond-system"},
    "spec": {
        "replicas": 2,
        "template": {
            "spec": {
                "containers": [
                    {"name": "proxy", "image": "example.com/proxy:v9"},
                    {"name": "manager", "image": "localhost:5000/pond:v1.2.3"},
                ],
                "tolerations": [{"key": "dedicated"}],
            }
        },
    },
}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "pond-system"}}


def of(*others: dict[str, Any], version: str = "", **deployment: Any) -> dict[str, str]:
    found = chart.chart(
        [*others, {**DEPLOYMENT, **deployment}], ChartRequest(name="pond", version=version)
    )
    return {path: found.data(path).decode() for path in found}


def with_image(image: str) -> dict[str, Any]:
    deployment = copy.deepcopy(DEPLOYMENT)
    deployment["spec"]["template"]["spec"]["containers"][1]["image"] = image
    return deployment


def test_values_are_those_of_the_overlay() -> None:
    files = of(NAMESPACE)
    values = documents.load(files["values.yaml"].encode(), "values.yaml").value
    assert values == {
        "affinity": {},
        "image": {
            "digest": "",
            "pullPolicy": "",
            "repository": "localhost:5000/pond",
            "tag": "v1.2.3",
        },
        "imagePullSecrets": [],
        "nodeSelector": {},
        "replicas": 2,
        "resources": {},
        "tolerations": [{"key": "dedicated"}],
    }
    about = documents.load(files["Chart.yaml"].encode(), "Chart.yaml").value
    assert (about["version"], about["appVersion"]) == ("1.2.3", "v1.2.3")
    # The release already has a namespace.
    assert set(files) == {"Chart.yaml", "values.yaml", "templates/deployment-pond.yaml"}


def test_only_the_operator_gets_the_values() -> None:
    text = of()["templates/deployment-pond.yaml"]
    assert "image: example.com/proxy:v9" in text
    assert text.count(".Values.image.repository") == 2  # with a tag, with a digest
    assert text.count(".Values.resources") == 1


@pytest.mark.parametrize(
    ("image", "wanted"),
    [
        ("example.com/pond", ("example.com/pond", "latest", "")),
        (
            f"example.com/pond:v1@sha256:{'a' * 64}",
            ("example.com/pond", "", f"sha256:{'a' * 64}"),
        ),
    ],
)
def test_an_image_is_split(image: str, wanted: tuple[str, str, str]) -> None:
    found = chart.chart([with_image(image)], ChartRequest(name="pond"))
    values = documents.load(found.data("values.yaml"), "").value["image"]
    assert (values["repository"], values["tag"], values["digest"]) == wanted


def test_the_namespace_of_the_overlay_is_replaced_by_that_of_the_release() -> None:
    binding = {
        "kind": "RoleBinding",
        "metadata": {"name": "b", "namespace": "pond-system"},
        "subjects": [{"namespace": "pond-system"}, {"namespace": "other"}],
    }
    certificate = {
        "kind": "Certificate",
        "metadata": {"name": "c", "namespace": "pond-system"},
        "spec": {"dnsNames": ["web.pond-system.svc", "web.pond-system.svc.cluster.local"]},
    }
    hook = {
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {
            "name": "h",
            "annotations": {"cert-manager.io/inject-ca-from": "pond-system/serving"},
        },
    }
    files = of(binding, certificate, hook)
    assert "pond-system" not in "".join(files.values())
    assert "namespace: other" in files["templates/rolebinding-b.yaml"]
    assert (
        "- web.{{ .Release.Namespace }}.svc.cluster.local" in files["templates/certificate-c.yaml"]
    )
    assert (
        "inject-ca-from: {{ .Release.Namespace }}/serving"
        in files["templates/validatingwebhookconfiguration-h.yaml"]
    )


def test_braces_of_an_object_are_escaped() -> None:
    found = of({"kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "{{ .Values.x }}"}})
    assert """a: '{{ "{{" }} .Values.x }}'""" in found["templates/configmap-m.yaml"]


def test_kinds_that_a_cluster_can_lack_have_a_switch() -> None:
    crd = {"kind": "CustomResourceDefinition", "metadata": {"name": "ponds.example.com"}}
    monitor = {"kind": "ServiceMonitor", "metadata": {"name": "m"}}
    files = of(crd, monitor)
    text = files["templates/customresourcedefinition-ponds.example.com.yaml"]
    assert text.splitlines()[1] == "{{- if .Values.crds.enabled }}"
    assert "{{- if .Values.crds.keep }}\n    helm.sh/resource-policy: keep\n    {{- end }}" in text
    assert "{{- if .Values.prometheus.enabled }}" in files["templates/servicemonitor-m.yaml"]
    values = documents.load(files["values.yaml"].encode(), "").value
    assert values["crds"] == {"enabled": True, "keep": True}
    assert values["prometheus"] == {"enabled": True}


def test_objects_with_one_name_have_different_files() -> None:
    one = {"apiVersion": "a/v1", "kind": "Widget", "metadata": {"name": "w"}}
    files = of(one, {**one, "apiVersion": "b/v1"})
    assert {"templates/widget-w.yaml", "templates/widget-w-2.yaml"} <= set(files)


def test_a_version_can_be_given() -> None:
    assert "version: 2.0.0\n" in of(version="v2.0.0")["Chart.yaml"]
    assert "version: 0.1.0\n" in (
        chart.chart([with_image("example.com/pond:main")], ChartRequest(name="p"))
        .data("Chart.yaml")
        .decode()
    )
    with pytest.raises(ConfigurationError, match="`one` is not a version"):
        of(version="one")


def test_an_overlay_without_one_operator_is_refused() -> None:
    request = ChartRequest(name="pond")
    with pytest.raises(InputError, match="exactly one Deployment"):
        chart.chart([NAMESPACE], request)
    with pytest.raises(InputError, match="exactly one Deployment"):
        chart.chart([DEPLOYMENT, DEPLOYMENT], request)


def test_the_same_objects_result_in_the_same_bytes_and_are_unchanged() -> None:
    before = copy.deepcopy(DEPLOYMENT)
    assert of() == of()
    assert before == DEPLOYMENT
