"""Reading one object and several: versions, pages, selectors, formats."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import World

PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


def names(answer: Any) -> list[str]:
    return [one["metadata"]["name"] for one in answer.body["items"]]


async def test_a_missing_object_is_a_status_that_names_it(world: World) -> None:
    answer = await world.ask("GET", world.path("widgets", "w"))
    assert answer.status == 404
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'widgets.tests.example.com "w" not found',
        "reason": "NotFound",
        "details": {"name": "w", "group": "tests.example.com", "kind": "widgets"},
        "code": 404,
    }


async def test_a_missing_object_of_the_core_group_has_no_group(world: World) -> None:
    answer = await world.ask("GET", world.path("configmaps", "w"))
    assert answer.body["message"] == 'configmaps "w" not found'
    assert answer.body["details"] == {"name": "w", "kind": "configmaps"}


async def test_an_unknown_path_is_not_found_in_plain_text(world: World) -> None:
    answer = await world.ask("GET", "/apis/tests.example.com/v1/nothings")
    assert (answer.status, answer.body) == (404, "404 page not found\n")


async def test_a_new_object_has_the_fields_that_the_server_sets(world: World) -> None:
    made = await world.make("widgets", "w")
    metadata = made["metadata"]
    assert metadata["namespace"] == world.namespace
    assert metadata["generation"] == 1
    assert metadata["resourceVersion"].isdigit()
    assert len(metadata["uid"]) == 36
    assert metadata["creationTimestamp"].endswith("Z")
    assert len(metadata["creationTimestamp"]) == len("2024-01-01T00:00:00Z")
    assert await world.read("widgets", "w") == made


async def test_configmaps_have_no_generation(world: World) -> None:
    made = await world.make("configmaps", "m", data={"a": "1"})
    assert "generation" not in made["metadata"]
    assert made["apiVersion"] == "v1"
    assert made["kind"] == "ConfigMap"


async def test_a_list_is_sorted_by_name_and_items_of_the_core_group_have_no_kind(
    world: World,
) -> None:
    for name in ("b", "c", "a"):
        await world.make("configmaps", name)
    answer = await world.ask("GET", world.path("configmaps"))
    assert answer.body["kind"] == "ConfigMapList"
    assert answer.body["apiVersion"] == "v1"
    assert names(answer) == ["a", "b", "c"]
    assert all("kind" not in one and "apiVersion" not in one for one in answer.body["items"])
    last = max(int(one["metadata"]["resourceVersion"]) for one in answer.body["items"])
    assert int(answer.body["metadata"]["resourceVersion"]) >= last


async def test_items_of_custom_kinds_have_their_kind(world: World) -> None:
    await world.make("widgets", "a")
    answer = await world.ask("GET", world.path("widgets"))
    assert answer.body["kind"] == "WidgetList"
    [one] = answer.body["items"]
    assert (one["apiVersion"], one["kind"]) == ("tests.example.com/v1", "Widget")


async def test_an_empty_list_has_items(world: World) -> None:
    answer = await world.ask("GET", world.path("widgets"))
    assert answer.status == 200
    assert answer.body["items"] == []


async def test_pages_show_the_state_of_the_first_one(world: World) -> None:
    for name in "abcde":
        await world.make("configmaps", name)
    first = await world.ask("GET", world.path("configmaps"), limit="2")
    assert names(first) == ["a", "b"]
    assert first.body["metadata"]["remainingItemCount"] == 3
    token = first.body["metadata"]["continue"]
    await world.make("configmaps", "bb")
    second = await world.ask("GET", world.path("configmaps"), limit="2", **{"continue": token})
    assert names(second) == ["c", "d"]
    token = second.body["metadata"]["continue"]
    third = await world.ask("GET", world.path("configmaps"), limit="2", **{"continue": token})
    assert names(third) == ["e"]
    assert "continue" not in third.body["metadata"]
    assert "remainingItemCount" not in third.body["metadata"]
    versions = {page.body["metadata"]["resourceVersion"] for page in (first, second, third)}
    assert len(versions) == 1, "all pages show one state"


async def test_a_page_with_a_selector_does_not_count_the_remaining_items(world: World) -> None:
    for name in "abc":
        await world.make("configmaps", name, metadata={"labels": {"x": "y"}})
    answer = await world.ask("GET", world.path("configmaps"), limit="2", labelSelector="x=y")
    assert names(answer) == ["a", "b"]
    assert "remainingItemCount" not in answer.body["metadata"]


async def test_an_invalid_token_is_a_bad_request(world: World) -> None:
    answer = await world.ask("GET", world.path("configmaps"), limit="2", **{"continue": "nonsense"})
    assert answer.status == 400
    assert answer.body["reason"] == "BadRequest"


async def test_a_token_expires_when_its_state_is_compacted(world: World) -> None:
    for name in "abc":
        await world.make("configmaps", name)
    first = await world.ask("GET", world.path("configmaps"), limit="2")
    await world.make("configmaps", "d")
    await asyncio.to_thread(world.server.compact)
    token = first.body["metadata"]["continue"]
    answer = await world.ask("GET", world.path("configmaps"), limit="2", **{"continue": token})
    assert answer.status == 410
    assert answer.body["reason"] == "Expired"
    assert answer.body["metadata"]["continue"], "a token to continue without consistency"
    token = answer.body["metadata"]["continue"]
    rest = await world.ask("GET", world.path("configmaps"), limit="2", **{"continue": token})
    assert names(rest) == ["c", "d"]


@pytest.mark.parametrize("version", ["0", "", None])
async def test_a_list_can_have_any_version(world: World, version: str | None) -> None:
    await world.make("configmaps", "a")
    params = {} if version is None else {"resourceVersion": version}
    answer = await world.ask("GET", world.path("configmaps"), **params)
    assert answer.status == 200


async def test_a_list_that_is_at_least_as_new_as_an_own_write_has_it(world: World) -> None:
    made = await world.make("configmaps", "a")
    version = made["metadata"]["resourceVersion"]
    answer = await world.ask("GET", world.path("configmaps"), resourceVersion=version)
    assert names(answer) == ["a"]
    assert int(answer.body["metadata"]["resourceVersion"]) >= int(version)


async def test_a_list_from_the_future_times_out_with_its_cause(world: World) -> None:
    answer = await world.ask("GET", world.path("configmaps"), resourceVersion="99999999")
    assert answer.status == 504
    assert answer.body["reason"] == "Timeout"
    assert answer.body["details"]["causes"] == [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]
    assert answer.body["details"]["retryAfterSeconds"] == 1


async def test_a_version_that_is_not_a_number_is_refused(world: World) -> None:
    answer = await world.ask("GET", world.path("configmaps"), resourceVersion="x")
    assert answer.status == 400


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("app=web", ["a", "b"]),
        ("app!=web", ["c", "d"]),
        ("app in (web,db),tier", ["b"]),
        ("app notin (web)", ["c", "d"]),
        ("!app", ["d"]),
        ("app", ["a", "b", "c"]),
    ],
)
async def test_a_list_is_selected_by_labels(
    world: World, selector: str, expected: list[str]
) -> None:
    for name, labels in {
        "a": {"app": "web"},
        "b": {"app": "web", "tier": "1"},
        "c": {"app": "db"},
        "d": {},
    }.items():
        await world.make("configmaps", name, metadata={"labels": labels})
    answer = await world.ask("GET", world.path("configmaps"), labelSelector=selector)
    assert names(answer) == expected


async def test_an_invalid_label_selector_is_a_bad_request(world: World) -> None:
    answer = await world.ask("GET", world.path("configmaps"), labelSelector="a in b")
    assert answer.status == 400
    assert answer.body["reason"] == "BadRequest"


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("metadata.name=a", ["a"]),
        ("metadata.name==a", ["a"]),
        ("metadata.name!=a", ["b", "c"]),
        ("spec.colour=red", ["b"]),
        ("spec.colour!=red,metadata.name!=c", ["a"]),
    ],
)
async def test_a_list_is_selected_by_fields(
    world: World, selector: str, expected: list[str]
) -> None:
    for name, colour in {"a": "green", "b": "red", "c": "blue"}.items():
        await world.make("widgets", name, spec={"colour": colour})
    answer = await world.ask("GET", world.path("widgets"), fieldSelector=selector)
    assert names(answer) == expected


async def test_an_unsupported_field_selector_is_a_bad_request(world: World) -> None:
    answer = await world.ask("GET", world.path("widgets"), fieldSelector="spec.size=1")
    assert answer.status == 400
    assert answer.body["reason"] == "BadRequest"
    assert "field label not supported: spec.size" in answer.body["message"]


async def test_a_namespace_can_be_selected_as_a_field(world: World) -> None:
    await world.make("configmaps", "a")
    selector = f"metadata.namespace={world.namespace}"
    answer = await world.ask("GET", "/api/v1/configmaps", fieldSelector=selector)
    assert names(answer) == ["a"]


async def test_metadata_of_one_object_is_read_alone(world: World) -> None:
    made = await world.make("widgets", "a", metadata={"labels": {"x": "y"}})
    answer = await world.ask("GET", world.path("widgets", "a"), accept=PARTIAL)
    assert answer.body["kind"] == "PartialObjectMetadata"
    assert answer.body["apiVersion"] == "meta.k8s.io/v1"
    assert answer.body.keys() == {"kind", "apiVersion", "metadata"}
    assert answer.body["metadata"]["uid"] == made["metadata"]["uid"]


async def test_metadata_of_a_list_is_read_alone(world: World) -> None:
    await world.make("widgets", "a")
    answer = await world.ask("GET", world.path("widgets"), accept=PARTIAL_LIST)
    assert answer.body["kind"] == "PartialObjectMetadataList"
    assert answer.body["apiVersion"] == "meta.k8s.io/v1"
    [one] = answer.body["items"]
    assert one.keys() <= {"kind", "apiVersion", "metadata"}
    assert one["metadata"]["name"] == "a"


async def test_a_table_has_the_columns_of_the_kind(world: World) -> None:
    await world.make("widgets", "a", spec={"colour": "red", "size": 3})
    answer = await world.ask("GET", world.path("widgets"), accept=TABLE)
    assert answer.body["kind"] == "Table"
    columns = [one["name"] for one in answer.body["columnDefinitions"]]
    assert columns == ["Name", "Size", "Age"]
    [row] = answer.body["rows"]
    assert row["cells"][:2] == ["a", 3]
    assert row["object"]["kind"] == "PartialObjectMetadata"


async def test_discovery_has_kinds_and_their_subresources(world: World) -> None:
    widgets = await world.cluster.resource("tests.example.com/v1", "Widget")
    assert (widgets.plural, widgets.namespaced) == ("widgets", True)
    assert widgets.subresources == {"status", "scale"}
    gadgets = await world.cluster.resource("tests.example.com/v1", "Gadget")
    assert (gadgets.plural, gadgets.namespaced) == ("gadgets", False)
    assert gadgets.subresources == set()
    maps = await world.cluster.resource("v1", "ConfigMap")
    assert maps.plural == "configmaps"
    assert {"get", "list", "watch", "create", "update", "patch", "delete"} <= maps.verbs


async def test_discovery_without_aggregation_is_supported(world: World) -> None:
    answer = await world.ask("GET", "/apis/tests.example.com/v1")
    assert answer.body["kind"] == "APIResourceList"
    assert answer.body["groupVersion"] == "tests.example.com/v1"
    listed = {one["name"]: one for one in answer.body["resources"]}
    assert listed.keys() == {"widgets", "widgets/status", "widgets/scale", "gadgets"}
    assert listed["widgets"]["kind"] == "Widget"
    assert listed["widgets"]["namespaced"] is True
    assert listed["widgets/scale"]["kind"] == "Scale"


async def test_the_server_has_a_version(world: World) -> None:
    found = await world.cluster.version()
    assert found["major"] == "1"
    assert found["gitVersion"].startswith("v1.")
