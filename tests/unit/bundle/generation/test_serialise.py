"""How CSVs and other objects are written."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.bundle.generation import serialise
from olmkit.bundle.model import BundleObject


def resource(value: dict[str, Any]) -> BundleObject:
    return BundleObject(documents.load(documents.dump(value), "in.yaml"))


def test_a_csv_has_its_empty_fields_and_no_fields_of_a_cluster() -> None:
    written = serialise.csv_manifest(
        {
            "kind": "ClusterServiceVersion",
            "metadata": {"name": "p.v1", "creationTimestamp": None},
            "spec": {
                "cleanup": {"enabled": False},
                "install": {
                    "spec": {
                        "deployments": [
                            {
                                "name": "d",
                                "spec": {
                                    "template": {
                                        "metadata": {"creationTimestamp": None},
                                        "spec": {"containers": []},
                                    }
                                },
                            }
                        ]
                    }
                },
            },
            "status": {"phase": "Succeeded"},
        }
    )
    assert documents.dump(written).decode() == (
        "kind: ClusterServiceVersion\n"
        "metadata:\n"
        "  name: p.v1\n"
        "spec:\n"
        "  apiservicedefinitions: {}\n"
        "  customresourcedefinitions: {}\n"
        '  displayName: ""\n'
        "  install:\n"
        "    spec:\n"
        "      deployments:\n"
        "      - name: d\n"
        "        spec:\n"
        "          selector: null\n"
        "          strategy: {}\n"
        "          template:\n"
        "            metadata: {}\n"
        "            spec:\n"
        "              containers: []\n"
        '    strategy: ""\n'
        "  provider: {}\n"
    )


def test_requested_cleanup_is_kept() -> None:
    written = serialise.csv_manifest({"metadata": {}, "spec": {"cleanup": {"enabled": True}}})
    assert written["spec"]["cleanup"] == {"enabled": True}


def test_an_object_only_loses_namespace_and_status() -> None:
    written = serialise.manifest(
        resource(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "s", "namespace": "n", "creationTimestamp": None},
                "spec": {"invented": []},
                "status": {"loadBalancer": {}},
            }
        )
    )
    assert written == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"invented": []},
    }


def test_a_wrong_type_is_refused_at_its_place() -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "r"},
        "rules": [{"verbs": "get"}],
    }
    with pytest.raises(
        InputError, match=r"`rules\[0\].verbs` must be a list in Role `r`"
    ) as refused:
        serialise.manifest(resource(role))
    at = refused.value.diagnostics[0].at
    assert at is not None
    assert at.line == 6


def test_examples_are_written_as_go_writes_json() -> None:
    text = serialise.examples([{"b": 1, "a": "<&>\u2028", "empty": {}, "list": []}])
    assert text == (
        "[\n  {\n"
        '    "a": "\\u003c\\u0026\\u003e\\u2028",\n'
        '    "b": 1,\n    "empty": {},\n    "list": []\n  }\n]'
    )
    assert serialise.examples([]) == "[]"


@pytest.mark.parametrize(
    ("text", "count"), [("[]", 0), ('[{"a": 1}, 3]', 1), ("no json", 0), ("{}", 0), ("", 0)]
)
def test_invalid_examples_have_no_objects(text: str, count: int) -> None:
    assert len(serialise.parse_examples(text)) == count


def test_a_crd_is_written_without_empty_fields_of_its_type() -> None:
    schema = {
        "type": "object",
        "required": [],
        "properties": {
            "a": {"type": "string", "format": "", "nullable": False, "minLength": 0},
            "b": {"type": "object", "additionalProperties": {"type": "string", "pattern": ""}},
            "c": {"type": "object", "additionalProperties": True},
            "d": {"type": "array", "items": {"type": "string", "uniqueItems": False}},
        },
        "default": {"a": "", "b": {}},
    }
    version = {
        "name": "v1",
        "served": False,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": "A", "type": "date", "jsonPath": ".a", "priority": 0}
        ],
    }
    written = serialise.manifest(
        resource(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": "x.g", "labels": {}, "creationTimestamp": None},
                "spec": {
                    "group": "g",
                    "names": {"kind": "X", "plural": "x", "shortNames": []},
                    "scope": "Cluster",
                    "preserveUnknownFields": False,
                    "versions": [version],
                },
                "status": {"storedVersions": []},
            }
        )
    )
    assert written == {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "x.g"},
        "spec": {
            "group": "g",
            "names": {"kind": "X", "plural": "x"},
            "scope": "Cluster",
            "versions": [
                {
                    **version,
                    "additionalPrinterColumns": [{"name": "A", "type": "date", "jsonPath": ".a"}],
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "a": {"type": "string", "minLength": 0},
                                "b": {
                                    "type": "object",
                                    "additionalProperties": {"type": "string"},
                                },
                                "c": {"type": "object", "additionalProperties": True},
                                "d": {"type": "array", "items": {"type": "string"}},
                            },
                            "default": {"a": "", "b": {}},
                        }
                    },
                }
            ],
        },
    }


def test_a_service_is_written_without_empty_fields_of_its_type() -> None:
    written = serialise.manifest(
        resource(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "s", "namespace": "n", "annotations": {}},
                "spec": {"externalName": "", "selector": {}, "ports": [{"port": 1}]},
                "status": {"loadBalancer": {}},
            }
        )
    )
    assert written == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"ports": [{"port": 1}]},
    }
