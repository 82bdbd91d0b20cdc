"""Custom resources: defaults, pruning and refusals of their schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import World


async def _refused(world: World, **spec: Any) -> Any:
    manifest = world.manifest("widgets", "w", spec={"colour": "green"} | spec)
    answer = await world.ask("POST", world.path("widgets"), manifest)
    assert answer.status == 422, answer.body
    assert answer.body["reason"] == "Invalid"
    details = answer.body["details"]
    assert (details["group"], details["kind"], details["name"]) == (
        "tests.example.com",
        "Widget",
        "w",
    )
    assert answer.body["message"].startswith('Widget.tests.example.com "w" is invalid: ')
    return details["causes"]


async def test_defaults_are_added(world: World) -> None:
    made = await world.make(
        "widgets", "w", spec={"colour": "red", "parts": [{"name": "a"}, {"name": "b", "weight": 1}]}
    )
    assert made["spec"] == {
        "colour": "red",
        "size": 1,
        "parts": [{"name": "a", "weight": 7}, {"name": "b", "weight": 1}],
    }


async def test_null_is_replaced_by_the_default_unless_the_field_is_nullable(world: World) -> None:
    made = await world.make("widgets", "w", spec={"colour": "red", "size": None, "label": None})
    assert made["spec"]["size"] == 1
    assert made["spec"]["label"] is None


async def test_unknown_fields_are_pruned(world: World) -> None:
    made = await world.make(
        "widgets",
        "w",
        spec={
            "colour": "red",
            "unknown": 1,
            "parts": [{"name": "a", "odd": True}],
            "extra": {"any": {"thing": [1]}},
            "names": {"x": "1"},
        },
        more={"a": 1},
    )
    assert "unknown" not in made["spec"]
    assert made["spec"]["parts"] == [{"name": "a", "weight": 7}]
    assert made["spec"]["extra"] == {"any": {"thing": [1]}}
    assert made["spec"]["names"] == {"x": "1"}
    assert "more" not in made


async def test_unknown_fields_are_refused_on_request(world: World) -> None:
    manifest = world.manifest("widgets", "w", spec={"colour": "red", "unknown": 1})
    answer = await world.ask("POST", world.path("widgets"), manifest, fieldValidation="Strict")
    assert answer.status == 400
    assert 'unknown field "spec.unknown"' in answer.body["message"]
    answer = await world.ask("POST", world.path("widgets"), manifest, fieldValidation="Warn")
    assert answer.status == 201
    assert 'unknown field \\"spec.unknown\\"' in answer.headers["Warning"]


@pytest.mark.parametrize(
    ("spec", "field", "reason", "words"),
    [
        ({"size": 10}, "spec.size", "FieldValueInvalid", "should be less than or equal to 9"),
        ({"size": -1}, "spec.size", "FieldValueInvalid", "should be greater than or equal to 0"),
        ({"size": "3"}, "spec.size", "FieldValueTypeInvalid", "must be of type integer"),
        ({"colour": "pink"}, "spec.colour", "FieldValueNotSupported", 'supported values: "red"'),
        ({"label": "abcdef"}, "spec.label", "FieldValueTooLong", "may not be more than 5"),
        ({"label": "A"}, "spec.label", "FieldValueInvalid", "should match '^[a-z]*$'"),
        ({"steps": list("abcd")}, "spec.steps", "FieldValueTooMany", "must have at most 3 items"),
        ({"steps": ["a", 1]}, "spec.steps[1]", "FieldValueTypeInvalid", "must be of type string"),
        ({"tags": ["a", "a"]}, "spec.tags[1]", "FieldValueDuplicate", "Duplicate value"),
        (
            {"parts": [{"name": "a"}, {"name": "a"}]},
            "spec.parts[1]",
            "FieldValueDuplicate",
            "Duplicate value",
        ),
        ({"parts": [{}]}, "spec.parts[0].name", "FieldValueRequired", "Required value"),
        ({"names": {"x": 1}}, "spec.names.x", "FieldValueTypeInvalid", "must be of type string"),
        ({"port": True}, "spec.port", "FieldValueTypeInvalid", "must be of type integer"),
    ],
)
async def test_an_object_that_violates_the_schema_is_refused(
    world: World, spec: dict[str, Any], field: str, reason: str, words: str
) -> None:
    causes = await _refused(world, **spec)
    found = [one for one in causes if one["field"] == field and one["reason"] == reason]
    assert found, causes
    assert any(words in one["message"] for one in found), found


async def test_a_missing_required_field_is_named(world: World) -> None:
    manifest = world.manifest("widgets", "w", spec={})
    answer = await world.ask("POST", world.path("widgets"), manifest)
    assert answer.status == 422
    causes = {(one["field"], one["reason"]) for one in answer.body["details"]["causes"]}
    assert ("spec.colour", "FieldValueRequired") in causes


async def test_patches_are_also_validated(world: World) -> None:
    await world.make("widgets", "w")
    answer = await world.patch("widgets", "w", {"spec": {"size": 10}})
    assert answer.status == 422
    assert (await world.read("widgets", "w"))["spec"]["size"] == 1


async def test_status_is_validated_by_its_subresource(world: World) -> None:
    await world.make("widgets", "w")
    answer = await world.patch("widgets", "w", {"status": {"ready": "x"}}, sub="status")
    assert answer.status == 422
    twice = [{"type": "A", "status": "True"}, {"type": "A", "status": "False"}]
    answer = await world.patch("widgets", "w", {"status": {"conditions": twice}}, sub="status")
    assert answer.status == 422


async def test_int_or_string_fields_accept_a_number_and_a_string(world: World) -> None:
    for name, port in (("a", 80), ("b", "http")):
        made = await world.make("widgets", name, spec={"colour": "red", "port": port})
        assert made["spec"]["port"] == port
