from __future__ import annotations

import itertools
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.runtime.watch import predicate
from olmkit.runtime.watch.predicate import (
    AllOf,
    AnyOf,
    CreateEvent,
    DeleteEvent,
    Event,
    Funcs,
    GenericEvent,
    ObjectFunc,
    Predicate,
    UpdateEvent,
)
from olmkit.runtime.watch.snapshot import Snapshot


def _object(**metadata: Any) -> Snapshot:
    return Snapshot.of({"metadata": {"name": "a", "namespace": "n", **metadata}})


A = _object()
EVENTS: list[Event] = [CreateEvent(A), UpdateEvent(A, A), DeleteEvent(A), GenericEvent(A)]


def _answers(asked: Predicate, events: list[Event] | None = None) -> str:
    return "".join("T" if asked.admits(event) else "F" for event in events or EVENTS)


class _Fixed(Predicate):
    def __init__(self, answer: bool) -> None:
        self.answer = answer

    def create(self, event: CreateEvent) -> bool:  # noqa: ARG002
        return self.answer

    update = delete = generic = create  # type: ignore[assignment]


YES, NO = _Fixed(True), _Fixed(False)


@pytest.mark.parametrize(
    ("asked", "old", "new", "answer"),
    [
        (
            predicate.RESOURCE_VERSION_CHANGED,
            {"resourceVersion": "1"},
            {"resourceVersion": "2"},
            True,
        ),
        (
            predicate.RESOURCE_VERSION_CHANGED,
            {"resourceVersion": "1"},
            {"resourceVersion": "1"},
            False,
        ),
        (predicate.GENERATION_CHANGED, {"generation": 1}, {"generation": 2}, True),
        (
            predicate.GENERATION_CHANGED,
            {"generation": 1},
            {"generation": 1, "labels": {"a": "b"}},
            False,
        ),
        (predicate.GENERATION_CHANGED, {}, {"resourceVersion": "2"}, False),
        (
            predicate.ANNOTATIONS_CHANGED,
            {"annotations": {"a": "1"}},
            {"annotations": {"a": "2"}},
            True,
        ),
        (predicate.ANNOTATIONS_CHANGED, {"annotations": {}}, {}, False),
        (predicate.LABELS_CHANGED, {"labels": {"a": "1"}}, {}, True),
        (predicate.LABELS_CHANGED, {"labels": None}, {"labels": {}}, False),
        (predicate.matching_labels("a=1"), {"labels": {"a": "1"}}, {}, False),
        (predicate.matching_labels("a=1"), {}, {"labels": {"a": "1"}}, True),
    ],
)
def test_updates_are_filtered_by_their_changes(
    asked: Predicate, old: dict[str, Any], new: dict[str, Any], answer: bool
) -> None:
    assert asked.update(UpdateEvent(_object(**old), _object(**new))) is answer


@pytest.mark.parametrize(
    "asked",
    [
        predicate.RESOURCE_VERSION_CHANGED,
        predicate.GENERATION_CHANGED,
        predicate.ANNOTATIONS_CHANGED,
        predicate.LABELS_CHANGED,
    ],
)
def test_a_predicate_for_changes_passes_all_events_except_updates(
    asked: Predicate, caplog: pytest.LogCaptureFixture
) -> None:
    assert _answers(asked) == "TFTT"
    assert not asked.update(UpdateEvent(None, A))
    assert not asked.update(UpdateEvent(A, None))
    assert len(caplog.records) == 2


def test_a_function_of_the_object_gets_the_new_one() -> None:
    asked = ObjectFunc(lambda snapshot: snapshot.metadata.generation == 2)
    assert asked.update(UpdateEvent(_object(generation=1), _object(generation=2)))
    assert not asked.update(UpdateEvent(_object(generation=2), _object(generation=1)))
    assert not asked.update(UpdateEvent(_object(generation=2), None))
    assert _answers(asked) == "FFFF"


@pytest.mark.parametrize(("left", "right"), list(itertools.product([YES, NO], repeat=2)))
def test_filters_combine_as_and_or_not(left: _Fixed, right: _Fixed) -> None:
    both = "T" if left.answer and right.answer else "F"
    one = "T" if left.answer or right.answer else "F"
    assert _answers(left & right) == both * 4
    assert _answers(left | right) == one * 4
    assert _answers(~left) == ("F" if left.answer else "T") * 4


def test_all_of_nothing_passes_and_any_of_nothing_drops() -> None:
    assert _answers(AllOf()) == "TTTT"
    assert _answers(AnyOf()) == "FFFF"
    assert _answers(Predicate()) == "TTTT"


def test_evaluation_stops_at_the_first_deciding_predicate() -> None:
    def never(_: object) -> bool:
        raise AssertionError("asked")

    asked = Funcs(create=never, update=never, delete=never, generic=never)
    assert _answers(NO & asked) == "FFFF"
    assert _answers(YES | asked) == "TTTT"


def test_not_of_a_change_drops_every_creation_and_deletion() -> None:
    assert _answers(~predicate.GENERATION_CHANGED) == "FTFF"
    assert _answers(predicate.updates_without(predicate.GENERATION_CHANGED)) == "TTTT"
    grown = UpdateEvent(_object(generation=1), _object(generation=2))
    assert not predicate.updates_without(predicate.GENERATION_CHANGED).admits(grown)


def test_or_with_a_change_lets_every_creation_pass() -> None:
    assert _answers(predicate.GENERATION_CHANGED | NO) == "TFTT"


def test_on_update_only_filters_updates() -> None:
    assert _answers(predicate.on_update(lambda _: False)) == "TFTT"


def test_missing_functions_pass_everything() -> None:
    assert _answers(Funcs(delete=lambda _: False)) == "TTFT"


def test_an_invalid_selector_is_refused_when_the_filter_is_created() -> None:
    with pytest.raises(InputError, match="not a label selector"):
        predicate.matching_labels("a in b")


@pytest.mark.parametrize(
    "asked",
    [
        predicate.RESOURCE_VERSION_CHANGED,
        predicate.GENERATION_CHANGED,
        predicate.ANNOTATIONS_CHANGED,
        predicate.LABELS_CHANGED,
    ],
)
def test_another_object_under_the_same_name_has_changed(asked: Predicate) -> None:
    old, new = (_object(uid=uid, generation=1, resourceVersion="5") for uid in "xy")
    assert asked.admits(UpdateEvent(old, new))
    assert not asked.admits(UpdateEvent(old, old))
