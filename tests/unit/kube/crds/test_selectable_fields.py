"""Paths of selectable fields, as the API server validates them."""

from __future__ import annotations

import pytest

from olmkit.kube.crds import selectable_fields

SCHEMA = {
    "type": "object",
    "properties": {
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "properties": {
                "site": {"type": "string", "enum": ["a"]},
                "size": {"type": "integer"},
                "ratio": {"type": "number"},
                "port": {"x-kubernetes-int-or-string": True},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        },
    },
}


@pytest.mark.parametrize("path", [".spec.site", ".spec.size", ".spec.labels.any"])
def test_a_path_to_a_scalar_is_accepted(path: str) -> None:
    assert selectable_fields.problem(SCHEMA, path) == ""


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (".spec.nowhere", "does not refer to a valid field"),
        (".spec.site.deeper", "does not refer to a valid field"),
        (".metadata.name", "does not refer to a valid field"),
        (".metadata", "must not point to fields in metadata"),
        (".spec", "must point to a field of type string, boolean or integer"),
        (".spec.ratio", "must point to a field of type string, boolean or integer"),
        (".spec.port", "must point to a field of type string, boolean or integer"),
        ("spec.site", "expected [ or . but got: spec"),
        (".spec['site']", "array notation is not allowed"),
        (".spec.", "unexpected end of JSON path"),
    ],
)
def test_the_reason_is_that_of_the_api_server(path: str, said: str) -> None:
    assert said in selectable_fields.problem(SCHEMA, path)


def test_without_a_schema_no_field_exists() -> None:
    assert "valid field" in selectable_fields.problem({}, ".spec.site")
