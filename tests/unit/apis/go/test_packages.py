"""Packages from files, and from a module cache."""

from __future__ import annotations

from collections.abc import Mapping

from olmkit.apis.findings import Findings
from olmkit.apis.go import packages as go_packages
from olmkit.apis.go.packages import Library


class OnePackage:
    """A port with one package, which counts its requests."""

    def __init__(self) -> None:
        self.asked = 0

    def files(self, package: str) -> Mapping[str, bytes] | None:
        self.asked += 1
        return {"x.go": b"package x\n\ntype X int\n"} if package == "example.org/x" else None

    def version(self, module: str) -> str:
        return "v0.30.2" if module.startswith("k8s.io/") else ""


def test_a_package_has_all_files_of_its_build() -> None:
    package = go_packages.read_package(
        "example.com/toys",
        {
            "a.go": b"package toys\n\n// +groupName=toys\n\ntype A int\n",
            "b.go": b'package toys\n\ntype B string\n\nconst One B = "one"\n',
            "c.go": b"package toys\n\nfunc (a *A) MarshalText() ([]byte, error) {}\n",
            "d_test.go": b"package toys\n\ntype D int\n",
        },
        Findings(),
        is_own=True,
    )

    assert package is not None
    assert sorted(package.declarations) == ["A", "B"]
    assert package.methods == {"A": frozenset({"MarshalText"})}
    assert package.constants == {"B": ("one",)}
    assert [comment.text for comment in package.comments] == ["groupName=toys"]


def test_two_packages_in_one_directory_are_a_finding() -> None:
    findings = Findings()
    files = {"a.go": b"package v1\n", "b.go": b"package v1\n", "c.go": b"\npackage v2\n"}
    files |= {"c_test.go": b"package v1_test\n", "doc.go": b"package documentation\n"}
    go_packages.read_package("example.com/toys", files, findings, is_own=True)
    assert [(one.rule, str(one.at)) for one in findings] == [("API027", "c.go:2:9")]


def test_a_directory_without_files_of_the_build_is_not_a_package() -> None:
    assert go_packages.read_package("x", {"x_test.go": b""}, Findings(), is_own=True) is None


def test_each_package_is_requested_once() -> None:
    shelf = OnePackage()
    library = Library({}, shelf)

    assert library.package("example.org/x") is library.package("example.org/x")
    assert library.package("example.org/none") is library.package("example.org/none") is None
    assert shelf.asked == 2


def test_kubernetes_types_come_from_the_table_of_the_requested_release() -> None:
    package = Library({}, OnePackage()).package("k8s.io/api/core/v1")

    assert package is not None
    assert package.at.path == "k8s.io/api/core/v1 (v0.30)"
    assert "PodSpec" in package.declarations
