"""Webhook definitions from configurations, services and CRDs."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import Diagnostic, InputError
from olmkit.bundle.generation import collect, webhooks

SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: hook-service}
spec: {selector: {app: a}, ports: [{port: 443, targetPort: 9443}]}
---
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: unlabelled}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec: {template: {metadata: {labels: {app: a, more: b}}}}
---
"""
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: NAME.example.com}
spec:
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {service: {name: hook-service, namespace: n, path: /convert}}
---
"""


def defined(text: str) -> tuple[list[dict[str, Any]], list[Diagnostic]]:
    notes: list[Diagnostic] = []
    collection = collect.collect(documents.load_all(text.encode(), "in"))
    return [item.value for item in webhooks.define(collection, notes.append)], notes


def hook(kind: str = "Validating", **fields: Any) -> str:
    value = {"name": "h.kb.io", "clientConfig": {"service": {"name": "hook-service"}}, **fields}
    manifest = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": "c"},
        "webhooks": [value],
    }
    return documents.dump(manifest).decode() + "---\n"


def test_port_and_deployment_come_from_the_service() -> None:
    found, notes = defined(SERVICE + DEPLOYMENT + hook())
    assert found == [
        {
            "type": "ValidatingAdmissionWebhook",
            "generateName": "h.kb.io",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1beta1"],
            "containerPort": 443,
            "targetPort": 9443,
            "deploymentName": "d",
        }
    ]
    assert not notes


def test_only_mutating_webhooks_are_reinvoked() -> None:
    for kind, has in (("Mutating", True), ("Validating", False)):
        found, _ = defined(SERVICE + DEPLOYMENT + hook(kind, reinvocationPolicy="IfNeeded"))
        assert ("reinvocationPolicy" in found[0]) is has


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (hook(), "hook"),
        (SERVICE + hook(), "hook"),
        (SERVICE.replace("selector: {app: a}, ", "") + DEPLOYMENT + hook(), "hook"),
    ],
    ids=["no-service", "no-deployment", "no-selector"],
)
def test_without_a_target_the_name_is_a_default(text: str, name: str) -> None:
    found, _ = defined(text)
    assert found[0]["deploymentName"] == name


def test_a_missing_service_is_reported() -> None:
    _, notes = defined(hook())
    assert [note.rule for note in notes] == ["PRJ108"]


def test_fields_that_a_csv_cannot_express_are_reported() -> None:
    selector = {"matchLabels": {"a": "b"}}
    _, notes = defined(
        SERVICE
        + DEPLOYMENT
        + hook(namespaceSelector=selector, matchConditions=[{"name": "x", "expression": "true"}])
    )
    assert [note.rule for note in notes] == ["PRJ107", "PRJ107"]


def test_a_webhook_with_a_url_has_no_deployment() -> None:
    found, notes = defined(hook(clientConfig={"url": "https://example.com"}))
    assert "deploymentName" not in found[0]
    assert [note.rule for note in notes] == ["PRJ108"]


def test_conversions_are_grouped_by_service_port_and_path() -> None:
    other = CRD.replace("path: /convert", "path: /convert, port: 9443")
    found, _ = defined(
        SERVICE
        + DEPLOYMENT
        + CRD.replace("NAME", "bs")
        + CRD.replace("NAME", "as")
        + other.replace("NAME", "cs")
    )
    assert [(item["generateName"], item["conversionCRDs"]) for item in found] == [
        ("casbs.kb.io", ["as.example.com", "bs.example.com"]),
        ("ccs.kb.io", ["cs.example.com"]),
    ]
    assert found[0]["webhookPath"] == "/convert"
    assert found[0]["containerPort"] == 443
    assert "containerPort" not in found[1]


def test_a_conversion_without_path_is_refused() -> None:
    with pytest.raises(InputError, match="has no path"):
        defined(CRD.replace("path: /convert", ""))


def test_the_old_form_of_a_conversion_is_read() -> None:
    found, _ = defined("""\
apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: as.example.com}
spec:
  conversion:
    strategy: Webhook
    conversionReviewVersions: [v1beta1]
    webhookClientConfig: {service: {name: s, namespace: n, path: /c}}
""")
    assert found[0]["admissionReviewVersions"] == ["v1beta1"]
