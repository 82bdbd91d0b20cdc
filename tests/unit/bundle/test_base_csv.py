"""The CSV that generation starts from."""

from __future__ import annotations

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.base.documents import Document
from olmkit.bundle import base_csv
from olmkit.bundle.model import Resource


def csv(name: str, kind: str = "ClusterServiceVersion") -> Document:
    text = f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}}}\n"
    return documents.load(text.encode(), f"{name}.yaml")


def test_the_csv_of_the_input_wins_over_the_stored_one() -> None:
    chosen = base_csv.choose("p", [Resource(csv("p.v1"))], csv("p.v2"))
    assert chosen is not None
    assert chosen.name == "p.v1"


def test_the_stored_csv_is_used_when_the_input_has_none() -> None:
    chosen = base_csv.choose("p", [], csv("p.v2"))
    assert chosen is not None
    assert chosen.name == "p.v2"


def test_csvs_of_other_packages_in_the_input_are_passed_over() -> None:
    chosen = base_csv.choose("p", [Resource(csv("other.v1")), Resource(csv("p.v1"))], None)
    assert chosen is not None
    assert chosen.name == "p.v1"


def test_there_may_be_no_base() -> None:
    assert base_csv.choose("p", [], None) is None


def test_two_bases_are_refused_with_both_places() -> None:
    with pytest.raises(InputError, match="2 ClusterServiceVersions") as refused:
        base_csv.choose("p", [Resource(csv("p.v1")), Resource(csv("p.v2"))], None)
    found = refused.value.diagnostics[0]
    assert found.at is not None
    assert found.at.path == "p.v2.yaml"
    assert found.related[0].at.path == "p.v1.yaml"


@pytest.mark.parametrize(
    ("inputs", "stored"), [(["q.v1"], None), ([], "q.v1"), (["pq.v1"], "p.v1")]
)
def test_a_base_of_another_package_is_refused(inputs: list[str], stored: str | None) -> None:
    with pytest.raises(InputError, match="is not one of package `p`") as refused:
        base_csv.choose("p", [Resource(csv(name)) for name in inputs], stored and csv(stored))
    assert "--package" in refused.value.hint


def test_a_stored_file_of_another_kind_is_refused() -> None:
    with pytest.raises(InputError, match="holds no ClusterServiceVersion"):
        base_csv.choose("p", [], csv("p.v1", kind="Secret"))


def test_the_default_base_takes_its_words_from_the_package() -> None:
    base = base_csv.default("memcached-operator")
    assert base["metadata"]["name"] == "memcached-operator.v0.0.0"
    assert base["spec"]["displayName"] == "Memcached Operator"
    assert [mode["supported"] for mode in base["spec"]["installModes"]] == [False] * 3 + [True]
