"""What is refused before a ClusterExtension is written: permissions and owners."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.jobs.cluster_v1 import preflight
from olmkit.jobs.cluster_v1.preflight import Account, CheckedPermissions, MissingPermissionsError
from olmkit.kube.api import Forbidden
from olmkit.olm.preview import Preview
from olmkit.olm.v1.state import OWNER_LABEL

Manifest = dict[str, Any]
CRD_NAME = "toys.example.com"
CSV = {
    "kind": "ClusterServiceVersion",
    "metadata": {"name": "toy.v1"},
    "spec": {"install": {"spec": {
        "deployments": [{"name": "toy", "spec": {"template": {"spec": {}}}}],
        "clusterPermissions": [{"serviceAccountName": "toy", "rules": [
            {"apiGroups": ["example.com"], "resources": ["toys", "toys/status"],
             "verbs": ["get", "update"]},
            {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]}]}}},
}  # fmt: skip
TOYS = Preview(
    csv="toy.v1", version="1", modes=("AllNamespaces",), grants=(), crds=(CRD_NAME,),
    manifests=(CSV,),
)  # fmt: skip
ACCOUNT = Account(name="installer", namespace="apps")


class Reader:
    """Answers SubjectAccessReviews by a rule, and has some objects."""

    def __init__(self, refuses: Any = lambda _: False, objects: Mapping[str, Any] | None = None):
        self.refuses, self.objects = refuses, dict(objects or {})
        self.asked: list[Manifest] = []

    async def create(self, body: Manifest) -> Manifest:
        spec = body["spec"]
        assert spec["user"] == "system:serviceaccount:apps:installer"
        found = spec.get("resourceAttributes") or spec["nonResourceAttributes"]
        self.asked.append(found)
        is_admin = found.get("verb") == "*"
        return {"status": {"allowed": not is_admin and not self.refuses(found)}}

    async def find(self, kind: tuple[str, str], name: str, _: str = "") -> Any:
        return self.objects.get(f"{kind[1]}/{name}")

    async def current(self, one: Manifest) -> Any:
        return self.objects.get(f"{one['kind']}/{one['metadata']['name']}")


def check(reader: Any, account: Account = ACCOUNT) -> tuple[str, ...]:
    return checked(reader, account).notes


def checked(reader: Any, account: Account) -> CheckedPermissions:
    return asyncio.run(preflight.check_bundle(reader, TOYS, extension="toy", account=account))


def test_an_account_with_all_permissions_is_accepted() -> None:
    assert check(Reader()) == ()


def test_the_manifests_in_the_error_grant_the_missing_permissions() -> None:
    def refuses(asked: Manifest) -> bool:
        return (
            asked.get("verb") in ("escalate", "update", "patch")
            or asked.get("resource") == "deployments"
            or "path" in asked
        )

    with pytest.raises(MissingPermissionsError) as refused:
        check(Reader(refuses))

    role, near = (one for one in refused.value.manifests if "rules" in one)
    assert [one["kind"] for one in refused.value.manifests] == [
        "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
    ]  # fmt: skip
    assert role["metadata"]["name"] == "apps-installer-toy.v1"
    granted = [rule for rule in role["rules"] if rule.get("apiGroups") == ["example.com"]]
    assert granted == [
        {"apiGroups": ["example.com"], "resources": ["toys", "toys/status"], "verbs": ["update"]}
    ]
    assert {"nonResourceURLs": ["/metrics"], "verbs": ["get"]} in role["rules"]
    assert {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["create"]} in (
        near["rules"]
    )
    assert "`installer` in namespace `apps` lacks" in refused.value.message


def test_an_existing_role_keeps_what_it_grants() -> None:
    def refuses(asked: Manifest) -> bool:
        return asked.get("resource") == "deployments"

    existing = {"ClusterRole/apps-installer-toy.v1": {"rules": []}}
    with pytest.raises(MissingPermissionsError) as refused:
        check(Reader(refuses, existing))
    made = {one["metadata"]["name"] for one in refused.value.manifests}
    assert made == {"apps-installer-toy.v1-2", "installer-toy.v1-2"}


def test_an_account_that_olmkit_created_can_be_extended() -> None:
    def refuses(asked: Manifest) -> bool:
        return asked.get("verb") == "escalate" or asked.get("resource") == "toys"

    extended = replace(ACCOUNT, is_extended=True)
    found = checked(Reader(refuses), extended)
    assert [one["kind"] for one in found.granting] == ["ClusterRole", "ClusterRoleBinding"]
    assert [one["resources"] for one in found.granting[0]["rules"]] == [["toys", "toys/status"]]
    assert checked(Reader(), extended).granting == ()

    ours = {"metadata": {"labels": {"app.kubernetes.io/managed-by": "olmkit"}}}
    reader = Reader(refuses, {"ServiceAccount/installer": ours})
    with pytest.raises(MissingPermissionsError) as refused:
        check(reader)
    assert "or pass `--create-service-account`" in refused.value.hint
    asyncio.run(preflight.require_ours(reader, ACCOUNT))  # type: ignore[arg-type]
    for objects in ({}, {"ServiceAccount/installer": {"metadata": {}}}):
        with pytest.raises(InputError, match="olmkit did not create the service account"):
            asyncio.run(preflight.require_ours(Reader(objects=objects), ACCOUNT))  # type: ignore[arg-type]


def test_an_account_that_can_escalate_and_bind_does_not_need_the_granted_permissions() -> None:
    reader = Reader(lambda asked: asked.get("group") == "example.com")
    assert check(reader) == ()
    assert not any(one.get("group") == "example.com" for one in reader.asked)


def test_accounts_of_olmkit_and_missing_accounts_are_not_checked() -> None:
    for account in (Account(name="installer", namespace="apps", is_new=True),
                    Account(name="", namespace="apps")):  # fmt: skip
        reader = Reader(lambda _: True)
        assert check(reader, account) == ()
        assert reader.asked == []


def test_without_permission_to_check_there_is_a_note() -> None:
    class Closed(Reader):
        async def create(self, _: Manifest) -> Manifest:
            raise Forbidden("no", code=403)

    (note,) = check(Closed())
    assert "you may not create SubjectAccessReviews" in note


@pytest.mark.parametrize(
    ("metadata", "says"),
    [
        ({"labels": {OWNER_LABEL: "other"}}, "belongs to ClusterExtension `other`"),
        ({}, "was not created by OLM v1"),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, "is being deleted"),
    ],
)
def test_a_crd_of_another_owner_is_refused(metadata: Manifest, says: str) -> None:
    crd = {"metadata": {"name": CRD_NAME, **metadata}}
    with pytest.raises(InputError, match=says):
        check(Reader(objects={f"CustomResourceDefinition/{CRD_NAME}": crd}))


def test_a_crd_of_the_extension_itself_is_not_an_obstacle() -> None:
    crd = {"metadata": {"name": CRD_NAME, "labels": {OWNER_LABEL: "toy"}}}
    assert check(Reader(objects={f"CustomResourceDefinition/{CRD_NAME}": crd})) == ()


def test_a_crd_of_the_extension_that_becomes_stricter_is_refused() -> None:
    def crd(**size: Any) -> Manifest:
        spec = {"type": "object", "properties": {"size": {"type": "integer", **size}}}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
        return {
            "kind": "CustomResourceDefinition",
            "metadata": {"name": CRD_NAME, "labels": {OWNER_LABEL: "toy"}},
            "spec": {"versions": [{"name": "v1", "served": True, "schema": schema}]},
        }

    reader = Reader(objects={f"CustomResourceDefinition/{CRD_NAME}": crd()})
    stricter = replace(TOYS, manifests=(CSV, crd(minimum=1)))

    def run(brings: Preview, *, is_enforced: bool = True) -> tuple[str, ...]:
        return asyncio.run(
            preflight.check_bundle(
                reader,  # type: ignore[arg-type]
                brings,
                extension="toy",
                account=ACCOUNT,
                is_enforced=is_enforced,
            )
        ).notes

    with pytest.raises(InputError, match="OLM v1 refuses the new CustomResourceDefinition"):
        run(stricter)
    assert "no check is made" in run(stricter, is_enforced=False)[0]
    assert run(replace(TOYS, manifests=(CSV, crd()))) == ()
