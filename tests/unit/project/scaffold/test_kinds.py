"""Valid names of kinds, and the names of their parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, Location
from olmkit.base.tree import Tree
from olmkit.edges import disk
from olmkit.project import config
from olmkit.project.config import Api, Project
from olmkit.project.scaffold import kinds as scaffold_kinds
from olmkit.project.scaffold.kinds import KindRequest, Names


@pytest.fixture(scope="module")
def templates(root: Path) -> Tree:
    return disk.read_tree(root / "olmkit/project/templates")


def api(kind: str = "Toy", group: str = "web-games", version: str = "v1alpha1", **how: str) -> Api:
    at = Location(path="PROJECT")
    return Api(group=group, domain="x.org", version=version, kind=kind, at=at, **how)


def project(*apis: Api) -> Project:
    text = "version: '3'\nresources:\n"
    for one in apis:
        text += f"- group: {one.group}\n  version: {one.version}\n  kind: {one.kind}\n"
    return config.parse(text.encode())


def test_parts_of_a_kind_have_paths_and_names() -> None:
    names = Names("src/toy", "toy", api(), multigroup=False)
    assert names.types_file == "src/toy/api/v1alpha1/toy.py"
    assert names.reconciler_file == "src/toy/reconcilers/toy.py"
    assert names.module_of(names.types_file) == "toy.api.v1alpha1.toy"
    assert (names.group_prefix, names.version_prefix) == ("WebGames", "WebGamesV1alpha1")


def test_several_groups_have_their_own_directories() -> None:
    names = Names("toy", "toy", api(kind="Class"), multigroup=True)
    assert names.types_file == "toy/api/web_games/v1alpha1/class_.py"
    assert names.reconciler_file == "toy/reconcilers/web_games/class_.py"
    assert Names("toy", "toy", api(group=""), multigroup=True).group_folder == ""


def test_a_domain_or_a_path_makes_a_request_external() -> None:
    names = {"group": "a", "version": "v1", "kind": "B"}
    assert not KindRequest(**names).is_external
    assert KindRequest(**names, external_domain="").is_external
    assert KindRequest(**names, external_path="a.org/b").is_external


def test_a_variable_has_a_unique_name_in_templates(templates: Tree) -> None:
    assert scaffold_kinds.variable_of("Memcached", templates) == "memcached"
    assert scaffold_kinds.variable_of("Image", templates) == "image_object"
    assert scaffold_kinds.variable_of("Self", templates) == "self_object"


def test_an_existing_kind_is_found_and_keeps_its_plural() -> None:
    found = project(api(), api(version="v1"))
    assert scaffold_kinds.find(found, "web-games", "v1", "Toy") == 1
    assert scaffold_kinds.find(found, "web-games", "v2", "Toy") is None
    scaffold_kinds.check_plural(api(), "")
    scaffold_kinds.check_plural(api(), "toys")
    with pytest.raises(ConfigurationError, match="has the plural `toys` in version `v1alpha1`"):
        scaffold_kinds.check_plural(api(), "toyz")


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ("ToyList", "Toy", "a list of `Toy`"),
        ("TOY", "Toy", "upper case letters only"),
        ("Toys", "Toy", "the plural of `Toy`"),
    ],
)
def test_unique_names_of_a_group_conflict_in_both_directions(
    one: str, other: str, words: str
) -> None:
    for first, second in ((one, other), (other, one)):
        with pytest.raises(ConfigurationError, match=words):
            scaffold_kinds.check_clash(api(first), api(second))
    scaffold_kinds.check_clash(api("Toy"), api("Game"))


def test_no_kind_can_hide_an_import_of_templates(templates: Tree) -> None:
    imported = {
        name
        for path, content in templates.items()
        if path.endswith(".py.tmpl") and "__main__" not in path and "samples_test" not in path
        for line in content.data.decode().splitlines()
        if line.startswith("from ") and "{" not in line
        for name in line.partition(" import ")[2].split(", ")
        if name[:1].isupper()
    }
    # Only the test of the process imports it, which is independent of kinds.
    assert imported - scaffold_kinds.TAKEN_KINDS <= {"Flags", "Operator", "RunOperator"}
