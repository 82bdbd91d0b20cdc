"""Rare cases that controllers meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import World


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"a": "b" * 64}},
        {"labels": {"-a": "b"}},
        {"labels": {"a": "not a value"}},
        {"annotations": {"a b": "c"}},
        {"finalizers": ["not a name"]},
    ],
    ids=str,
)
@pytest.mark.parametrize("plural", ["widgets", "configmaps"])
async def test_metadata_that_violates_its_rules_is_invalid(
    world: World, plural: str, metadata: dict[str, object]
) -> None:
    manifest = world.manifest(plural, "w", metadata=metadata)
    answer = await world.ask("POST", world.path(plural), manifest)
    assert answer.status == 422, answer.body
    [key] = metadata
    assert f"metadata.{key}" in answer.body["details"]["causes"][0]["field"]


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"labels": {"a": 1}}, "number into Go struct field ObjectMeta.labels of type string"),
        (
            {"labels": ["a"]},
            "array into Go struct field ObjectMeta.labels of type map[string]string",
        ),
        (
            {"labels": "a"},
            "string into Go struct field ObjectMeta.labels of type map[string]string",
        ),
        ({"name": 5}, "number into Go struct field ObjectMeta.name of type string"),
        ({"name": {"a": 1}}, "object into Go struct field ObjectMeta.name of type string"),
        (
            {"generateName": True},
            "bool into Go struct field ObjectMeta.generateName of type string",
        ),
    ],
)
@pytest.mark.parametrize("plural", ["configmaps", "widgets"])
async def test_names_and_labels_must_be_strings(
    world: World, plural: str, metadata: dict[str, object], words: str
) -> None:
    manifest = world.manifest(plural, "w", metadata=metadata)
    answer = await world.ask("POST", world.path(plural), manifest)
    assert answer.status == 400
    if plural == "configmaps":
        words = words.replace("ObjectMeta.", "ObjectMeta.metadata.")
    assert f"json: cannot unmarshal {words}" in answer.body["message"]


async def test_an_exact_version_shows_the_past(world: World) -> None:
    await world.make("configmaps", "a")
    then = await world.ask("GET", world.path("configmaps"))
    await world.make("configmaps", "b")
    version = then.body["metadata"]["resourceVersion"]
    answer = await world.ask(
        "GET", world.path("configmaps"), resourceVersion=version, resourceVersionMatch="Exact"
    )
    assert [one["metadata"]["name"] for one in answer.body["items"]] == ["a"]
    assert answer.body["metadata"]["resourceVersion"] == version


async def test_match_without_a_version_is_refused(world: World) -> None:
    answer = await world.ask("GET", world.path("configmaps"), resourceVersionMatch="Exact")
    assert answer.status == 422


async def test_a_list_of_any_version_can_have_a_limit(world: World) -> None:
    for name in "abc":
        await world.make("configmaps", name)
    answer = await world.ask("GET", world.path("configmaps"), limit="2", resourceVersion="0")
    found = [one["metadata"]["name"] for one in answer.body["items"]]
    assert found in (["a", "b"], ["a", "b", "c"]), "the watch cache can ignore the limit"


async def test_a_limit_that_is_not_a_number_is_a_bad_request(world: World) -> None:
    answer = await world.ask("GET", world.path("configmaps"), limit="x")
    assert answer.status == 400


async def test_one_object_is_watched_by_its_name(world: World) -> None:
    await world.make("widgets", "a")
    await world.make("widgets", "b")
    events = await world.events("widgets", fieldSelector="metadata.name=b")
    assert [one["object"]["metadata"]["name"] for one in events] == ["b"]


async def test_apply_of_a_deleted_object_creates_another_one(world: World) -> None:
    first = await world.apply("me", "configmaps", "m", data={"a": "1"})
    await world.ask("DELETE", world.path("configmaps", "m"))
    second = await world.apply("me", "configmaps", "m", data={"a": "1"})
    assert second.status == 201
    assert second.body["metadata"]["uid"] != first.body["metadata"]["uid"]


async def test_apply_with_the_uid_of_a_deleted_object_is_a_conflict(world: World) -> None:
    first = await world.apply("me", "configmaps", "m", data={"a": "1"})
    await world.ask("DELETE", world.path("configmaps", "m"))
    uid = first.body["metadata"]["uid"]
    gone = await world.apply("me", "configmaps", "m", data={"a": "1"}, metadata={"uid": uid})
    assert gone.status == 409
    await world.apply("me", "configmaps", "m", data={"a": "1"})
    other = await world.apply("me", "configmaps", "m", data={"a": "1"}, metadata={"uid": uid})
    assert other.status == 422, "it cannot be changed"


async def test_status_of_a_deployment_is_stored_by_its_subresource(world: World) -> None:
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "a"}},
        "template": {
            "metadata": {"labels": {"app": "a"}},
            "spec": {"containers": [{"name": "c", "image": "i:1"}]},
        },
    }
    made = await world.make("deployments", "d", spec=spec)
    assert made["metadata"]["generation"] == 1
    status = {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "observedGeneration": 1}
    answer = await world.patch("deployments", "d", {"status": status}, sub="status")
    assert answer.status == 200
    assert answer.body["metadata"]["generation"] == 1
    assert answer.body["status"]["availableReplicas"] == 1
    ignored = await world.patch("deployments", "d", {"status": {"availableReplicas": 0}})
    assert ignored.body["status"]["availableReplicas"] == 1
    assert ignored.body["metadata"]["resourceVersion"] == answer.body["metadata"]["resourceVersion"]


async def test_a_post_to_an_object_is_not_allowed(world: World) -> None:
    await world.make("configmaps", "m")
    manifest = world.manifest("configmaps", "m")
    answer = await world.ask("POST", world.path("configmaps", "m"), manifest)
    assert answer.status == 405
    assert answer.body["reason"] == "MethodNotAllowed"


async def test_a_patch_of_a_collection_is_not_allowed(world: World) -> None:
    answer = await world.ask(
        "PATCH", world.path("configmaps"), {}, kind="application/merge-patch+json"
    )
    assert answer.status == 405


async def test_an_unknown_subresource_is_not_found(world: World) -> None:
    await world.make("widgets", "w")
    answer = await world.ask("GET", world.path("widgets", "w", "nothing"))
    assert answer.status == 404


async def test_a_large_object_is_one_line_of_a_watch(world: World) -> None:
    listed = await world.ask("GET", world.path("configmaps"))
    await world.make("configmaps", "big", data={"x": "y" * 900_000})
    version = listed.body["metadata"]["resourceVersion"]
    [event] = await world.events("configmaps", resourceVersion=version)
    assert len(event["object"]["data"]["x"]) == 900_000


async def test_a_deletion_answers_with_the_object_while_it_has_finalizers(world: World) -> None:
    await world.make("widgets", "w", metadata={"finalizers": ["a.b/c"]})
    answer = await world.ask("DELETE", world.path("widgets", "w"))
    assert answer.body["kind"] == "Widget"
    await world.patch("widgets", "w", {"metadata": {"finalizers": None}})


async def test_apply_can_remove_the_last_finalizer(world: World) -> None:
    await world.apply(
        "me", "widgets", "w", spec={"colour": "red"}, metadata={"finalizers": ["a.b/c"]}
    )
    await world.ask("DELETE", world.path("widgets", "w"))
    answer = await world.apply("me", "widgets", "w", spec={"colour": "red"})
    assert answer.status == 200
    assert (await world.ask("GET", world.path("widgets", "w"))).status == 404


async def test_apply_cannot_add_a_finalizer_to_an_object_being_deleted(world: World) -> None:
    await world.make("widgets", "w", metadata={"finalizers": ["a.b/c"]})
    await world.ask("DELETE", world.path("widgets", "w"))
    answer = await world.apply("me", "widgets", "w", metadata={"finalizers": ["d.e/f"]})
    assert answer.status == 422
    await world.patch("widgets", "w", {"metadata": {"finalizers": None}})


async def test_an_update_has_separate_owners_for_fields_of_the_status(world: World) -> None:
    await world.make("widgets", "w")
    answer = await world.patch(
        "widgets", "w", {"status": {"ready": 1}}, sub="status", fieldManager="me"
    )
    entries = [one for one in answer.body["metadata"]["managedFields"] if one["manager"] == "me"]
    assert [(one["operation"], one["subresource"]) for one in entries] == [("Update", "status")]
    assert entries[0]["fieldsV1"] == {"f:status": {".": {}, "f:ready": {}}}
