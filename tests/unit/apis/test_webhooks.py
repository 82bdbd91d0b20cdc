"""Webhook configurations from markers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from olmkit.apis import webhooks
from olmkit.apis.findings import Findings
from olmkit.base import documents

WHOLE = (
    "kubebuilder:webhook:path=/x,mutating=false,failurePolicy=fail,sideEffects=None,"
    "groups=core,resources=pods,verbs=create,versions=v1,name=x.example.com,"
    "admissionReviewVersions=v1"
)
MARKER = re.compile(r"^// \+(kubebuilder:webhook.*)$", re.MULTILINE)


def one(projects: Any, text: str) -> dict[str, Any]:
    sources, findings = projects.marked([text])
    (found,) = webhooks.configurations(sources, findings)
    assert not findings.items
    webhook: dict[str, Any] = found["webhooks"][0]
    return webhook


def test_a_marker_generates_a_webhook(projects: Any) -> None:
    assert one(projects, WHOLE) == {
        "name": "x.example.com",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {
            "service": {"name": "webhook-service", "namespace": "system", "path": "/x"}
        },
        "failurePolicy": "Fail",
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["pods"],
            }
        ],
        "sideEffects": "None",
    }


def test_a_patch_is_merged_and_empty_values_are_omitted_as_in_the_api(projects: Any) -> None:
    patch = '{"namespaceSelector":{"matchLabels":{"a":"b"}},"rules":[],"failurePolicy":null}'
    found = one(projects, f"{WHOLE},patch=`{patch}`")
    assert found["namespaceSelector"] == {"matchLabels": {"a": "b"}}
    assert "rules" not in found
    assert "failurePolicy" not in found


def test_a_patch_can_set_every_field_of_a_webhook(projects: Any) -> None:
    patch = (
        '{"matchConditions":[{"name":"a"}],"clientConfig":{"caBundle":"Cg=="},"name":null,'
        '"objectSelector":{"matchExpressions":[{"key":"k"}]},'
        '"namespaceSelector":{"matchLabels":{"b":null}},"rules":[{"scope":"*","resources":[]}]}'
    )
    found = one(projects, f"{WHOLE},patch=`{patch}`")

    assert found["name"] == ""
    assert found["matchConditions"] == [{"name": "a", "expression": ""}]
    assert found["objectSelector"] == {"matchExpressions": [{"key": "k", "operator": ""}]}
    assert found["namespaceSelector"] == {}
    assert found["rules"] == [{"scope": "*"}]


@pytest.mark.parametrize(
    "text",
    [
        WHOLE.replace("path=/x,", ""),
        WHOLE + ',url="https://example.com"',
        WHOLE.replace("sideEffects=None", "sideEffects=Some"),
        WHOLE.replace("sideEffects=None", "sideEffects=Unknown"),
        WHOLE.replace("sideEffects=None,", ""),
        WHOLE + ",timeoutSeconds=31",
        WHOLE + ",timeoutSeconds=-1",
        WHOLE + ",matchPolicy=Sometimes",
        WHOLE + ",webhookVersions=v1;v1beta1",
        WHOLE.replace("admissionReviewVersions=v1", "admissionReviewVersions={}"),
        WHOLE + ",patch=`{a: 1`",
        WHOLE + ",patch=`[]`",
        WHOLE + ',patch=`{"nonsense":1}`',
        WHOLE + ',patch=`{"TimeoutSeconds":5}`',
        WHOLE + ',patch=`{"timeoutSeconds":"5"}`',
        WHOLE + ',patch=`{"timeoutSeconds":1.5}`',
        WHOLE + ',patch=`{"timeoutSeconds":31}`',
        WHOLE + ',patch=`{"sideEffects":"Some"}`',
        WHOLE + ',patch=`{"sideEffects":null}`',
        WHOLE + ',patch=`{"clientConfig":null}`',
        WHOLE + ',patch=`{"clientConfig":{"url":"https://example.com"}}`',
        WHOLE + ',patch=`{"clientConfig":{"caBundle":"!"}}`',
        WHOLE + ',patch=`{"rules":{}}`',
        WHOLE + ',patch=`{"rules":[null]}`',
        WHOLE + ',patch=`{"rules":[{"nonsense":1}]}`',
        WHOLE + ',patch=`{"namespaceSelector":{"matchLabels":{"a":1}}}`',
        WHOLE + ",servicePort=0",
        WHOLE + ",servicePort=65536",
    ],
)
def test_a_webhook_that_the_api_server_would_reject_is_a_finding(projects: Any, text: str) -> None:
    sources, findings = projects.marked([text])
    webhooks.configurations(sources, findings)
    assert [found.rule for found in findings] == ["API009"]


def test_a_second_name_of_a_configuration_is_a_finding(projects: Any) -> None:
    name = "kubebuilder:webhookconfiguration:mutating=false,name="
    sources, findings = projects.marked([name + "one", name + "two"])
    assert webhooks.configurations(sources, findings) == []
    assert [found.rule for found in findings] == ["API009"]


def test_the_last_package_names_a_configuration_even_with_an_empty_name(projects: Any) -> None:
    name = "kubebuilder:webhookconfiguration:mutating=false"
    named, _ = projects.marked([name], [WHOLE, name + ",name=mine"])
    unnamed, _ = projects.marked([WHOLE, name + ",name=mine"], [name])

    assert [
        webhooks.configurations(sources, Findings())[0]["metadata"]["name"]
        for sources in (named, unnamed)
    ] == ["mine", "validating-webhook-configuration"]


@pytest.mark.parametrize(
    ("folders", "expected"), [(("a", "b"), "webhook"), (("a",), "a"), (("b",), "b")]
)
def test_configurations_are_those_of_controller_gen(
    projects: Any, vectors: Path, folders: tuple[str, ...], expected: str
) -> None:
    case = vectors / "go/webhook-all"
    markers = [
        # The markers for `lost…` are in documentation of functions, which the reference ignores.
        [
            text
            for file in sorted((case / "project" / folder).glob("*.go"))
            for text in MARKER.findall(file.read_text())
            if "path=/lost" not in text
        ]
        for folder in folders
    ]
    sources, findings = projects.marked(*markers)
    found = webhooks.configurations(sources, findings)
    assert not findings.items
    data = (case / "expected" / expected / "manifests.yaml").read_bytes()
    wanted = [document.value for document in documents.load_all(data, "manifests.yaml")]
    assert found == [one for one in wanted if one]
    assert b"".join(b"---\n" + documents.dump(one) for one in found) == data
