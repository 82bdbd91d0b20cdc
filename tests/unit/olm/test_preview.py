"""Permissions in words, before an install."""

from __future__ import annotations

from typing import Any

from olmkit.bundle.summary.grants import Grant
from olmkit.olm import preview


def rule(**fields: Any) -> dict[str, Any]:
    return {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]} | fields


CSV: dict[str, Any] = {
    "kind": "ClusterServiceVersion",
    "metadata": {"name": "cache.v1.0.0"},
    "spec": {
        "version": "1.0.0",
        "minKubeVersion": "1.25.0",
        "installModes": [
            {"type": "AllNamespaces", "supported": True},
            {"type": "OwnNamespace", "supported": True},
            {"type": "SingleNamespace", "supported": False},
        ],
        "customresourcedefinitions": {
            "owned": [
                {"name": "caches.example.com", "version": version} for version in ("v1", "v2")
            ],
            "required": [{"name": "dbs.example.com"}],
        },
        "webhookdefinitions": [{"type": "ConversionWebhook", "generateName": "c.example.com"}],
        "install": {
            "spec": {
                "clusterPermissions": [
                    {"serviceAccountName": "m", "rules": [rule(resources=["secrets"])]}
                ],
                "permissions": [
                    {
                        "serviceAccountName": "m",
                        "rules": [rule(apiGroups=["apps"], resources=["deployments"],
                                       resourceNames=["x"])],
                    }
                ],
                "deployments": [
                    {
                        "name": "d",
                        "spec": {"template": {"spec": {
                            "initContainers": [{"image": "i"}],
                            "containers": [{"image": "m:1"}, {"image": "m:1"}]}}},
                    }
                ],
            }
        },
    },
}  # fmt: skip


def test_a_csv_shows_its_contents() -> None:
    found = preview.preview_csv(CSV)

    assert found.modes == ("OwnNamespace", "AllNamespaces")
    assert found.images == ("i", "m:1")
    assert (found.crds, found.requires) == (("caches.example.com",), ("dbs.example.com",))
    assert [str(grant) for grant in found.grants] == [
        "get: secrets",
        "get: deployments.apps named x",
    ]


def test_far_reaching_permissions_are_highlighted() -> None:
    text = "\n".join(preview.lines(preview.preview_csv(CSV), ["apps"]))

    assert "get: secrets  (far-reaching)" in text
    assert "permissions in `apps`:" in text


def test_what_several_rules_grant_is_shown_once() -> None:
    twice = {"serviceAccountName": "n", "rules": [rule(resources=["nodes"])] * 2}
    install = {"spec": {"clusterPermissions": [twice, {**twice, "serviceAccountName": "o"}]}}
    csv = {**CSV, "spec": {"install": install}}

    lines = list(preview.lines(preview.preview_csv(csv), [""]))

    assert lines[1:] == ["  permissions in the whole cluster:", "    get: nodes"]


def test_permissions_of_an_operator_that_watches_all_namespaces_are_for_the_cluster() -> None:
    text = "\n".join(preview.lines(preview.preview_csv(CSV), [""]))

    assert "it has all of these in the whole cluster" in text


def test_paths_that_are_not_resources_are_shown_unchanged() -> None:
    grant = Grant(
        account="m", scope="cluster", groups=(), resources=(), verbs=("get",), urls=("/metrics",)
    )

    assert str(grant) == "get: /metrics"
    assert not grant.is_far_reaching


def test_an_empty_csv_shows_nothing() -> None:
    assert preview.preview_csv({}).grants == ()
