"""Missing fields that validation rules read."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.cel import expressions as cel
from olmkit.kube.crds import cel_fields

TEXT = {"type": "string"}
PART = {"type": "object", "properties": {"name": TEXT, "a-b": TEXT, "if": TEXT, "x__y": TEXT}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "part": PART,
        "parts": {"type": "array", "items": PART},
        "byName": {"type": "object", "additionalProperties": PART},
        "open": {**PART, "x-kubernetes-preserve-unknown-fields": True},
        "bare": {"type": "object"},
        "thing": {**PART, "x-kubernetes-embedded-resource": True},
    },
}


def _unknown(rule: str, *, is_object: bool = False) -> list[str]:
    found = cel_fields.unknown(cel.parse(rule), SCHEMA, is_object=is_object)
    return [field.text for field in found]


@pytest.mark.parametrize(
    "rule",
    [
        "self.part.name == 'a'",
        "self.part.a__dash__b == self.part.__if__ + self.part.x__underscores__y",
        "self.parts.all(x, x.name == 'a') && self.parts[0].name == 'b'",
        "self.parts.filter(x, has(x.name)).exists(x, x.name == 'a')",
        "self.byName.all(key, self.byName[key].name == key) && self.byName.any.name == 'a'",
        "self.open.anything.at.all == 1",
        "self.bare.anything == 1",
        "self.thing.apiVersion == 'v1'",
        "self.parts.map(x, x.name)[0].anything == 'a'",
        "oldSelf.part == self.part",
    ],
)
def test_fields_of_the_schema_and_of_unknown_types_are_accepted(rule: str) -> None:
    assert _unknown(rule) == []


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        ("self.port > 1", "port"),
        ("has(self.part.port)", "port"),
        ("oldSelf.part.nome == 'a'", "nome"),
        ("self.parts.all(x, x.nome == 'a')", "nome"),
        ("self.parts[0].nome == 'a'", "nome"),
        ("self.byName.x.nome == 'a'", "nome"),
        ("self.part.a_b == 'a'", "a_b"),
        ("[1].all(x, self.nome == x)", "nome"),
        ("self.metadata.name == 'a'", "metadata"),
    ],
)
def test_other_fields_are_reported(rule: str, field: str) -> None:
    assert _unknown(rule) == [field]


def test_a_root_object_has_a_name_and_no_labels() -> None:
    assert _unknown("self.metadata.name == self.kind", is_object=True) == []
    assert _unknown("self.metadata.labels == self.kind", is_object=True) == ["labels"]
