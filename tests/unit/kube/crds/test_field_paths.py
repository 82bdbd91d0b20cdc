"""Paths of columns and of the scale subresource, against schemas."""

from __future__ import annotations

import pytest

from olmkit.kube.crds import field_paths

SCHEMA = {
    "properties": {
        "spec": {
            "properties": {
                "replicas": {"type": "integer"},
                "free": {"x-kubernetes-preserve-unknown-fields": True},
                "labels": {"additionalProperties": {"type": "string"}},
                "parts": {"items": {"properties": {"name": {"type": "string"}}}},
            }
        }
    }
}


@pytest.mark.parametrize(
    ("path", "absent"),
    [
        (".spec.replicas", ""),
        (".spec.replica", ".spec.replica"),
        (".spec.replicas.more", ".spec.replicas.more"),
        (".status.replicas", ".status"),
        (".spec.free.whatever.there", ""),
        (".spec.labels.app", ""),
        (".spec.parts[0].name", ""),
        (".spec.parts[*].nam", ".spec.parts[*].nam"),
        (".spec.parts[?(@.name=='a')].size", ".spec.parts[?(@.name=='a')].size"),
        (".metadata.name", ""),
        (".apiVersion", ""),
        (".spec['replica']", ""),
        ("spec.replica", ""),
        ("..replica", ""),
        ("", ""),
    ],
)
def test_the_first_field_that_no_object_can_have_is_reported(path: str, absent: str) -> None:
    assert field_paths.missing_field(SCHEMA, path) == absent
