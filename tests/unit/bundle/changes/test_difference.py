"""Bundles of one small form, each with one change."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from olmkit.base.tree import Tree
from olmkit.bundle import layout
from olmkit.bundle.changes import crds, difference
from olmkit.bundle.changes.change import BundleChange, ChangeLevel
from olmkit.bundle.model import Bundle

Value = dict[str, Any]
PACKAGE = "operators.operatorframework.io.bundle.package.v1"
CHANNELS = "operators.operatorframework.io.bundle.channels.v1"
DEFAULT = "operators.operatorframework.io.bundle.channel.default.v1"


def csv(version: str) -> Value:
    containers = [{"name": "main", "image": "example.com/pot@sha256:1"}]
    deployment = {
        "name": "manager",
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "pot"}},
            "template": {"spec": {"serviceAccountName": "pot", "containers": containers}},
        },
    }
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": f"pot.v{version}", "annotations": {}},
        "spec": {
            "version": version,
            "displayName": "Pot",
            "minKubeVersion": "1.20.0",
            "installModes": [
                {"type": mode, "supported": True} for mode in ("OwnNamespace", "AllNamespaces")
            ],
            "customresourcedefinitions": {
                "owned": [{"name": "pots.a.com", "kind": "Pot", "version": "v1"}]
            },
            "install": {
                "spec": {
                    "deployments": [deployment],
                    "clusterPermissions": [{"serviceAccountName": "pot", "rules": rules}],
                }
            },
        },
    }


def crd() -> Value:
    schema = {"type": "object", "properties": {"spec": {"type": "object"}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1",
        "metadata": {"name": "pots.a.com"},
        "spec": {
            "group": "a.com",
            "scope": "Namespaced",
            "names": {"kind": "Pot", "plural": "pots"},
            "versions": [version],
        },
    }


class Files:
    """The files of a bundle, for changes."""

    def __init__(self, version: str) -> None:
        self.csv = csv(version)
        self.crd: Value | None = crd()
        self.service: Value | None = {"kind": "Service", "metadata": {"name": "pot"}}
        self.annotations = {PACKAGE: "pot", CHANNELS: "stable", DEFAULT: "stable"}
        self.dependencies: list[Value] = []
        self.csv["spec"]["replaces"] = "pot.v1.0.0"

    @property
    def spec(self) -> Value:
        found: Value = self.csv["spec"]
        return found

    @property
    def deployment(self) -> Value:
        found: Value = self.spec["install"]["spec"]["deployments"][0]
        return found

    @property
    def rules(self) -> list[Value]:
        found: list[Value] = self.spec["install"]["spec"]["clusterPermissions"][0]["rules"]
        return found

    def bundle(self) -> Bundle:
        files: Value = {
            "manifests/csv.json": self.csv,
            "metadata/annotations.yaml": {"annotations": self.annotations},
            "metadata/dependencies.yaml": {"dependencies": self.dependencies},
        }
        for name, value in (("crd", self.crd), ("service", self.service)):
            if value is not None:
                files[f"manifests/{name}.json"] = value
        return layout.read(
            Tree({path: json.dumps(value).encode() for path, value in files.items()}), "bundle"
        )


def changes(
    change: Callable[[Files], None], *, old: Callable[[Files], None] | None = None, olm: str = ""
) -> list[BundleChange]:
    before, after = Files("1.0.0"), Files("1.1.0")
    if old is not None:
        old(before)
    change(after)
    generations = (olm,) if olm else ("v0", "v1")
    found = difference.compare_bundles(before.bundle(), after.bundle(), olm=generations)
    return [one for one in found.changes if one.rule != "upgrade-edge"]


def _webhook(files: Files) -> None:
    files.spec["webhookdefinitions"] = [
        {"type": "ValidatingAdmissionWebhook", "generateName": "v.a.com"}
    ]


def _need(files: Files) -> None:
    files.spec["customresourcedefinitions"]["required"] = [
        {"name": "lids.b.com", "kind": "Lid", "version": "v1"}
    ]


def _unserve(files: Files) -> None:
    assert files.crd is not None
    second = copy.deepcopy(files.crd["spec"]["versions"][0])
    files.crd["spec"]["versions"] += [{**second, "name": "v2", "storage": False}]
    files.crd["spec"]["versions"][0]["served"] = False


def _tighten(files: Files) -> None:
    assert files.crd is not None
    schema = files.crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["required"] = ["size"]


def _rule(files: Files) -> None:
    assert files.crd is not None
    schema = files.crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["x-kubernetes-validations"] = [{"rule": "self.metadata.name != ''"}]


TABLE: dict[str, tuple[Callable[[Files], Any], str, str, tuple[str, ...]]] = {
    "another package": (
        lambda files: files.annotations.update({PACKAGE: "pan"}),
        "package-changed", "blocks", ("v0", "v1"),
    ),
    "no edge": (
        lambda files: files.spec.pop("replaces"), "no-upgrade-edge", "warns", ("v0", "v1"),
    ),
    "lower version": (
        lambda files: files.spec.update(version="0.9.0"),
        "version-not-higher", "blocks", ("v1",),
    ),
    "same name": (
        lambda files: files.csv["metadata"].update(name="pot.v1.0.0"),
        "same-name", "blocks", ("v0",),
    ),
    "mode of OLM v0": (
        lambda files: files.spec["installModes"].pop(0),
        "install-mode-removed", "blocks", ("v0",),
    ),
    "mode of both": (
        lambda files: files.spec["installModes"].pop(1),
        "install-mode-removed", "blocks", ("v0", "v1"),
    ),
    "newer Kubernetes": (
        lambda files: files.spec.update(minKubeVersion="1.30.0"),
        "min-kube-version-raised", "warns", ("v0",),
    ),
    "older Kubernetes": (
        lambda files: files.spec.pop("minKubeVersion"), "min-kube-version-lowered", "info", ("v0",),
    ),
    "needs an API": (_need, "required-api-added", "blocks", ("v1",)),
    "provides less": (
        lambda files: files.spec["customresourcedefinitions"]["owned"].clear(),
        "api-removed", "warns", ("v0", "v1"),
    ),
    "CRD gone": (lambda files: setattr(files, "crd", None), "crd-removed", "blocks", ("v1",)),
    "version that the old CSV owns": (_unserve, "version-not-served", "blocks", ("v0",)),
    "stricter schema": (_tighten, "required-added", "blocks", ("v0", "v1")),
    "rule in CEL": (_rule, "rule-added", "blocks", ("v1",)),
    "more permissions": (
        lambda files: files.rules[0]["verbs"].append("delete"),
        "permission-added", "warns", ("v0", "v1"),
    ),
    "fewer permissions": (
        lambda files: files.rules.clear(), "permission-removed", "info", ("v0", "v1"),
    ),
    "selector": (
        lambda files: files.deployment["spec"].update(selector={"matchLabels": {"app": "pan"}}),
        "selector-changed", "blocks", ("v0", "v1"),
    ),
    "replicas": (
        lambda files: files.deployment["spec"].update(replicas=2),
        "replicas-changed", "info", ("v0", "v1"),
    ),
    "webhook": (_webhook, "webhook-added", "warns", ("v0", "v1")),
    "dependency": (
        lambda files: files.dependencies.append({"type": "olm.package", "value": {}}),
        "dependency-added", "warns", ("v0", "v1"),
    ),
    "default channel": (
        lambda files: files.annotations.update({DEFAULT: "fast"}),
        "default-channel-changed", "info", ("v0", "v1"),
    ),
    "object gone": (
        lambda files: setattr(files, "service", None), "object-removed", "info", ("v0", "v1"),
    ),
    "display name": (
        lambda files: files.spec.update(displayName="Pan"),
        "display-name-changed", "info", ("v0", "v1"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_each_change_has_its_level_and_names_the_versions_of_olm_that_it_affects(name: str) -> None:
    change, rule, level, olm = TABLE[name]

    found = {one.rule: one for one in changes(change)}

    assert rule in found
    assert (found[rule].level, found[rule].olm) == (level, olm)


def test_a_removal_is_the_opposite_of_an_addition() -> None:
    gone = changes(lambda _: None, old=_webhook)

    assert [one.rule for one in gone] == ["webhook-removed"]
    assert [one.rule for one in changes(_webhook, old=_webhook)] == []


def test_a_bundle_without_a_minimum_version_of_kubernetes_accepts_any() -> None:
    def without(files: Files) -> None:
        files.spec.pop("minKubeVersion")

    (gone,), (new,) = changes(without), changes(lambda _: None, old=without)

    assert gone.message.endswith("changes from `1.20.0` to `any`")
    assert new.message.endswith("changes from `any` to `1.20.0`")


def test_images_are_compared_at_their_use() -> None:
    def container(files: Files) -> Value:
        found: Value = files.deployment["spec"]["template"]["spec"]["containers"][0]
        return found

    other = changes(lambda files: container(files).update(image="example.com/pot@sha256:2"))
    loose = changes(lambda files: container(files).update(image="example.com/pot:v2"))

    (digest,) = other
    assert digest.message.startswith("the digest of the image changes from")
    assert digest.subject == "manager/main"
    (tag,) = loose
    assert tag.level is ChangeLevel.WARNS
    assert "no longer pinned" in tag.message


def test_one_version_of_olm_only_sees_changes_that_affect_it() -> None:
    v0 = {one.rule: one.level for one in changes(_rule, olm="v0")}
    v1 = {one.rule: one.level for one in changes(TABLE["mode of OLM v0"][0], olm="v1")}

    assert v0 == {"rule-added": "warns"}
    assert v1 == {"install-mode-removed": "info"}


def test_blocking_changes_come_first() -> None:
    def several(files: Files) -> None:
        files.spec["displayName"] = "Pan"
        _tighten(files)
        _webhook(files)

    levels = [one.level for one in changes(several)]

    assert levels == sorted(levels, key=list(ChangeLevel).index)


def test_equal_bundles_do_not_differ() -> None:
    assert changes(lambda _: None) == []


def test_a_skip_range_is_an_upgrade_edge() -> None:
    def ranged(files: Files) -> None:
        files.spec.pop("replaces")
        files.csv["metadata"]["annotations"]["olm.skipRange"] = ">=1.0.0 <1.1.0"

    assert [one.rule for one in changes(ranged) if one.level is ChangeLevel.WARNS] == []


def test_a_crd_that_only_early_releases_of_olm_v1_refuse_is_a_note() -> None:
    later = copy.deepcopy(crd())
    later["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "new"
    (note,) = (
        one for one in crds.compare_manifests([crd()], [later]) if one.rule == "refused-before-v1.4"
    )
    assert (note.level, note.olm) == (ChangeLevel.INFO, ("v1",))
    assert note.message.startswith(
        "releases of OLM v1 before 1.4 refuse the new CustomResourceDefinition: `.` of version"
    )
    assert list(crds.compare_manifests([crd()], [crd()])) == []
