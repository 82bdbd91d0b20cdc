"""The built-in table of Kubernetes types."""

from __future__ import annotations

import pytest

from olmkit.apis.findings import Findings
from olmkit.apis.go import packages as go_packages
from olmkit.apis.go import table as go_table
from olmkit.apis.go.model import StructBody

API = "k8s.io/api"


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("v0.30.0", "v0.30"),
        ("v0.31.7", "v0.31"),
        ("v0.2.0", "v0.28"),
        ("v0.99.0", "v0.37"),
        ("", "v0.37"),
        ("v0.0.0-20260101000000-abcdefabcdef", "v0.28"),
    ],
)
def test_the_nearest_release_is_used(version: str, release: str) -> None:
    assert go_table.nearest(API, version) == release


def test_releases_differ_in_what_they_declare() -> None:
    def fields(version: str) -> set[str]:
        package = go_table.package("k8s.io/api/core/v1", lambda _: version)
        assert package is not None
        kind = package.declarations["PodSpec"].type
        assert isinstance(kind, StructBody)
        return {name for one in kind.fields for name in one.names}

    assert fields("v0.28.0") < fields("v0.37.0")


def test_a_type_that_is_not_in_the_table_is_not_found() -> None:
    assert go_table.package("example.com/x", lambda _: "") is None
    package = go_table.package("time", lambda _: "")
    assert package is not None
    assert "Duration" in package.declarations
    assert "Time" not in package.declarations
    assert len(package.declarations) == len(list(package.declarations))


def test_every_form_of_a_type_survives_the_table() -> None:
    text = b"""package x

// S has words.
// +structType=atomic
type S struct {
    // A has words.
    // +optional
    A, B map[string][]*other.T `json:"a" protobuf:"bytes,1"`
    C [4]int
    *Embedded `json:",inline"`
    D chan int
}

type T = S
"""
    package = go_packages.read_package("x", {"x.go": text}, Findings(), is_own=True)
    assert package is not None
    for name, declaration in package.declarations.items():
        form = go_table.encode(declaration)
        again = go_table.decode(name, form, declaration.at)
        assert go_table.encode(again) == form
        assert "protobuf" not in str(form)
        assert (again.doc, again.is_alias) == (declaration.doc, declaration.is_alias)
