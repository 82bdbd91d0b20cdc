"""Server-side apply: the owners of fields, and the effects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import World

CONTAINER = {"name": "c", "image": "i:1"}


def deployment(replicas: int, *containers: dict[str, Any]) -> dict[str, Any]:
    return {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "a"}},
        "template": {
            "metadata": {"labels": {"app": "a"}},
            "spec": {"containers": list(containers or (CONTAINER,))},
        },
    }


def managers(manifest: dict[str, Any]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return manager, operation and subresource → the owned fields."""
    return {
        (one["manager"], one["operation"], one.get("subresource", "")): one["fieldsV1"]
        for one in manifest["metadata"].get("managedFields") or ()
    }


async def test_apply_creates_an_object_and_owns_its_fields(world: World) -> None:
    answer = await world.apply("me", "configmaps", "m", data={"a": "1"})
    assert answer.status == 201
    [entry] = answer.body["metadata"]["managedFields"]
    assert entry.pop("time").endswith("Z")
    assert entry == {
        "manager": "me",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}},
    }


async def test_apply_of_the_same_fields_changes_nothing(world: World) -> None:
    first = await world.apply("me", "widgets", "w", spec={"colour": "red"})
    again = await world.apply("me", "widgets", "w", spec={"colour": "red"})
    assert again.status == 200
    assert again.body == first.body


async def test_an_omitted_field_is_removed(world: World) -> None:
    await world.apply("me", "configmaps", "m", data={"a": "1", "b": "2"})
    answer = await world.apply("me", "configmaps", "m", data={"b": "3"})
    assert answer.body["data"] == {"b": "3"}
    assert managers(answer.body)[("me", "Apply", "")] == {"f:data": {"f:b": {}}}


async def test_an_omitted_field_with_other_owners_is_kept(world: World) -> None:
    await world.apply("me", "configmaps", "m", data={"a": "1", "b": "2"})
    await world.apply("you", "configmaps", "m", data={"a": "1"})
    answer = await world.apply("me", "configmaps", "m", data={"b": "2"})
    assert answer.body["data"] == {"a": "1", "b": "2"}
    assert managers(answer.body)[("you", "Apply", "")] == {"f:data": {"f:a": {}}}


async def test_a_field_of_another_owner_is_a_conflict(world: World) -> None:
    await world.apply("me", "widgets", "w", spec={"colour": "red", "size": 1})
    answer = await world.apply("you", "widgets", "w", spec={"colour": "blue", "size": 1})
    assert answer.status == 409
    assert answer.body["reason"] == "Conflict"
    assert answer.body["details"]["causes"] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "me"',
            "field": ".spec.colour",
        }
    ]
    assert (
        answer.body["message"] == 'Apply failed with 1 conflict: conflict with "me": .spec.colour'
    )
    assert (await world.read("widgets", "w"))["spec"]["colour"] == "red"


async def test_several_conflicts_are_reported_together(world: World) -> None:
    await world.apply("me", "configmaps", "m", data={"a": "1", "b": "1"})
    answer = await world.apply("you", "configmaps", "m", data={"a": "2", "b": "2"})
    assert answer.status == 409
    fields = [one["field"] for one in answer.body["details"]["causes"]]
    assert fields == [".data.a", ".data.b"]
    assert answer.body["message"].startswith('Apply failed with 2 conflicts: conflicts with "me"')


async def test_force_takes_over_the_field(world: World) -> None:
    await world.apply("me", "widgets", "w", spec={"colour": "red", "size": 1})
    answer = await world.apply("you", "widgets", "w", spec={"colour": "blue"}, force=True)
    assert answer.status == 200
    assert answer.body["spec"] == {"colour": "blue", "size": 1}
    owned = managers(answer.body)
    assert owned[("me", "Apply", "")] == {"f:spec": {"f:size": {}}}
    assert owned[("you", "Apply", "")] == {"f:spec": {"f:colour": {}}}


async def test_a_field_with_the_same_value_has_two_owners(world: World) -> None:
    await world.apply("me", "widgets", "w", spec={"colour": "red"})
    answer = await world.apply("you", "widgets", "w", spec={"colour": "red"})
    assert answer.status == 200
    owned = managers(answer.body)
    assert owned[("me", "Apply", "")] == owned[("you", "Apply", "")] == {"f:spec": {"f:colour": {}}}


