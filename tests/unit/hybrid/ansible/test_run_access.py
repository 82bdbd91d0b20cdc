"""What a run is allowed to do, and what its requests show."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from olmkit.edges.cluster.run_proxy import GrantedRequest, RefusedRequestError
from olmkit.hybrid.ansible.run_access import RunAccess
from olmkit.kube.objects import GVK

OWNER: dict[str, Any] = {
    "apiVersion": "demo.example.com/v1",
    "kind": "Cache",
    "metadata": {"name": "one", "namespace": "ns", "uid": "u-1"},
}
CONFIG = GVK(group="", version="v1", kind="ConfigMap")
PLACE = "/api/v1/namespaces/ns/configmaps"


def prepared(access: RunAccess, method: str, path: str, body: str, **more: str) -> Any:
    request = GrantedRequest(method=method, path=path, body=body.encode(), **more)  # type: ignore[arg-type]
    found = asyncio.run(access.prepared(request)).body
    return json.loads(found) if found is not None else None


def test_created_and_applied_objects_get_the_owner_and_a_watch() -> None:
    watched: list[GVK] = []

    async def watch(gvk: GVK) -> None:
        watched.append(gvk)

    access = RunAccess(owner=OWNER, watch_kind=watch)
    body = '{"apiVersion": "v1", "kind": "ConfigMap"}'
    made = prepared(access, "POST", PLACE, body, content_type="application/json")
    assert made["metadata"]["ownerReferences"][0]["uid"] == "u-1"
    yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    applied = prepared(
        access, "PATCH", f"{PLACE}/a", yaml, content_type="application/apply-patch+yaml"
    )
    assert applied["metadata"]["ownerReferences"][0]["uid"] == "u-1"
    assert watched == [CONFIG, CONFIG]
    changed = prepared(
        access, "PATCH", f"{PLACE}/a", body, content_type="application/json-patch+json"
    )
    assert "metadata" not in changed


def test_kinds_of_the_blacklist_get_an_owner_and_no_watch() -> None:
    async def watch(gvk: GVK) -> None:
        raise AssertionError(gvk)

    access = RunAccess(owner=OWNER, watch_kind=watch, unwatched=frozenset({CONFIG}))
    made = prepared(access, "POST", PLACE, '{"kind": "ConfigMap"}', content_type="application/json")
    assert made["metadata"]["ownerReferences"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", '{"kind": "X"}'),
        (PLACE, '{"apiVersion": "v1"}'),
        (PLACE, "[]"),
        ("/api/v1/namespaces/ns/pods/a/eviction", '{"kind": "Eviction"}'),
    ],
)
def test_objects_that_are_not_stored_are_unchanged(path: str, body: str) -> None:
    access = RunAccess(owner=OWNER)
    request = GrantedRequest(
        method="POST", path=path, body=body.encode(), content_type="application/json"
    )
    assert asyncio.run(access.prepared(request)) == request


def test_check_mode_refuses_requests_that_would_store_an_object() -> None:
    access = RunAccess(owner=OWNER, is_check=True)
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        for query in ("", "dryRun=", "xdryRun=All", "dryRun=Allx"):
            with pytest.raises(RefusedRequestError):
                asyncio.run(access.prepared(GrantedRequest(method=method, path=PLACE, query=query)))
        dry = GrantedRequest(method=method, path=PLACE, query="a=b&dryRun=All")
        assert asyncio.run(access.prepared(dry)) == dry
    question = GrantedRequest(
        method="POST", path="/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    )
    assert asyncio.run(access.prepared(question)) == question


def test_values_of_secrets_are_known_from_requests_and_answers() -> None:
    access = RunAccess(owner=OWNER, sets_owner=False)
    path = "/api/v1/namespaces/ns/secrets"
    body = '{"kind": "Secret", "stringData": {"a": "from-the-play"}}'
    prepared(access, "POST", path, body, content_type="application/json")
    assert access.secrets == ["from-the-play"]
    listed = b'{"kind": "SecretList", "items": [{"data": {"b": "aGlkZGVuLXdvcmQ="}}]}'
    asyncio.run(access.answered(GrantedRequest(method="GET", path=path), 200, listed))
    assert set(access.secrets) == {"from-the-play", "aGlkZGVuLXdvcmQ=", "hidden-word"}


def test_reading_a_dependent_watches_it_again() -> None:
    watched: list[GVK] = []

    async def watch(gvk: GVK) -> None:
        watched.append(gvk)

    access = RunAccess(owner=OWNER, watch_kind=watch)
    reference = {"apiVersion": "demo.example.com/v1", "kind": "Cache", "name": "one", "uid": "u-1"}
    found: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}

    def read() -> None:
        request = GrantedRequest(method="GET", path=f"{PLACE}/a")
        asyncio.run(access.answered(request, 200, json.dumps(found).encode()))

    read()
    assert watched == []
    found["metadata"]["ownerReferences"] = [reference]
    read()
    assert watched == [CONFIG]
