"""Conversion webhooks that OLM refuses: a bundle with one is refused before it is installed."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.olm import bundle_fit, webhook_fit
from olmkit.olm.bundle_fit import ClusterFacts

Manifest = dict[str, Any]
ALL = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
ONLY_ALL = ("AllNamespaces",)
OWN_CRD = "caches.example.com"


def converting(
    *crds: str, modes: tuple[str, ...] = ONLY_ALL, type_: str = "ConversionWebhook"
) -> Manifest:
    hook = {"type": type_, "generateName": "c.kb.io", "conversionCRDs": list(crds)}
    owned = {"name": OWN_CRD, "kind": "Cache", "version": "v1"}
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "cache.v2", "namespace": "apps"},
        "spec": {
            "installModes": [{"type": mode, "supported": mode in modes} for mode in ALL],
            "customresourcedefinitions": {"owned": [owned]},
            "webhookdefinitions": [hook],
        },
    }


@pytest.mark.parametrize(
    ("csv", "says"),
    [
        (converting(OWN_CRD, modes=("OwnNamespace", "AllNamespaces")),
         "it has the conversion webhook `c.kb.io`, and supports `OwnNamespace`"),
        (converting(OWN_CRD, modes=()), "does not support `AllNamespaces`"),
        (converting(), "`c.kb.io` names no CRD"),
        (converting("others.example.com"),
         "names the CRD `others.example.com`, which the bundle does not own"),
    ],
)  # fmt: skip
def test_a_webhook_that_olm_refuses_is_refused_before_the_install(csv: Manifest, says: str) -> None:
    (found,) = webhook_fit.refusals(csv)
    assert says in found.message
    assert found.hint.startswith("correct the bundle")
    (refused,) = bundle_fit.refusals([csv], ClusterFacts(namespace="apps"))
    assert (refused.cause, refused.message) == ("csv-invalid", found.message)


def test_conversion_of_own_crds_in_all_namespaces_is_accepted() -> None:
    csv = converting(OWN_CRD)
    assert not list(webhook_fit.refusals(csv))
    csv["spec"]["installModes"] = []  # OLM only reads modes that are listed.
    assert not list(webhook_fit.refusals(csv))


def test_admission_webhooks_can_have_any_install_mode() -> None:
    csv = converting(modes=ALL, type_="ValidatingAdmissionWebhook")
    assert not list(webhook_fit.refusals(csv))
