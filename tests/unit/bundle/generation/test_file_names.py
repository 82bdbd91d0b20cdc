"""The names of a bundle's files."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.bundle.generation import file_names

CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.com"},
    "spec": {"group": "example.com", "names": {"kind": "Thing", "plural": "things"}},
}


@pytest.mark.parametrize(
    ("manifest", "name"),
    [
        (CRD, "example.com_things.yaml"),
        (
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}},
            "s_v1_service.yaml",
        ),
        (
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}},
            "b_policy_v1_poddisruptionbudget.yaml",
        ),
        (
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "../../etc/x"}},
            "-..-etc-x_v1_secret.yaml",
        ),
    ],
)
def test_files_are_named_by_their_object(manifest: dict[str, Any], name: str) -> None:
    assert file_names.file_name(manifest) == name
