"""Creating, replacing, patching and deleting."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import World

DEPLOYMENT = {
    "replicas": 2,
    "selector": {"matchLabels": {"app": "a"}},
    "template": {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "i:1"}]},
    },
}


async def test_a_second_object_with_the_same_name_already_exists(world: World) -> None:
    await world.make("widgets", "w")
    answer = await world.ask("POST", world.path("widgets"), world.manifest("widgets", "w"))
    assert answer.status == 409
    assert answer.body["reason"] == "AlreadyExists"
    assert answer.body["message"] == 'widgets.tests.example.com "w" already exists'
    assert answer.body["details"] == {"name": "w", "group": "tests.example.com", "kind": "widgets"}


async def test_a_name_is_generated_from_its_prefix(world: World) -> None:
    manifest = world.manifest("configmaps", "")
    manifest["metadata"] = {"generateName": "m-"}
    one = await world.ask("POST", world.path("configmaps"), manifest)
    two = await world.ask("POST", world.path("configmaps"), manifest)
    assert one.status == 201
    name = one.body["metadata"]["name"]
    assert name.startswith("m-")
    assert len(name) == len("m-") + 5
    assert name != two.body["metadata"]["name"]
    assert one.body["metadata"]["generateName"] == "m-"


async def test_an_object_without_a_name_is_invalid(world: World) -> None:
    manifest = world.manifest("configmaps", "")
    manifest["metadata"] = {}
    answer = await world.ask("POST", world.path("configmaps"), manifest)
    assert answer.status == 422
    assert answer.body["reason"] == "Invalid"
    assert answer.body["details"]["causes"][0]["field"] == "metadata.name"


async def test_an_invalid_name_is_refused(world: World) -> None:
    answer = await world.ask("POST", world.path("widgets"), world.manifest("widgets", "Not_A"))
    assert answer.status == 422
    [cause] = answer.body["details"]["causes"]
    assert cause["field"] == "metadata.name"
    assert cause["reason"] == "FieldValueInvalid"


async def test_a_namespace_that_differs_from_the_path_is_a_bad_request(world: World) -> None:
    manifest = world.manifest("widgets", "w", metadata={"namespace": "elsewhere"})
    answer = await world.ask("POST", world.path("widgets"), manifest)
    assert answer.status == 400
    assert answer.body["reason"] == "BadRequest"


async def test_a_kind_that_differs_from_the_path_is_invalid(world: World) -> None:
    manifest = world.manifest("gadgets", "w")
    answer = await world.ask("POST", world.path("widgets"), manifest)
    assert answer.status == 422
    assert answer.body["details"]["causes"][0]["field"] == "kind"


async def test_a_body_that_is_not_json_is_a_bad_request(world: World) -> None:
    answer = await world.ask("POST", world.path("widgets"), b"{")
    assert answer.status == 400
    assert answer.body["kind"] == "Status"


async def test_fields_that_the_server_sets_cannot_be_chosen(world: World) -> None:
    chosen = {
        "uid": "mine",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "generation": 9,
        "deletionTimestamp": "2001-01-01T00:00:00Z",
    }
    made = await world.make("widgets", "w", metadata=chosen)
    metadata = made["metadata"]
    assert metadata["generation"] == 1
    assert metadata["uid"] != "mine"
    assert not metadata["creationTimestamp"].startswith("2001")
    assert "deletionTimestamp" not in metadata


async def test_a_new_object_must_not_have_a_version(world: World) -> None:
    manifest = world.manifest("widgets", "w", metadata={"resourceVersion": "5"})
    answer = await world.ask("POST", world.path("widgets"), manifest)
    assert answer.status == 500
    assert "resourceVersion should not be set on objects to be created" in answer.body["message"]


async def test_a_replacement_needs_the_current_version(world: World) -> None:
    made = await world.make("widgets", "w")
    changed = copy.deepcopy(made)
    changed["spec"]["size"] = 3
    answer = await world.ask("PUT", world.path("widgets", "w"), changed)
    assert answer.status == 200
    assert answer.body["metadata"]["generation"] == 2
    again = await world.ask("PUT", world.path("widgets", "w"), changed)
    assert again.status == 409
    assert again.body["reason"] == "Conflict"
    assert again.body["message"] == (
        'Operation cannot be fulfilled on widgets.tests.example.com "w": the object has been '
        "modified; please apply your changes to the latest version and try again"
    )
    assert again.body["details"] == {"name": "w", "group": "tests.example.com", "kind": "widgets"}


async def test_a_replacement_of_a_custom_object_without_a_version_is_invalid(world: World) -> None:
    await world.make("widgets", "w")
    answer = await world.ask(
        "PUT", world.path("widgets", "w"), world.manifest("widgets", "w", spec={"colour": "red"})
    )
    assert answer.status == 422
    [cause] = answer.body["details"]["causes"]
    assert cause["field"] == "metadata.resourceVersion"
    assert "must be specified for an update" in cause["message"]


async def test_a_replacement_of_a_configmap_without_a_version_is_written(world: World) -> None:
    await world.make("configmaps", "m", data={"a": "1"})
    answer = await world.ask(
        "PUT", world.path("configmaps", "m"), world.manifest("configmaps", "m", data={"b": "2"})
    )
    assert answer.status == 200
    assert answer.body["data"] == {"b": "2"}


async def test_a_replacement_of_a_missing_object_is_not_found(world: World) -> None:
    manifest = world.manifest("widgets", "w", metadata={"resourceVersion": "5"})
    answer = await world.ask("PUT", world.path("widgets", "w"), manifest)
    assert answer.status == 404


async def test_a_replacement_with_another_name_is_a_bad_request(world: World) -> None:
    made = await world.make("configmaps", "m")
    made["metadata"]["name"] = "n"
    answer = await world.ask("PUT", world.path("configmaps", "m"), made)
    assert answer.status == 400


async def test_a_replacement_with_another_uid_is_a_conflict(world: World) -> None:
    made = await world.make("configmaps", "m")
    made["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000"
    del made["metadata"]["resourceVersion"]
    answer = await world.ask("PUT", world.path("configmaps", "m"), made)
    assert answer.status == 409
    assert "Precondition failed: UID in precondition" in answer.body["message"]


async def test_a_write_without_changes_creates_no_version(world: World) -> None:
    made = await world.make("configmaps", "m", data={"a": "1"})
    answer = await world.ask("PUT", world.path("configmaps", "m"), made)
    assert answer.body["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    answer = await world.patch("configmaps", "m", {"data": {"a": "1"}})
    assert answer.body["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_a_merge_patch_merges_maps_replaces_lists_and_deletes_with_null(world: World) -> None:
    await world.make(
        "widgets", "w", spec={"colour": "red", "steps": ["a", "b"], "names": {"x": "1", "y": "2"}}
    )
    answer = await world.patch(
        "widgets", "w", {"spec": {"steps": ["c"], "names": {"x": None, "z": "3"}}}
    )
    assert answer.status == 200
    assert answer.body["spec"]["steps"] == ["c"]
    assert answer.body["spec"]["names"] == {"y": "2", "z": "3"}
    assert answer.body["metadata"]["generation"] == 2


async def test_a_merge_patch_with_an_old_version_is_a_conflict(world: World) -> None:
    made = await world.make("widgets", "w")
    await world.patch("widgets", "w", {"spec": {"size": 2}})
    patch = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}}
    answer = await world.patch("widgets", "w", patch | {"spec": {"size": 3}})
    assert answer.status == 409
    assert answer.body["reason"] == "Conflict"


@pytest.mark.parametrize("plural", ["widgets", "configmaps"])
async def test_the_uid_cannot_be_patched(world: World, plural: str) -> None:
    await world.make(plural, "w")
    answer = await world.patch(plural, "w", {"metadata": {"uid": "other"}})
    assert answer.status == 422
    assert answer.body["details"]["causes"][0]["field"] == "metadata.uid"
    assert answer.body["details"]["causes"][0]["message"].endswith("field is immutable")


async def test_a_patch_of_a_missing_object_is_not_found(world: World) -> None:
    answer = await world.patch("widgets", "w", {"spec": {"size": 3}})
    assert answer.status == 404


async def test_a_json_patch_is_applied_and_tests_values(world: World) -> None:
    await world.make("widgets", "w", spec={"colour": "red", "size": 1})
    answer = await world.patch(
        "widgets",
        "w",
        [
            {"op": "test", "path": "/spec/size", "value": 1},
            {"op": "replace", "path": "/spec/size", "value": 2},
            {"op": "add", "path": "/spec/steps", "value": ["a"]},
            {"op": "add", "path": "/spec/steps/-", "value": "b"},
        ],
        "json",
    )
    assert answer.status == 200
    assert answer.body["spec"] == {"colour": "red", "size": 2, "steps": ["a", "b"]}
    answer = await world.patch(
        "widgets", "w", [{"op": "test", "path": "/spec/size", "value": 1}], "json"
    )
    assert answer.status == 422
    assert answer.body["reason"] == "Invalid"


async def test_a_json_patch_that_cannot_be_applied_is_invalid(world: World) -> None:
    await world.make("widgets", "w")
    answer = await world.patch("widgets", "w", [{"op": "remove", "path": "/spec/none"}], "json")
    assert answer.status == 422


async def test_a_json_patch_that_is_not_a_list_is_a_bad_request(world: World) -> None:
    await world.make("widgets", "w")
    answer = await world.patch("widgets", "w", {"op": "remove"}, "json")
    assert answer.status == 400


async def test_a_strategic_patch_is_only_for_built_in_kinds(world: World) -> None:
    await world.make("widgets", "w")
    answer = await world.patch("widgets", "w", {"spec": {"size": 2}}, "strategic")
    assert answer.status == 415
    assert answer.body["reason"] == "UnsupportedMediaType"


async def test_a_strategic_patch_merges_lists_by_key(world: World) -> None:
    await world.make("deployments", "d", spec=DEPLOYMENT)
    more = {"containers": [{"name": "c", "image": "i:2"}, {"name": "d", "image": "j:1"}]}
    patch = {"spec": {"template": {"spec": more}}}
    answer = await world.patch("deployments", "d", patch, "strategic")
    assert answer.status == 200
    listed = answer.body["spec"]["template"]["spec"]["containers"]
    assert {one["name"]: one["image"] for one in listed} == {"c": "i:2", "d": "j:1"}


@pytest.mark.parametrize(
    ("names", "listed"),
    [
        ("b", "abcd"),
        ("db", "acdb"),
        ("x", "xabcd"),
        ("xb", "xabcd"),
        ("bx", "abxcd"),
        ("dxa", "bcdxa"),
    ],
)
async def test_a_strategic_patch_orders_lists(world: World, names: str, listed: str) -> None:
    containers = [{"name": one, "image": "old"} for one in "abcd"]
    template = DEPLOYMENT["template"] | {"spec": {"containers": containers}}
    await world.make("deployments", "d", spec=DEPLOYMENT | {"template": template})
    more = [{"name": one, "image": "new"} for one in names]
    patch = {"spec": {"template": {"spec": {"containers": more}}}}
    answer = await world.patch("deployments", "d", patch, "strategic")
    made = answer.body["spec"]["template"]["spec"]["containers"]
    assert "".join(one["name"] for one in made) == listed
    assert {one["name"] for one in made if one["image"] == "new"} == set(names)


async def test_an_unknown_type_of_patch_is_refused(world: World) -> None:
    await world.make("widgets", "w")
    answer = await world.ask("PATCH", world.path("widgets", "w"), {}, kind="application/json")
    assert answer.status == 415


async def test_the_generation_only_counts_changes_of_the_spec(world: World) -> None:
    await world.make("widgets", "w")
    labelled = await world.patch("widgets", "w", {"metadata": {"labels": {"a": "b"}}})
    assert labelled.body["metadata"]["generation"] == 1
    reported = await world.patch("widgets", "w", {"status": {"ready": 1}}, sub="status")
    assert reported.body["metadata"]["generation"] == 1
    patched = await world.patch("widgets", "w", {"spec": {"size": 2}})
    assert patched.body["metadata"]["generation"] == 2
    finalized = await world.patch("widgets", "w", {"metadata": {"finalizers": ["x.y/z"]}})
    assert finalized.body["metadata"]["generation"] == 2
    deleted = await world.ask("DELETE", world.path("widgets", "w"))
    assert deleted.body["metadata"]["generation"] == 3


async def test_without_a_status_subresource_status_counts_as_spec(world: World) -> None:
    made = await world.make("gadgets", world.namespace, spec={"size": 1}, status={"ready": 1})
    assert made["status"] == {"ready": 1}
    assert "namespace" not in made["metadata"]
    answer = await world.patch("gadgets", world.namespace, {"status": {"ready": 2}})
    assert answer.body["metadata"]["generation"] == 2
    missing = await world.patch("gadgets", world.namespace, {"status": {}}, sub="status")
    assert missing.status == 404


async def test_status_and_the_rest_are_written_separately(world: World) -> None:
    made = await world.make("widgets", "w", spec={"colour": "red", "size": 1}, status={"ready": 5})
    assert "status" not in made, "removed at creation"
    both = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"size": 2},
        "status": {"ready": 1},
    }
    answer = await world.patch("widgets", "w", both, sub="status")
    assert answer.body["status"] == {"ready": 1}
    assert answer.body["spec"]["size"] == 1
    # Labels and annotations: custom kinds keep those of the main resource.
    assert "labels" not in answer.body["metadata"]
    answer = await world.patch("widgets", "w", both | {"status": {"ready": 9}})
    assert answer.body["spec"]["size"] == 2
    assert answer.body["status"] == {"ready": 1}
    assert answer.body["metadata"]["labels"] == {"a": "b"}


async def test_status_is_replaced_by_its_subresource(world: World) -> None:
    made = await world.make("widgets", "w", spec={"colour": "red", "size": 1})
    made["status"] = {"ready": 3}
    made["spec"]["size"] = 4
    answer = await world.ask("PUT", world.path("widgets", "w", "status"), made)
    assert answer.status == 200
    assert answer.body["status"] == {"ready": 3}
    assert answer.body["spec"]["size"] == 1
    again = await world.ask("PUT", world.path("widgets", "w", "status"), made)
    assert again.status == 409
    read = await world.ask("GET", world.path("widgets", "w", "status"))
    assert read.body == answer.body


async def test_scale_reads_and_writes_the_fields_that_the_kind_names(world: World) -> None:
    made = await world.make("widgets", "w", spec={"colour": "green", "size": 2})
    await world.patch("widgets", "w", {"status": {"ready": 1, "selector": "a=b"}}, sub="status")
    found = await world.ask("GET", world.path("widgets", "w", "scale"))
    assert found.body["kind"] == "Scale"
    assert found.body["apiVersion"] == "autoscaling/v1"
    assert found.body["spec"] == {"replicas": 2}
    assert found.body["status"] == {"replicas": 1, "selector": "a=b"}
    assert found.body["metadata"]["uid"] == made["metadata"]["uid"]
    answer = await world.patch("widgets", "w", {"spec": {"replicas": 4}}, sub="scale")
    assert answer.body["spec"] == {"replicas": 4}
    now = await world.read("widgets", "w")
    assert now["spec"]["size"] == 4
    assert now["metadata"]["generation"] == 2


async def test_a_deployment_has_a_scale(world: World) -> None:
    await world.make("deployments", "d", spec=DEPLOYMENT)
    answer = await world.patch("deployments", "d", {"spec": {"replicas": 5}}, sub="scale")
    assert answer.status == 200
    assert answer.body["spec"] == {"replicas": 5}
    assert answer.body["status"]["selector"] == "app=a"
    assert (await world.read("deployments", "d"))["spec"]["replicas"] == 5


async def test_a_deleted_object_is_gone(world: World) -> None:
    made = await world.make("configmaps", "m")
    answer = await world.ask("DELETE", world.path("configmaps", "m"))
    assert answer.status == 200
    assert answer.body["kind"] == "Status"
    assert answer.body["status"] == "Success"
    assert answer.body["details"] == {
        "name": "m",
        "kind": "configmaps",
        "uid": made["metadata"]["uid"],
    }
    again = await world.ask("DELETE", world.path("configmaps", "m"))
    assert again.status == 404


async def test_a_finalizer_keeps_an_object_until_it_is_removed(world: World) -> None:
    await world.make("widgets", "w", metadata={"finalizers": ["tests.example.com/one"]})
    answer = await world.ask("DELETE", world.path("widgets", "w"))
    assert answer.status == 200
    metadata = answer.body["metadata"]
    assert metadata["deletionTimestamp"].endswith("Z")
    assert metadata["deletionGracePeriodSeconds"] == 0
    again = await world.ask("DELETE", world.path("widgets", "w"))
    assert again.status == 200
    assert again.body["metadata"]["resourceVersion"] == metadata["resourceVersion"]
    more = {"metadata": {"finalizers": ["tests.example.com/one", "tests.example.com/two"]}}
    refused = await world.patch("widgets", "w", more)
    assert refused.status == 422
    cause = refused.body["details"]["causes"][0]
    assert cause["field"] == "metadata.finalizers"
    assert cause["reason"] == "FieldValueForbidden"
    undone = await world.patch("widgets", "w", {"metadata": {"deletionTimestamp": None}})
    assert undone.body["metadata"]["deletionTimestamp"] == metadata["deletionTimestamp"]
    changed = await world.patch("widgets", "w", {"spec": {"size": 3}})
    assert changed.status == 200, "the spec can still change"
    last = await world.patch("widgets", "w", {"metadata": {"finalizers": None}})
    assert last.status == 200
    assert (await world.ask("GET", world.path("widgets", "w"))).status == 404


async def test_removing_the_last_finalizer_is_a_deletion_for_watches(world: World) -> None:
    await world.make("widgets", "w", metadata={"finalizers": ["tests.example.com/one"]})
    listed = await world.ask("GET", world.path("widgets"))
    await world.ask("DELETE", world.path("widgets", "w"))
    await world.patch("widgets", "w", {"metadata": {"finalizers": []}})
    version = listed.body["metadata"]["resourceVersion"]
    events = await world.events("widgets", resourceVersion=version)
    assert [one["type"] for one in events] == ["MODIFIED", "DELETED"]


async def test_a_finalizer_without_a_domain_has_a_warning(world: World) -> None:
    manifest = world.manifest("widgets", "w", metadata={"finalizers": ["plain"]})
    answer = await world.ask("POST", world.path("widgets"), manifest)
    assert answer.status == 201
    assert "prefer a domain-qualified finalizer name" in answer.headers["Warning"]
    await world.patch("widgets", "w", {"metadata": {"finalizers": None}})


@pytest.mark.parametrize(
    ("preconditions", "words"),
    [
        ({"uid": "other"}, "the UID in the precondition (other) does not match the UID in record"),
        ({"resourceVersion": "1"}, "the ResourceVersion in the precondition (1) does not match"),
    ],
)
async def test_a_deletion_with_another_uid_is_a_conflict(
    world: World, preconditions: dict[str, str], words: str
) -> None:
    await world.make("widgets", "w")
    answer = await world.ask("DELETE", world.path("widgets", "w"), {"preconditions": preconditions})
    assert answer.status == 409
    assert answer.body["reason"] == "Conflict"
    assert words in answer.body["message"]


@pytest.mark.parametrize(
    ("policy", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")]
)
async def test_the_propagation_policy_is_a_finalizer_for_the_garbage_collector(
    world: World, policy: str, finalizer: str
) -> None:
    await world.make("widgets", "w")
    answer = await world.ask("DELETE", world.path("widgets", "w"), {"propagationPolicy": policy})
    assert answer.status == 200
    assert answer.body["metadata"]["finalizers"] == [finalizer]
    assert answer.body["metadata"]["deletionTimestamp"]
    await world.patch("widgets", "w", {"metadata": {"finalizers": None}})


async def test_a_collection_is_deleted_by_selector(world: World) -> None:
    for name, label in {"a": "1", "b": "1", "c": "2"}.items():
        await world.make("configmaps", name, metadata={"labels": {"x": label}})
    answer = await world.ask("DELETE", world.path("configmaps"), labelSelector="x=1")
    assert answer.status == 200
    assert answer.body["kind"] == "ConfigMapList"
    listed = await world.ask("GET", world.path("configmaps"))
    assert [one["metadata"]["name"] for one in listed.body["items"]] == ["c"]


@pytest.mark.parametrize("verb", ["create", "replace", "patch", "apply", "delete"])
async def test_a_dry_run_answers_and_stores_nothing(world: World, verb: str) -> None:
    made = await world.make("widgets", "w")
    path = world.path("widgets", "w")
    change: dict[str, Any] = {"spec": {"size": 3}}
    match verb:
        case "create":
            manifest = world.manifest("widgets", "other")
            answer = await world.ask("POST", world.path("widgets"), manifest, dryRun="All")
            assert answer.status == 201
            assert answer.body["metadata"]["uid"]
            assert (await world.ask("GET", world.path("widgets", "other"))).status == 404
        case "replace":
            manifest = copy.deepcopy(made)
            manifest["spec"]["size"] = 3
            answer = await world.ask("PUT", path, manifest, dryRun="All")
        case "patch":
            answer = await world.patch("widgets", "w", change, dryRun="All")
        case "apply":
            body = world.manifest("widgets", "w", **change)
            answer = await world.patch(
                "widgets", "w", body, "apply", fieldManager="me", force="true", dryRun="All"
            )
        case _:
            answer = await world.ask("DELETE", path, dryRun="All")
    assert answer.status in (200, 201), answer.body
    if verb in ("replace", "patch", "apply"):
        assert answer.body["spec"]["size"] == 3
    assert await world.read("widgets", "w") == made


async def test_a_dry_run_with_another_name_is_a_bad_request(world: World) -> None:
    answer = await world.ask(
        "POST", world.path("widgets"), world.manifest("widgets", "w"), dryRun="Some"
    )
    assert answer.status in (400, 422)


async def test_dependents_stay_without_a_garbage_collector(world: World) -> None:
    """No controller runs with either server; a cluster would delete the dependent."""
    owner = await world.make("widgets", "w")
    reference = {
        "apiVersion": "tests.example.com/v1",
        "kind": "Widget",
        "name": "w",
        "uid": owner["metadata"]["uid"],
    }
    await world.make("configmaps", "m", metadata={"ownerReferences": [reference]})
    await world.ask("DELETE", world.path("widgets", "w"))
    assert await world.read("configmaps", "m")


async def test_an_owner_reference_needs_its_four_fields(world: World) -> None:
    manifest = world.manifest("configmaps", "m")
    manifest["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]
    answer = await world.ask("POST", world.path("configmaps"), manifest)
    assert answer.status == 422
    assert "metadata.ownerReferences" in answer.body["details"]["causes"][0]["field"]


async def test_two_controllers_are_refused(world: World) -> None:
    manifest = world.manifest("configmaps", "m")
    manifest["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True}
        for name in ("p", "q")
    ]
    answer = await world.ask("POST", world.path("configmaps"), manifest)
    assert answer.status == 422


async def test_the_first_writer_gets_the_lease(world: World) -> None:
    spec = {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:00.123456Z",
        "leaseTransitions": 0,
    }
    made = await world.make("leases", "lock", spec=spec)
    assert made["spec"] == spec
    assert "generation" not in made["metadata"]
    one, two = copy.deepcopy(made), copy.deepcopy(made)
    one["spec"]["holderIdentity"], two["spec"]["holderIdentity"] = "b", "c"
    won = await world.ask("PUT", world.path("leases", "lock"), one)
    lost = await world.ask("PUT", world.path("leases", "lock"), two)
    assert (won.status, lost.status) == (200, 409)
    assert (await world.read("leases", "lock"))["spec"]["holderIdentity"] == "b"


async def test_a_lease_without_its_duration_is_invalid(world: World) -> None:
    manifest = world.manifest("leases", "lock", spec={"leaseDurationSeconds": 0})
    answer = await world.ask("POST", world.path("leases"), manifest)
    assert answer.status == 422


def _event(world: World, **fields: Any) -> dict[str, Any]:
    regarding = {"apiVersion": "v1", "kind": "ConfigMap", "name": "m", "namespace": world.namespace}
    return {
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "tests.example.com/c",
        "reportingInstance": "c-1",
        "action": "Acting",
        "reason": "Because",
        "type": "Normal",
        "note": "words",
        "regarding": regarding,
    } | fields


async def test_an_event_is_stored_and_becomes_a_series(world: World) -> None:
    made = await world.make("events", "m.1", **_event(world))
    assert made["note"] == "words"
    series = {"count": 2, "lastObservedTime": "2026-01-01T00:00:06.000000Z"}
    answer = await world.patch("events", "m.1", {"series": series})
    assert answer.status == 200
    assert answer.body["series"] == series


@pytest.mark.parametrize(
    "lacking", ["reportingController", "action", "reason", "type", "eventTime"]
)
async def test_an_incomplete_event_is_invalid(world: World, lacking: str) -> None:
    fields = _event(world)
    del fields[lacking]
    manifest = world.manifest("events", "m.1", **fields)
    answer = await world.ask("POST", world.path("events"), manifest)
    assert answer.status == 422


async def test_token_reviews_and_access_reviews_are_answered(world: World) -> None:
    review = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": "unused"},
    }
    answer = await world.ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)
    assert answer.status == 201
    assert answer.body["status"].get("authenticated", False) is False
    review["spec"] = {"token": world.server.token}
    answer = await world.ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)
    assert answer.body["status"]["authenticated"] is True
    assert answer.body["status"]["user"]["username"] == "admin"
    asked = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": "an-author",
            "groups": ["system:authenticated"],
            "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        },
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer = await world.ask("POST", path, asked)
    assert answer.status == 201
    assert answer.body["status"]["allowed"] is False
    asked["spec"] = {
        "user": "admin",
        "groups": ["system:masters"],
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    }
    answer = await world.ask("POST", path, asked)
    assert answer.body["status"]["allowed"] is True
