"""The reference of `olmkit.runtime` and `olmkit.testing` has all names that authors use."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

PACKAGES = ("olmkit.runtime", "olmkit.testing")
_IMPORT = re.compile(
    r"^[-+ ]*from (olmkit\.(?:runtime|testing)) import (\([^)]*\)|[^\n(]+)$", re.MULTILINE
)


@pytest.fixture(scope="module")
def pages(root: Path) -> dict[str, Any]:
    return runpy.run_path(str(root / "scripts/library_pages.py"))


def _texts(root: Path) -> dict[str, str]:
    """Return what authors copy: scaffolds, the shipped operator, code blocks of the documents."""
    files = [
        *root.glob("olmkit/project/templates/**/*.tmpl"),
        *root.glob("operator/**/*.py"),
        *(path for path in root.glob("docs/**/*.md") if "reference" not in path.parts),
        root / "README.md",
    ]
    return {str(path.relative_to(root)): path.read_text() for path in files}


def _used(text: str) -> set[tuple[str, str]]:
    """Return package and name of each import, and attributes of whole imported modules."""
    found = set()
    for package, listed in _IMPORT.findall(text):
        for one in re.split(r"[,\s]+", listed.split("#")[0].strip("() \n")):
            if one:
                found.add((package, one))
    return found


def test_every_name_that_authors_copy_is_in_the_reference(
    root: Path, pages: dict[str, Any]
) -> None:
    known = {package: {name.name: name for name in pages["names"](package)} for package in PACKAGES}
    seen = 0
    for path, text in _texts(root).items():
        for package, name in _used(text):
            seen += 1
            assert name in known[package], f"{path}: {package}.{name}"
            members = {one.name for one in known[package][name].members}
            if not known[package][name].source:  # a whole module
                for attribute in re.findall(rf"(?<![\w.]){name}\.([a-z_]\w*)\(", text):
                    assert attribute in members, f"{path}: {name}.{attribute}"
    assert seen > 50


def test_an_import_over_several_lines_is_detected() -> None:
    text = (
        "from olmkit.runtime import (\n  Client,\n  Result,\n)\nfrom olmkit.testing import rbac\n"
    )
    assert _used(text) == {
        ("olmkit.runtime", "Client"),
        ("olmkit.runtime", "Result"),
        ("olmkit.testing", "rbac"),
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_has_a_docstring(package: str, pages: dict[str, Any]) -> None:
    bare = [
        f"{name.name}{'.' + member.name if member else ''}"
        for name in pages["names"](package)
        for member in (None, *(name.members if not name.source else ()))
        if not (member or name).doc
    ]
    assert bare == []


@pytest.mark.parametrize("page", ["runtime", "testing", "library"])
def test_anchors_of_a_page_are_unique_and_linked(
    page: str, root: Path, pages: dict[str, Any]
) -> None:
    text = (root / f"docs/reference/{page}.md").read_text()
    anchors = pages["anchors_of"](re.findall(r"^### `(.+)`$", text, re.MULTILINE))
    listed = re.findall(r"^\| \[`(.+)`\]\(#([^)]+)\)", text, re.MULTILINE)
    assert len(listed) > 10
    assert [anchors[name] for name, _ in listed] == [anchor for _, anchor in listed]


@pytest.mark.parametrize(
    ("page", "package"), [("runtime", "olmkit.runtime"), ("testing", "olmkit.testing")]
)
def test_the_page_has_every_exported_name(
    page: str, package: str, root: Path, pages: dict[str, Any]
) -> None:
    headings = re.findall(
        r"^### `(.+)`$", (root / f"docs/reference/{page}.md").read_text(), re.MULTILINE
    )
    by_module, modules = pages["exported"](package)
    exported = {*modules, *(name for names in by_module.values() for name in names)}
    assert set(headings) == exported
