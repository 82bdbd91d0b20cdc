"""ClusterExtensions and ClusterCatalogs: what is created."""

from __future__ import annotations

import pytest

from olmkit.olm.v1 import extension as v1
from olmkit.olm.v1.extension import ExtensionRequest


def test_an_extension_has_the_requested_fields_and_no_others() -> None:
    bare = v1.cluster_extension(ExtensionRequest(package="cache", namespace="apps"))
    full = v1.cluster_extension(
        ExtensionRequest(
            package="cache",
            namespace="apps",
            version="1.x",
            channels=("stable",),
            catalog="shelf",
            service_account="installer",
        )
    )

    assert bare["spec"] == {
        "namespace": "apps",
        "source": {"sourceType": "Catalog", "catalog": {"packageName": "cache"}},
    }
    assert full["spec"]["serviceAccount"] == {"name": "installer"}
    assert full["spec"]["source"]["catalog"] == {
        "packageName": "cache",
        "version": "1.x",
        "channels": ["stable"],
        "selector": {"matchLabels": {v1.CATALOG_NAME_LABEL: "shelf"}},
    }


def test_a_catalog_is_polled_on_request() -> None:
    request = ExtensionRequest(
        package="cache", namespace="a", catalog="c", catalog_image="i:1", poll_minutes=5
    )

    assert v1.cluster_catalog(request)["spec"]["source"]["image"] == {
        "ref": "i:1",
        "pollIntervalMinutes": 5,
    }


@pytest.mark.parametrize("required", [True, False])
def test_the_crd_shows_whether_a_service_account_is_required(required: bool) -> None:
    spec = {"required": ["namespace", *(["serviceAccount"] if required else [])]}
    schema = {"openAPIV3Schema": {"properties": {"spec": spec}}}

    assert v1.requires_service_account({"spec": {"versions": [{"schema": schema}]}}) is required


def test_channels_are_separated_by_commas() -> None:
    assert v1.split_channels("") == ()
    assert v1.split_channels("stable") == ("stable",)
    assert v1.split_channels("stable, fast,,stable") == ("stable", "fast")
