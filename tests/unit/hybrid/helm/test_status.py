"""The status in the format of helm-operator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from olmkit.hybrid.helm import status
from olmkit.hybrid.helm.releases import Release

RELEASE = Release(
    name="one",
    revision=1,
    status="deployed",
    secret="s",
    manifest="apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: hunter22}\n",
    notes="log in with hunter22",
)


def shown(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    return [
        (one["type"], one["status"], one.get("reason", ""), one.get("message", ""))
        for one in found["conditions"]
    ]


def test_the_status_follows_the_release_from_install_to_uninstall() -> None:
    found = status.of({})
    status.initialized(found, now="t1")
    status.deployed(found, RELEASE, now="t1")
    assert shown(found) == [
        ("Initialized", "True", "", ""),
        ("Deployed", "True", "InstallSuccessful", "log in with ***"),
    ]
    assert "hunter22" not in str(found)
    assert found["deployedRelease"]["name"] == "one"
    status.failed(found, doing=status.UPGRADE, message="no", now="t2")
    assert shown(found)[2:] == [("ReleaseFailed", "True", "UpgradeError", "no")]
    status.irreconcilable(found, message="away", now="t3")
    assert shown(found)[3:] == [("Irreconcilable", "True", "ReconcileError", "away")]
    status.deployed(found, RELEASE, now="t4")
    assert [one["lastTransitionTime"] for one in found["conditions"]] == ["t1", "t1"]
    status.uninstalled(found, now="t5")
    assert shown(found)[1] == ("Deployed", "False", "UninstallSuccessful", "")
    assert "deployedRelease" not in found


def test_the_revision_decides_the_reason() -> None:
    found = status.of({})
    status.deployed(found, RELEASE, now="t1")
    # A pass that was interrupted after the upgrade has not written this; the next one does.
    newer = replace(RELEASE, revision=2, notes="size is 2")
    status.deployed(found, newer, now="t2")
    assert shown(found) == [("Deployed", "True", "UpgradeSuccessful", "size is 2")]
    assert found["conditions"][0]["lastTransitionTime"] == "t1"


def test_conditions_of_other_controllers_are_kept() -> None:
    found = status.of({"status": {"other": 1, "conditions": [{"type": "Mine", "status": "True"}]}})
    status.initialized(found, now="t1")
    assert found["other"] == 1
    assert [one["type"] for one in found["conditions"]] == ["Mine", "Initialized"]


def test_a_manifest_that_is_too_long_is_reduced_to_names() -> None:
    found = status.of({})
    long = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {{a: {'x' * 200}}}\n"
    whole = replace(RELEASE, manifest=f"{RELEASE.manifest}---\n{long}")
    status.deployed(found, whole, now="t1", room=200)
    assert found["deployedRelease"]["manifest"] == (
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n"
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n"
    )
    status.deployed(found, replace(RELEASE, manifest=f"---\n{long}" * 5), now="t1", room=200)
    assert found["deployedRelease"]["manifest"] == ""


def test_a_large_object_leaves_less_room() -> None:
    assert status.room({"spec": {"a": "b"}, "status": {"a": "x" * 2_000_000}}) == 500_000
    assert 300_000 < status.room({"spec": {"a": "x" * 1_000_000}}) < 400_000
    assert status.room({"spec": {"a": "x" * 1_500_000}}) == 0