async def test_an_update_owns_the_changed_fields(world: World) -> None:
    await world.apply("me", "configmaps", "m", data={"a": "1", "b": "1"})
    answer = await world.patch("configmaps", "m", {"data": {"a": "2"}}, fieldManager="you")
    owned = managers(answer.body)
    assert owned[("me", "Apply", "")] == {"f:data": {"f:b": {}}}
    assert owned[("you", "Update", "")] == {"f:data": {"f:a": {}}}
    answer = await world.apply("me", "configmaps", "m", data={"a": "1", "b": "1"})
    assert answer.status == 409
    [cause] = answer.body["details"]["causes"]
    assert cause["message"].startswith('conflict with "you" using v1')


async def test_the_creator_owns_the_written_fields(world: World) -> None:
    manifest = world.manifest("configmaps", "m", data={"a": "1"}, metadata={"labels": {"x": "y"}})
    answer = await world.ask("POST", world.path("configmaps"), manifest, fieldManager="me")
    assert managers(answer.body) == {
        ("me", "Update", ""): {
            "f:data": {".": {}, "f:a": {}},
            "f:metadata": {"f:labels": {".": {}, "f:x": {}}},
        }
    }


async def test_status_is_owned_under_its_subresource(world: World) -> None:
    await world.apply("me", "widgets", "w", spec={"colour": "red"})
    answer = await world.apply("me", "widgets", "w", "status", status={"ready": 2})
    assert answer.status == 200
    assert answer.body["status"] == {"ready": 2}
    owned = managers(answer.body)
    assert owned[("me", "Apply", "")] == {"f:spec": {"f:colour": {}}}
    assert owned[("me", "Apply", "status")] == {"f:status": {"f:ready": {}}}
    answer = await world.apply("me", "widgets", "w", spec={"colour": "red"}, status={"ready": 9})
    assert answer.body["status"] == {"ready": 2}
    assert ("me", "Apply", "status") in managers(answer.body)


async def test_apply_to_the_status_of_a_missing_object_is_not_found(world: World) -> None:
    answer = await world.apply("me", "widgets", "w", "status", status={"ready": 2})
    assert answer.status == 404


async def test_map_lists_are_owned_item_by_item(world: World) -> None:
    await world.apply(
        "me", "widgets", "w", spec={"colour": "red", "parts": [{"name": "a", "note": "mine"}]}
    )
    answer = await world.apply("you", "widgets", "w", spec={"parts": [{"name": "b"}]})
    assert answer.status == 200
    assert [one["name"] for one in answer.body["spec"]["parts"]] == ["a", "b"]
    assert managers(answer.body)[("you", "Apply", "")] == {
        "f:spec": {"f:parts": {'k:{"name":"b"}': {".": {}, "f:name": {}}}}
    }
    answer = await world.apply("you", "widgets", "w", spec={"parts": [{"name": "a", "weight": 2}]})
    assert answer.body["spec"]["parts"] == [{"name": "a", "note": "mine", "weight": 2}]
    answer = await world.apply("you", "widgets", "w", spec={"parts": [{"name": "a", "note": "x"}]})
    assert answer.status == 409
    assert answer.body["details"]["causes"][0]["field"] == '.spec.parts[name="a"].note'
    answer = await world.apply("me", "widgets", "w", spec={"colour": "red"})
    assert [one["name"] for one in answer.body["spec"]["parts"]] == ["a"]
    assert "note" not in answer.body["spec"]["parts"][0]


async def test_sets_are_owned_value_by_value(world: World) -> None:
    await world.apply("me", "widgets", "w", spec={"colour": "red", "tags": ["a", "b"]})
    answer = await world.apply("you", "widgets", "w", spec={"tags": ["c"]})
    assert sorted(answer.body["spec"]["tags"]) == ["a", "b", "c"]
    assert managers(answer.body)[("you", "Apply", "")] == {"f:spec": {"f:tags": {'v:"c"': {}}}}
    answer = await world.apply("me", "widgets", "w", spec={"colour": "red", "tags": ["a"]})
    assert sorted(answer.body["spec"]["tags"]) == ["a", "c"]


@pytest.mark.parametrize(
    ("field", "mine", "yours"),
    [("steps", ["a"], ["b"]), ("box", {"a": "1"}, {"b": "2"})],
)
async def test_atomic_values_are_owned_as_a_whole(
    world: World, field: str, mine: Any, yours: Any
) -> None:
    await world.apply("me", "widgets", "w", spec={"colour": "red", field: mine})
    answer = await world.apply("you", "widgets", "w", spec={field: yours})
    assert answer.status == 409
    assert answer.body["details"]["causes"][0]["field"] == f".spec.{field}"
    answer = await world.apply("you", "widgets", "w", spec={field: yours}, force=True)
    assert answer.body["spec"][field] == yours
    assert managers(answer.body)[("you", "Apply", "")] == {"f:spec": {f"f:{field}": {}}}


