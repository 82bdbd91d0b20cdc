"""What `init` creates."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import Tree
from olmkit.edges import disk
from olmkit.project import config
from olmkit.project.config import Project
from olmkit.project.scaffold import project as scaffold
from olmkit.project.scaffold.project import Draft, InitRequest


@pytest.fixture(scope="module")
def templates(root: Path) -> Tree:
    return disk.read_tree(root / "olmkit/project/templates")


def initialized(templates: Tree, **how: object) -> Draft:
    request = InitRequest(domain="example.com", name="toy-operator", **how)  # type: ignore[arg-type]
    return scaffold.init(request, Tree(), templates)


def project_of(tree: Tree) -> Project:
    return config.parse(tree.data("PROJECT"), tree.data("pyproject.toml"))


def test_a_new_project_can_be_read(templates: Tree) -> None:
    draft = initialized(templates)
    project = project_of(draft.tree())
    assert (project.name, project.domain, project.language) == (
        "toy-operator",
        "example.com",
        "python",
    )
    assert scaffold.package_of(project) == "toy_operator"
    assert draft.notes == []
    assert "toy_operator/__main__.py" in draft.tree()


def test_the_names_of_the_operators_image_are_valid_in_manifests(templates: Tree) -> None:
    tree = initialized(templates, image="quay.io:443/x/toy:v3").tree()
    assert b"newName: quay.io:443/x/toy\n  newTag: v3\n" in tree.data(scaffold.MANAGER_OVERLAY)


@pytest.mark.parametrize(
    ("name", "domain", "words"),
    [
        ("Toy", "example.com", "`Toy` is not a project name"),
        ("a" * 29, "example.com", "is 29 characters long"),
        ("json", "example.com", "would be `json`, which another package is called"),
        ("olmkit", "example.com", "which another package is called"),
        ("1a", "example.com", "Python cannot import"),
        ("toy", "--domain", "is not a domain"),
        ("toy", "exa_mple", "`exa_mple` is not a domain"),
    ],
)
def test_invalid_names_are_refused(templates: Tree, name: str, domain: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        scaffold.init(InitRequest(domain=domain, name=name), Tree(), templates)


def test_a_keyword_is_not_a_module_name() -> None:
    assert scaffold.module_name("class") == "class_"
    assert scaffold.module_name("Web-Site.x") == "web_site_x"


def test_an_existing_project_is_not_overwritten(templates: Tree) -> None:
    there = Tree({"Makefile": b"all:\n"})
    with pytest.raises(ConfigurationError, match="`Makefile` exists already"):
        scaffold.init(InitRequest(domain="example.com", name="toy"), there, templates)


def test_an_existing_file_is_kept_and_reported(templates: Tree) -> None:
    there = Tree({"README.md": b"mine\n"})
    draft = scaffold.init(InitRequest(domain="example.com", name="toy"), there, templates)
    assert "README.md" not in draft.tree()
    assert [note.message for note in draft.notes] == ["`README.md` existed and is kept"]


@pytest.mark.parametrize(
    ("repo", "domain", "wanted"),
    [
        ("sigs.k8s.io/kubebuilder/testdata/project-v4", "", "da1d9c86"),
        ("github.com/example/memcached-operator", "example.com", "86f835c3.example.com"),
    ],
)
def test_the_lease_has_the_name_of_kubebuilder(repo: str, domain: str, wanted: str) -> None:
    assert scaffold.lock_name(repo, domain) == wanted


def test_a_namespaced_project_has_a_role_and_watches_its_namespace(templates: Tree) -> None:
    tree = initialized(templates, namespaced=True).tree()
    assert b"\nkind: Role\n" in tree.data("config/rbac/role.yaml")
    assert b"\nkind: RoleBinding\n" in tree.data("config/rbac/role_binding.yaml")
    manager = tree.data(scaffold.MANAGER_FILE)
    assert b"- name: WATCH_NAMESPACE\n          valueFrom:" in manager
    assert b'value: ""' not in manager
    assert b"namespaced: true\n" in tree.data("PROJECT")
