"""Built-in kinds: their paths and their fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import World

STRICT = {"fieldValidation": "Strict"}


def deployment(**spec: Any) -> dict[str, Any]:
    """Return the spec of a Deployment that a server accepts, with more fields."""
    template = {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": [{"name": "main", "image": "example.com/a:1"}]},
    }
    return {"selector": {"matchLabels": {"app": "a"}}, "template": template} | spec


@pytest.mark.parametrize("plural", ["configmaps", "deployments", "leases"])
async def test_an_object_without_a_namespace_is_refused(world: World, plural: str) -> None:
    path = world.path(plural).replace(f"/namespaces/{world.namespace}", "")
    answer = await world.ask("POST", path, world.manifest(plural, "one"))
    assert answer.status == 405
    assert answer.body["reason"] == "MethodNotAllowed"
    assert "does not allow this method on the requested resource" in answer.body["message"]


async def test_a_custom_object_without_a_namespace_is_refused(world: World) -> None:
    path = world.path("widgets").replace(f"/namespaces/{world.namespace}", "")
    assert (await world.ask("POST", path, world.manifest("widgets", "one"))).status == 404
    assert (await world.ask("DELETE", path)).status == 404
    assert (await world.ask("GET", path)).status == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_a_name_without_a_namespace_is_not_a_path(world: World, method: str) -> None:
    await world.make("configmaps", "one")
    body = None if method == "GET" else {}
    answer = await world.ask(method, "/api/v1/configmaps/one", body)
    assert answer.status == 404
    assert answer.body["message"] == "the server could not find the requested resource"


async def test_all_namespaces_are_not_deleted_at_once(world: World) -> None:
    assert (await world.ask("DELETE", "/api/v1/configmaps")).status == 405


@pytest.mark.parametrize("plural", ["nodes", "gadgets"])
async def test_a_cluster_scoped_kind_has_no_namespace(world: World, plural: str) -> None:
    root, _, _ = world.path(plural).rpartition("/")
    path = f"{root}/namespaces/{world.namespace}/{plural}"
    assert (await world.ask("GET", path)).status == 404
    assert (await world.ask("POST", path, world.manifest(plural, "one"))).status == 404


async def test_a_create_in_an_unknown_namespace_is_refused(world: World) -> None:
    path = "/api/v1/namespaces/nowhere/configmaps"
    answer = await world.ask("POST", path, world.manifest("configmaps", "one"))
    assert (answer.status, answer.body["message"]) == (404, 'namespaces "nowhere" not found')
    body = world.manifest("configmaps", "one")
    kind = "application/apply-patch+yaml"
    applied = await world.ask("PATCH", f"{path}/one", body, kind=kind, fieldManager="a")
    assert (applied.status, applied.body["message"]) == (404, 'namespaces "nowhere" not found')
    assert (await world.ask("GET", path)).body["items"] == []
    missing = await world.ask("GET", f"{path}/one")
    assert missing.body["message"] == 'configmaps "one" not found'


async def test_a_new_namespace_is_active_and_has_its_label(world: World) -> None:
    name = f"{world.namespace}-more"
    made = await world.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    assert made.status == 201
    assert made.body["status"] == {"phase": "Active"}
    assert made.body["spec"] == {"finalizers": ["kubernetes"]}
    assert made.body["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}


async def test_a_terminating_namespace_accepts_no_new_objects(world: World) -> None:
    name = f"{world.namespace}-ends"
    await world.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    ended = await world.ask("DELETE", f"/api/v1/namespaces/{name}")
    assert ended.body["status"] == {"phase": "Terminating"}
    path = f"/api/v1/namespaces/{name}/configmaps"
    answer = await world.ask("POST", path, world.manifest("configmaps", "one"))
    assert answer.status == 403
    assert f"unable to create new content in namespace {name}" in answer.body["message"]


async def test_the_default_namespace_cannot_be_deleted(world: World) -> None:
    answer = await world.ask("DELETE", "/api/v1/namespaces/default")
    assert answer.status == 403
    assert "this namespace may not be deleted" in answer.body["message"]


async def test_strict_validation_refuses_unknown_fields(world: World) -> None:
    spec: dict[str, Any] = {"replica": 3} | deployment()
    spec["template"]["spec"]["containers"][0]["prots"] = []
    body = world.manifest("deployments", "one", spec=spec)
    answer = await world.ask("POST", world.path("deployments"), body, **STRICT)
    assert answer.status == 400
    assert answer.body["message"] == (
        'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: '
        'unknown field "spec.replica", unknown field "spec.template.spec.containers[0].prots"'
    )


@pytest.mark.parametrize("kind", ["merge", "json", "strategic"])
async def test_strict_validation_refuses_unknown_fields_of_patches(world: World, kind: str) -> None:
    await world.make("configmaps", "one", data={"a": "b"})
    patch: Any = {"foo": {"bar": 1}}
    if kind == "json":
        patch = [{"op": "add", "path": "/foo", "value": 1}]
    answer = await world.patch("configmaps", "one", patch, kind, **STRICT)
    assert answer.status == 422
    assert answer.body["message"].endswith('strict decoding error: unknown field "foo"')
    assert [cause["field"] for cause in answer.body["details"]["causes"]] == ["patch"]


async def test_unknown_fields_are_removed_with_a_warning(world: World) -> None:
    body = world.manifest("configmaps", "one", data={"a": "b"}, Data={"a": "c"}, spec={"x": 1})
    body["metadata"]["foo"] = 1
    answer = await world.ask("POST", world.path("configmaps"), body)
    assert answer.status == 201
    assert set(answer.body) == {"apiVersion", "kind", "metadata", "data"}
    assert "foo" not in answer.body["metadata"]
    assert "unknown field" in answer.headers["Warning"]
    ignored = await world.ask(
        "POST",
        world.path("configmaps"),
        body | {"metadata": {"name": "two"}},
        fieldValidation="Ignore",
    )
    assert "Warning" not in ignored.headers


@pytest.mark.parametrize(
    ("plural", "fields", "words"),
    [
        ("configmaps", {"data": {"a": 1}}, "json: cannot unmarshal number into Go struct field"),
        ("configmaps", {"data": ["a"]}, "json: cannot unmarshal array into Go struct field"),
        ("deployments", {"spec": deployment(replicas="3")}, "DeploymentSpec.spec.replicas of type"),
        ("deployments", {"spec": deployment(paused="no")}, "of type bool"),
    ],
)
async def test_a_value_of_a_wrong_type_cannot_be_read(
    world: World, plural: str, fields: dict[str, Any], words: str
) -> None:
    body = world.manifest(plural, "one", **fields)
    answer = await world.ask("POST", world.path(plural), body)
    assert answer.status == 400
    assert "cannot be handled as a" in answer.body["message"]
    assert words in answer.body["message"]


async def test_apply_refuses_undeclared_fields(world: World) -> None:
    answer = await world.apply("a", "configmaps", "one", foo=1)
    assert answer.status == 500
    assert answer.body["message"].endswith(
        "/v1, Kind=ConfigMap): .foo: field not declared in schema"
    )


async def test_apply_refuses_values_of_a_wrong_type(world: World) -> None:
    answer = await world.apply("a", "deployments", "one", spec=deployment(replicas="3"))
    assert answer.status == 500
    assert ".spec.replicas: expected numeric (int or float), got string" in answer.body["message"]


async def test_quantities_are_written_in_their_canonical_form(world: World) -> None:
    spec = deployment()
    container = spec["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {"cpu": "1000m", "memory": 1024}}
    made = await world.make("deployments", "one", spec=spec)
    (found,) = made["spec"]["template"]["spec"]["containers"]
    assert found["resources"] == {"limits": {"cpu": "1", "memory": "1024"}}


async def test_string_data_of_a_secret_becomes_data(world: World) -> None:
    body = {"metadata": {"name": "one"}, "data": {"a": "eA=="}, "stringData": {"b": "x"}}
    path = f"/api/v1/namespaces/{world.namespace}/secrets"
    made = await world.ask("POST", path, body)
    assert made.body["data"] == {"a": "eA==", "b": "eA=="}
    assert "stringData" not in made.body


async def test_an_event_is_the_same_in_both_groups(world: World) -> None:
    made = await world.make(
        "events",
        "one",
        eventTime="2026-01-01T00:00:00.000000Z",
        reportingController="example.com/a",
        reportingInstance="a-1",
        action="Scale",
        reason="Scaled",
        type="Normal",
        note="scaled it",
        regarding={"kind": "Pod", "name": "p", "namespace": world.namespace},
    )
    core = await world.ask("GET", f"/api/v1/namespaces/{world.namespace}/events/one")
    assert core.body["apiVersion"] == "v1"
    assert core.body["metadata"]["uid"] == made["metadata"]["uid"]
    assert core.body["involvedObject"]["name"] == "p"
    assert core.body["message"] == "scaled it"
    assert core.body["reportingComponent"] == "example.com/a"


async def test_an_autoscaler_is_the_same_in_both_versions(world: World) -> None:
    path = f"namespaces/{world.namespace}/horizontalpodautoscalers"
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"maxReplicas": 3, "targetCPUUtilizationPercentage": 50, "scaleTargetRef": target}
    body = {"metadata": {"name": "one"}, "spec": spec}
    assert (await world.ask("POST", f"/apis/autoscaling/v1/{path}", body)).status == 201
    newer = (await world.ask("GET", f"/apis/autoscaling/v2/{path}/one")).body
    assert newer["spec"]["maxReplicas"] == 3
    assert newer["spec"]["metrics"] == [
        {
            "type": "Resource",
            "resource": {
                "name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 50},
            },
        }
    ]


async def test_a_kind_is_served_once_its_definition_exists(world: World) -> None:
    group = f"{world.namespace}.example.com"
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing", "singular": "thing"},
            "versions": [version],
        },
    }
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert (await world.ask("POST", definitions, definition)).status == 201
    await world.until_established(f"things.{group}")
    path = f"/apis/{group}/v1/namespaces/{world.namespace}/things"
    body = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "one"}}
    assert (await world.ask("POST", path, body)).status == 201
    assert (await world.ask("DELETE", f"{definitions}/things.{group}")).status == 200


async def test_discovery_lists_the_same_kinds(world: World) -> None:
    """For each API version of the double, the real server has the same form."""
    from olmkit.testing import BUILT_IN

    for api_version in sorted({one.api_version for one in BUILT_IN}):
        root = "apis" if "/" in api_version else "api"
        listed = (await world.ask("GET", f"/{root}/{api_version}")).body["resources"]
        kinds = {
            (one["name"], one["kind"], one["namespaced"])
            for one in listed
            if "/" not in one["name"] and {"create", "list"} <= set(one["verbs"])
        }
        wanted = {
            (one.plural, one.gvk.kind, one.namespaced)
            for one in BUILT_IN
            if one.api_version == api_version
        }
        assert kinds == wanted, api_version
        below = {one["name"] for one in listed if one["name"].count("/") == 1}
        mine = {f"{one.plural}/{s}" for one in BUILT_IN for s in one.subresources}
        assert below <= mine, api_version


async def test_a_group_names_its_preferred_version(world: World) -> None:
    groups = (await world.ask("GET", "/apis")).body["groups"]
    preferred = {one["name"]: one["preferredVersion"]["groupVersion"] for one in groups}
    assert preferred["apps"] == "apps/v1"
    assert preferred["autoscaling"] == "autoscaling/v2"
    assert preferred["tests.example.com"] == "tests.example.com/v1"
