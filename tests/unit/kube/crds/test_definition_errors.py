"""The names and versions of a CRD, as the API server validates them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from olmkit.kube.crds import definition_errors

NAMES = {"plural": "kettles", "singular": "kettle", "kind": "Kettle", "listKind": "KettleList"}


@dataclass(frozen=True)
class Crd:
    """A definition as the rules read it."""

    spec: Mapping[str, Any]
    name: str = "kettles.example.org"
    annotations: Mapping[str, str] = field(default_factory=dict)
    is_beta: bool = False
    group: str = "example.org"

    @property
    def plural(self) -> str:
        return str(self.spec.get("names", {}).get("plural") or "")

    @property
    def versions(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(self.spec.get("versions", ()))


def of_names(**changes: Any) -> list[str]:
    names = {key: value for key, value in {**NAMES, **changes}.items() if value is not None}
    return [one.message for one in definition_errors.check_names(Crd({"names": names}))]


def test_complete_names_are_valid() -> None:
    assert of_names() == []
    assert of_names(singular=None, listKind=None) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"plural": None}, ["spec.names.plural: Required value"]),
        ({"plural": ""}, ["spec.names.plural: Required value"]),
        ({"kind": None}, ["spec.names.kind: Required value"]),
        # Without a kind, there is no default for the singular, which is only invalid if it is set.
        ({"kind": None, "singular": None}, ["spec.names.kind: Required value"]),
        (
            {"kind": None, "singular": ""},
            ["spec.names.singular: Required value", "spec.names.kind: Required value"],
        ),
    ],
)
def test_names_are_required(changes: Mapping[str, Any], expected: list[str]) -> None:
    assert of_names(**changes) == expected


def test_the_kind_of_the_list_differs_from_the_kind() -> None:
    (message,) = of_names(listKind="Kettle")
    assert message.endswith("kind and listKind may not be the same")


def test_every_short_name_is_a_label() -> None:
    (message,) = of_names(shortNames=["ok", "Not_ok"])
    assert message.startswith("spec.names.shortNames[1]: Invalid value")


@pytest.mark.parametrize(("stored", "is_valid"), [(0, False), (1, True), (2, False)])
def test_exactly_one_version_is_stored(stored: int, *, is_valid: bool) -> None:
    versions = [{"name": f"v{number}", "storage": number < stored} for number in range(3)]
    assert (not list(definition_errors.check_storage(Crd({"versions": versions})))) is is_valid


def test_the_version_of_v1beta1_is_the_first_one() -> None:
    versions = [{"name": "v1"}, {"name": "v2"}]
    valid = Crd({"version": "v1", "versions": versions})
    assert list(definition_errors.check_first_version(valid)) == []
    (found,) = definition_errors.check_first_version(Crd({"version": "v2", "versions": versions}))
    assert found.message.endswith("must match the first version in spec.versions")
