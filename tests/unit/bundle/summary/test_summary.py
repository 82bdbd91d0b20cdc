from __future__ import annotations

import json

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.bundle import layout
from olmkit.bundle.summary import summary

CSV = {
    "kind": "ClusterServiceVersion",
    "metadata": {"name": "pot.v1.0.0", "annotations": {"olm.skipRange": "<1.0.0"}},
    "spec": {
        "version": "1.0.0",
        "displayName": "Pot",
        "installModes": [
            {"type": "OwnNamespace", "supported": False},
            {"type": "AllNamespaces", "supported": True},
        ],
        "relatedImages": [{"name": "pot", "image": "example.com/pot:1"}],
        "webhookdefinitions": [
            {
                "type": "ValidatingAdmissionWebhook",
                "generateName": "v.example.com",
                "rules": [
                    {"apiGroups": ["a.com"], "resources": ["pots"], "operations": ["CREATE"]}
                ],
            }
        ],
        "customresourcedefinitions": {
            "owned": [{"name": "pots.a.com", "kind": "Pot", "version": "v1"}],
            "required": [{"name": "lids.b.com", "kind": "Lid", "version": "v1"}],
        },
        "apiservicedefinitions": {
            "owned": [{"name": "cups", "group": "c.com", "version": "v1", "kind": "Cup"}]
        },
        "install": {
            "spec": {
                "deployments": [
                    {
                        "name": "manager",
                        "spec": {
                            "template": {
                                "spec": {
                                    "containers": [{"name": "main", "image": "example.com/pot:1"}]
                                }
                            }
                        },
                    }
                ]
            }
        },
    },
}
FILES = {
    "manifests/csv.json": json.dumps(CSV).encode(),
    "metadata/annotations.yaml": b"annotations:\n"
    b"  operators.operatorframework.io.bundle.package.v1: pot\n"
    b"  operators.operatorframework.io.bundle.channels.v1: a, b\n",
    "metadata/dependencies.yaml": b"dependencies:\n"
    b"- {type: olm.package, value: {packageName: lid, version: '1'}}\n",
}


def test_a_bundle_has_a_summary() -> None:
    found = summary.summarize(layout.read(Tree(FILES), "bundle"))

    assert (found.name, found.package, found.version) == ("pot.v1.0.0", "pot", "1.0.0")
    assert found.channels == ("a", "b")
    assert found.install_modes == ("AllNamespaces",)
    assert [one.name for one in found.provided] == ["pots.a.com", "cups"]
    assert found.provided[1].is_api_service
    assert [one.name for one in found.required] == ["lids.b.com"]
    assert found.accounts == ("default",)
    (image,) = found.images
    assert image.places == ("manager/main", "relatedImages/pot")
    assert not image.is_pinned
    assert found.webhooks[0].resources == ("create: pots.a.com",)
    assert found.dependencies[0].value == {"packageName": "lid", "version": "1"}
    assert found.skip_range == "<1.0.0"
    assert (found.files, found.size) == (3, sum(map(len, FILES.values())))


def test_a_bundle_without_a_csv_has_no_summary() -> None:
    files = {**FILES, "manifests/csv.json": b'{"kind": "Other"}'}

    with pytest.raises(InputError, match="has no ClusterServiceVersion"):
        summary.summarize(layout.read(Tree(files), "bundle"))


@pytest.mark.parametrize("spec", [None, 3, [], {"install": 3}, {"webhookdefinitions": [3]}])
def test_an_invalid_csv_never_raises_an_exception(spec: object) -> None:
    csv = {**CSV, "spec": spec}
    files = {**FILES, "manifests/csv.json": json.dumps(csv).encode()}

    assert summary.summarize(layout.read(Tree(files), "bundle")).name == "pot.v1.0.0"
