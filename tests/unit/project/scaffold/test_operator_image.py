"""What changes with the image of the operator, and what the user's changes keep."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.base import documents
from olmkit.base.tree import Tree
from olmkit.edges import disk
from olmkit.project import config
from olmkit.project.scaffold import edit as scaffold_edit
from olmkit.project.scaffold import operator_image
from olmkit.project.scaffold import project as scaffold
from olmkit.project.scaffold.edit import EditRequest
from olmkit.project.scaffold.project import InitRequest

BASE = "config/manifests/bases/toy.clusterserviceversion.yaml"
DIGEST = "sha256:" + "0" * 64
MAKEFILE = """\
VERSION ?= 0.0.1
IMG ?= x.org/toy:v$(VERSION)
BUNDLE_IMG ?= x.org/toy-bundle:v$(VERSION)
CATALOG_IMG ?= x.org/toy-catalog:v$(VERSION)
"""


@pytest.fixture(scope="module")
def templates(root: Path) -> Tree:
    return disk.read_tree(root / "olmkit/project/templates")


def initialized(templates: Tree) -> Tree:
    return scaffold.init(InitRequest(domain="x.org", name="toy"), Tree(), templates).tree()


def with_image(tree: Tree, templates: Tree, image: str) -> Tree:
    project = config.parse(tree.data("PROJECT"), tree.data("pyproject.toml"))
    draft = scaffold_edit.edit(EditRequest(image=image), project, tree, templates)
    return tree.merge(draft.tree())


def container_image(tree: Tree) -> object:
    document = documents.load_yaml(tree.data(BASE), BASE)
    return document.get("metadata", "annotations", "containerImage")


def test_the_base_csv_and_the_makefile_change_with_it(templates: Tree) -> None:
    tree = with_image(initialized(templates), templates, "quay.io/me/toy:v0.2.0")
    assert container_image(tree) == "quay.io/me/toy:v0.2.0"
    text = tree.data("Makefile").decode()
    assert "\nVERSION ?= 0.2.0\n" in text
    assert "\nIMG ?= quay.io/me/toy:v$(VERSION)\n" in text
    assert "BUNDLE_IMG ?= quay.io/me/toy-bundle:v$(VERSION)\n" in text
    assert "CATALOG_IMG ?= quay.io/me/toy-catalog:v$(VERSION)\n" in text


@pytest.mark.parametrize(
    ("image", "lines"),
    [
        ("quay.io/me/toy:v0.3.0", "\nVERSION ?= 0.3.0\n|\nIMG ?= quay.io/me/toy:v$(VERSION)\n"),
        ("quay.io/me/toy:dev", "\nVERSION ?= 0.0.1\n|\nIMG ?= quay.io/me/toy:dev\n"),
    ],
)
def test_the_makefile_of_a_new_project_has_its_image_and_version(
    templates: Tree, image: str, lines: str
) -> None:
    request = InitRequest(domain="x.org", name="toy", image=image)
    tree = scaffold.init(request, Tree(), templates).tree()
    for line in lines.split("|"):
        assert line in tree.data("Makefile").decode()
    later = with_image(tree, templates, "quay.io/me/toy:v0.4.0")
    assert "\nVERSION ?= 0.4.0\n" in later.data("Makefile").decode()


def test_changing_back_restores_the_files(templates: Tree) -> None:
    old = initialized(templates)
    tree = old
    for image in (f"quay.io/me/toy@{DIGEST}", "quay.io/me/toy:latest", "x.org/toy:v0.0.1"):
        tree = with_image(tree, templates, image)
    assert tree.data("Makefile") == old.data("Makefile")
    assert tree.data(BASE) == old.data(BASE)


@pytest.mark.parametrize("image", ["quay.io/me/toy:latest", f"quay.io/me/toy@{DIGEST}"])
def test_an_image_without_a_version_keeps_the_version(image: str) -> None:
    text = operator_image.update_makefile(MAKEFILE, "x.org/toy", image)
    assert text.startswith(
        f"VERSION ?= 0.0.1\nIMG ?= {image}\nBUNDLE_IMG ?= quay.io/me/toy-bundle:v$"
    )


@pytest.mark.parametrize(
    "text",
    [
        "IMG ?= other.org/toy:v1\n",
        "IMG ?= $(REGISTRY)/toy:v1\n",
        "IMG := x.org/toy:v1\n",
        "IMG ?= x.org/toys:v1\n",
        "all:\n",
    ],
)
def test_other_lines_of_the_user_are_kept(text: str) -> None:
    assert operator_image.update_makefile(text, "x.org/toy", "x.org/toy:v2.0.0") == text


def test_another_image_in_the_base_csv_is_kept(templates: Tree) -> None:
    tree = initialized(templates)
    base = tree.data(BASE).replace(b"x.org/toy:v0.0.1", b"x.org/toy-mirror:v0.0.1")
    tree = with_image(tree.merge(Tree({BASE: base})), templates, "x.org/toy:v2.0.0")
    assert container_image(tree) == "x.org/toy-mirror:v0.0.1"
