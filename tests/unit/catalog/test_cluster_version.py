"""Bundles that do not support the version of a cluster."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import Tree
from olmkit.catalog import cluster_version
from olmkit.catalog.cluster_version import ClusterVersion
from olmkit.catalog.model import Bundle
from olmkit.jobs.catalog import catalogs as catalog_job


def bundle(*properties: dict[str, Any]) -> Bundle:
    own = {"type": "olm.package", "value": {"packageName": "a", "version": "1.0.0"}}
    blobs = (
        {"schema": "olm.package", "name": "a", "defaultChannel": "s"},
        {"schema": "olm.channel", "package": "a", "name": "s", "entries": [{"name": "a.v1"}]},
        {"schema": "olm.bundle", "package": "a", "name": "a.v1", "image": "x/a:1",
         "properties": [own, *properties]},
    )  # fmt: skip
    tree = Tree({"c.json": "\n".join(map(json.dumps, blobs)).encode()})
    return catalog_job.read("c", tree=tree, valid=False).packages["a"].bundles["a.v1"]


def metadata(minimum: Any) -> dict[str, Any]:
    return {"type": "olm.csv.metadata", "value": {"minKubeVersion": minimum}}


def inlined(minimum: Any) -> dict[str, Any]:
    csv = {"kind": "ClusterServiceVersion", "spec": {"minKubeVersion": minimum}}
    data = base64.b64encode(json.dumps(csv).encode()).decode()
    return {"type": "olm.bundle.object", "value": {"data": data}}


def maximum(version: Any) -> dict[str, Any]:
    return {"type": "olm.maxOpenShiftVersion", "value": version}


@pytest.mark.parametrize(
    ("properties", "cluster", "reasons"),
    [
        ([metadata("1.30.0")], "1.29", ["its `minKubeVersion` is 1.30.0"]),
        ([metadata("1.30.0")], "1.29.9", ["its `minKubeVersion` is 1.30.0"]),
        ([metadata("1.30.0")], "v1.30", []),
        ([metadata("1.30.2")], "1.30", []),  # a newer patch version is available
        ([metadata("1.30.2")], "1.30.1", ["its `minKubeVersion` is 1.30.2"]),
        ([metadata("1.30.0")], "4.16", ["its `minKubeVersion` is 1.30.0"]),
        ([metadata("1.30.0")], "4.17", []),
        ([maximum("4.12")], "4.13", ["its `olm.maxOpenShiftVersion` is 4.12"]),
        ([maximum("4.12.3"), metadata("9.0.0")], "4.12", ["its `minKubeVersion` is 9.0.0"]),
        ([maximum(4.9)], "4.10", ["its `olm.maxOpenShiftVersion` is 4.9"]),
        ([maximum("4.12")], "1.99", []),
        ([inlined("1.30.0")], "1.29", ["its `minKubeVersion` is 1.30.0"]),
        ([inlined("1.30.0")], "1.30", []),
        ([inlined("1.30.0"), metadata("")], "1.29", []),
        ([inlined(5)], "1.29", []),
        ([metadata("soon"), maximum("none")], "4.1", []),
        ([], "1.1", []),
    ],
)
def test_a_bundle_declares_which_clusters_it_does_not_support(
    properties: list[dict[str, Any]], cluster: str, reasons: list[str]
) -> None:
    found = cluster_version.limits(bundle(*properties), ClusterVersion.parse(cluster))
    assert [one.reason for one in found] == reasons
    assert [one.stops_v0 for one in found] == ["minKube" in one for one in reasons]


@pytest.mark.parametrize("text", ["", "1", "3.11", "5.0", "1.x", "1.30.1.1", ">=1.30", "v4.16-rc"])
def test_invalid_versions_are_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a version of Kubernetes or OpenShift"):
        ClusterVersion.parse(text)
