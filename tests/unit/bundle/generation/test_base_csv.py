"""The CSV that generation starts from."""

from __future__ import annotations

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import Diagnostic, InputError
from olmkit.base.documents import Document
from olmkit.bundle.generation import base_csv
from olmkit.bundle.model import BundleObject, ClusterServiceVersion


def csv(name: str, kind: str = "ClusterServiceVersion") -> Document:
    text = f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}}}\n"
    return documents.load(text.encode(), f"{name}.yaml")


def choose(
    inputs: list[str], stored: str | None = None
) -> tuple[ClusterServiceVersion | None, list[Diagnostic]]:
    """Return the base of package `p`, and the findings about the choice."""
    notes: list[Diagnostic] = []
    given = [BundleObject(csv(name)) for name in inputs]
    chosen = base_csv.choose("p", given, csv(stored) if stored else None, notes.append)
    return chosen, notes


def test_the_csv_of_the_input_takes_precedence_over_the_stored_one() -> None:
    chosen, _ = choose(["p.v1"], "p.v2")
    assert chosen is not None
    assert chosen.name == "p.v1"


def test_the_stored_csv_is_used_when_the_input_has_none() -> None:
    chosen, _ = choose([], "p.v2")
    assert chosen is not None
    assert chosen.name == "p.v2"


def test_csvs_of_other_packages_in_the_input_are_ignored() -> None:
    chosen, notes = choose(["other.v1", "p.v1"])
    assert notes == []
    assert chosen is not None
    assert chosen.name == "p.v1"


def test_a_base_is_optional() -> None:
    chosen, (found,) = choose([])
    assert chosen is None
    assert "there is no base ClusterServiceVersion of package `p`" in found.message


def test_two_bases_are_refused_with_both_positions() -> None:
    with pytest.raises(InputError, match="2 ClusterServiceVersions") as refused:
        choose(["p.v1", "p.v2"])
    found = refused.value.diagnostics[0]
    assert found.at is not None
    assert found.at.path == "p.v2.yaml"
    assert found.related[0].at.path == "p.v1.yaml"


@pytest.mark.parametrize(
    ("inputs", "stored"), [(["q.v1"], None), ([], "q.v1"), (["pq.v1"], "p.v1")]
)
def test_a_base_of_another_package_is_ignored_and_reported(
    inputs: list[str], stored: str | None
) -> None:
    chosen, (found,) = choose(inputs, stored)
    assert chosen is None
    assert "is not one of package `p`" in found.message
    assert "--package" in found.hint


def test_a_stored_file_of_another_kind_is_refused() -> None:
    with pytest.raises(InputError, match="contains no ClusterServiceVersion"):
        base_csv.choose("p", [], csv("p.v1", kind="Secret"), [].append)


def test_the_default_base_takes_its_texts_from_the_package() -> None:
    base = base_csv.default("memcached-operator")
    assert base["metadata"]["name"] == "memcached-operator.v0.0.0"
    assert base["spec"]["displayName"] == "Memcached Operator"
    assert [mode["supported"] for mode in base["spec"]["installModes"]] == [False] * 3 + [True]