async def test_finalizers_are_a_set(world: World) -> None:
    await world.apply(
        "me", "widgets", "w", spec={"colour": "red"}, metadata={"finalizers": ["a.b/mine"]}
    )
    answer = await world.apply("you", "widgets", "w", metadata={"finalizers": ["a.b/yours"]})
    assert sorted(answer.body["metadata"]["finalizers"]) == ["a.b/mine", "a.b/yours"]
    answer = await world.apply("me", "widgets", "w", spec={"colour": "red"})
    assert answer.body["metadata"]["finalizers"] == ["a.b/yours"]
    await world.apply("you", "widgets", "w")


async def test_owner_references_are_keyed_by_uid(world: World) -> None:
    def reference(uid: str) -> dict[str, str]:
        return {"apiVersion": "v1", "kind": "Pod", "name": uid, "uid": uid}

    await world.apply("me", "configmaps", "m", metadata={"ownerReferences": [reference("u1")]})
    answer = await world.apply(
        "you", "configmaps", "m", metadata={"ownerReferences": [reference("u2")]}
    )
    assert [one["uid"] for one in answer.body["metadata"]["ownerReferences"]] == ["u1", "u2"]


async def test_containers_of_built_in_kinds_are_keyed_by_name(world: World) -> None:
    await world.apply("me", "deployments", "d", spec=deployment(2))
    sidecar = {"name": "side", "image": "s:1"}
    only = {"template": {"spec": {"containers": [sidecar]}}}
    answer = await world.apply("you", "deployments", "d", spec=only)
    assert answer.status == 200
    listed = answer.body["spec"]["template"]["spec"]["containers"]
    assert [one["name"] for one in listed] == ["c", "side"]
    assert answer.body["spec"]["replicas"] == 2


async def test_apply_needs_a_manager(world: World) -> None:
    answer = await world.patch("configmaps", "m", world.manifest("configmaps", "m"), "apply")
    assert answer.status in (400, 422)
    assert "fieldManager" in str(answer.body)


async def test_apply_must_not_contain_managed_fields(world: World) -> None:
    made = await world.make("configmaps", "m", data={"a": "1"})
    answer = await world.patch("configmaps", "m", made, "apply", fieldManager="me", force="true")
    assert answer.status == 400
    assert "metadata.managedFields must be nil" in answer.body["message"]


async def test_apply_with_another_name_is_a_bad_request(world: World) -> None:
    answer = await world.patch(
        "configmaps", "m", world.manifest("configmaps", "n"), "apply", fieldManager="me"
    )
    assert answer.status == 400


async def test_apply_with_the_version_of_a_deleted_object_is_a_conflict(world: World) -> None:
    made = await world.make("configmaps", "m")
    await world.patch("configmaps", "m", {"data": {"x": "1"}})
    version = made["metadata"]["resourceVersion"]
    answer = await world.apply(
        "me", "configmaps", "m", metadata={"resourceVersion": version}, data={"a": "1"}
    )
    assert answer.status == 409


async def test_null_and_defaults_are_applied(world: World) -> None:
    answer = await world.apply(
        "me", "widgets", "w", spec={"colour": "red", "parts": [{"name": "a"}]}
    )
    assert answer.body["spec"]["size"] == 1
    assert answer.body["spec"]["parts"] == [{"name": "a", "weight": 7}]
    fields = managers(answer.body)[("me", "Apply", "")]
    assert fields == {
        "f:spec": {
            "f:colour": {},
            "f:parts": {'k:{"name":"a"}': {".": {}, "f:name": {}}},
        }
    }


async def test_a_removed_field_gets_its_default(world: World) -> None:
    await world.apply("me", "widgets", "w", spec={"colour": "red", "size": 5})
    answer = await world.apply("me", "widgets", "w", spec={"colour": "red"})
    assert answer.body["spec"]["size"] == 1


async def test_an_applied_object_that_violates_the_schema_is_refused(world: World) -> None:
    answer = await world.apply("me", "widgets", "w", spec={"colour": "pink"})
    assert answer.status == 422


async def test_managed_fields_can_be_cleared(world: World) -> None:
    await world.apply("me", "configmaps", "m", data={"a": "1"})
    answer = await world.patch("configmaps", "m", {"metadata": {"managedFields": [{}]}})
    assert answer.status == 200
    assert "managedFields" not in answer.body["metadata"]
