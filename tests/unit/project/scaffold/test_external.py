"""What `create api` adds for a kind that another owner defines, and what it refuses."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import Tree
from olmkit.edges import disk
from olmkit.project import config
from olmkit.project.config import Project
from olmkit.project.scaffold import api as scaffold_api
from olmkit.project.scaffold import edit as scaffold_edit
from olmkit.project.scaffold import external as scaffold_external
from olmkit.project.scaffold import project as scaffold
from olmkit.project.scaffold.api import ApiRequest, DeployImage
from olmkit.project.scaffold.edit import EditRequest
from olmkit.project.scaffold.project import Draft, InitRequest

POD = {"group": "core", "version": "v1", "kind": "Pod"}
DEPLOYMENT = {"group": "apps", "version": "v1", "kind": "Deployment"}
CERTIFICATE = {"group": "cert-manager", "version": "v1", "kind": "Certificate"}
TOY = {"group": "games", "version": "v1", "kind": "Toy"}
WIRING = "toy/wiring.py"


@pytest.fixture(scope="module")
def templates(root: Path) -> Tree:
    return disk.read_tree(root / "olmkit/project/templates")


@pytest.fixture
def initialized(templates: Tree) -> Tree:
    return scaffold.init(InitRequest(domain="x.org", name="toy"), Tree(), templates).tree()


def project_of(tree: Tree) -> Project:
    return config.parse(tree.data("PROJECT"), tree.data("pyproject.toml"))


def draft_of(tree: Tree, templates: Tree, **how: Any) -> Draft:
    request, project = ApiRequest(**({"resource": False} | how)), project_of(tree)
    is_plain = request.resource and not request.is_external
    if not is_plain and scaffold_external.is_external_kind(request, project):
        return scaffold_external.create_controller(request, project, tree, templates)
    return scaffold_api.create_api(request, project, tree, templates)


def added(tree: Tree, templates: Tree, **how: Any) -> Tree:
    made = tree.merge(draft_of(tree, templates, **how).tree())
    for path, content in made.items():
        if path.endswith(".py"):
            ast.parse(content.data)
    return made


def several_groups(tree: Tree, templates: Tree) -> Tree:
    request = EditRequest(multigroup=True)
    return tree.merge(scaffold_edit.edit(request, project_of(tree), tree, templates).tree())


def entries(tree: Tree) -> list[Any]:
    found = documents.load(tree.data("PROJECT"), "PROJECT").get("resources")
    assert isinstance(found, list)
    return found


def test_a_kind_of_kubernetes_only_has_a_reconciler(initialized: Tree, templates: Tree) -> None:
    tree = added(initialized, templates, **POD)
    assert {path for path in tree if path not in initialized} == {
        "tests/test_pod.py",
        "toy/reconcilers/__init__.py",
        "toy/reconcilers/pod.py",
    }
    code = tree.data("toy/reconcilers/pod.py")
    for line in (
        b"resources=pods,verbs=get;list;watch;create;update;patch;delete\n",
        b"resources=pods/status,verbs=get;update;patch\n",
        b"resources=pods/finalizers,verbs=update\n",
    ):
        assert b"# +kubebuilder:rbac:groups=core," + line in code
    assert b'group="",\n        version="v1",\n        kind="Pod",\n' in code
    assert b".watches_for(PodReconciler.gvk)\n" in tree.data(WIRING)
    assert tree.data("config/default/kustomization.yaml") == initialized.data(
        "config/default/kustomization.yaml"
    )


def test_entries_of_the_project_file_are_those_of_kubebuilder(
    initialized: Tree, templates: Tree
) -> None:
    tree = initialized
    for how in (
        DEPLOYMENT,
        POD,
        {"group": "rbac.authorization", "version": "v1", "kind": "Role"},
        CERTIFICATE | {"external_domain": "io", "external_path": "example.com/certs/v1"},
        {"group": "batch", "version": "v1", "kind": "CronJob", "plural": "crons"},
    ):
        tree = added(tree, templates, **how)
    assert (
        tree.data("PROJECT").partition(b"resources:\n")[2].decode()
        == """\
- controller: true
  core: true
  group: apps
  kind: Deployment
  path: k8s.io/api/apps/v1
  version: v1
- controller: true
  core: true
  group: core
  kind: Pod
  path: k8s.io/api/core/v1
  version: v1
- controller: true
  core: true
  domain: k8s.io
  group: rbac.authorization
  kind: Role
  path: k8s.io/api/rbac.authorization/v1
  version: v1
- controller: true
  domain: io
  external: true
  group: cert-manager
  kind: Certificate
  path: example.com/certs/v1
  version: v1
- controller: true
  core: true
  group: batch
  kind: CronJob
  path: k8s.io/api/batch/v1
  plural: crons
  version: v1
version: "3"
"""
    )


def test_a_kind_of_another_operator_needs_no_package(initialized: Tree, templates: Tree) -> None:
    tree = added(initialized, templates, **CERTIFICATE, external_domain="io")
    assert entries(tree)[0] == CERTIFICATE | {"controller": True, "domain": "io", "external": True}
    assert b"groups=cert-manager.io,resources=certificates," in tree.data(
        "toy/reconcilers/certificate.py"
    )
    [api] = project_of(tree).apis
    assert api.is_external
    assert api.qualified_group == "cert-manager.io"


@pytest.mark.parametrize(
    ("domain", "group"),
    [(None, "cert-manager.x.org"), ("", "cert-manager"), ("io", "cert-manager.io")],
)
def test_a_package_alone_keeps_the_projects_domain(
    initialized: Tree, templates: Tree, domain: str | None, group: str
) -> None:
    how = CERTIFICATE | {"external_domain": domain, "external_path": "example.com/certs/v1"}
    [api] = project_of(added(initialized, templates, **how)).apis
    assert (api.is_external, api.qualified_group) == (True, group)


def test_a_group_can_include_its_domain(initialized: Tree, templates: Tree) -> None:
    short = added(initialized, templates, group="networking", version="v1", kind="Ingress")
    long = added(initialized, templates, group="networking.k8s.io", version="v1", kind="Ingress")
    assert long == short
    assert b'group="networking.k8s.io"' in long.data("toy/reconcilers/ingress.py")


@pytest.mark.parametrize(
    "how",
    [
        {"group": "core", "version": "v1", "kind": "Node"},
        CERTIFICATE | {"external_domain": "io", "namespaced": False},
    ],
    ids=["known", "said"],
)
def test_a_cluster_scoped_kind_is_watched_in_the_cluster(
    initialized: Tree, templates: Tree, how: dict[str, Any]
) -> None:
    tree = added(initialized, templates, **how)
    assert b"Reconciler.gvk, namespaced=False)\n" in tree.data(WIRING)
    assert b"namespaced=False," in tree.data(f"tests/test_{str(how['kind']).lower()}.py")


def test_an_external_kind_can_have_the_name_of_an_import(
    initialized: Tree, templates: Tree
) -> None:
    tree = added(initialized, templates, **CERTIFICATE | {"kind": "Request"}, external_domain="io")
    assert b"class RequestReconciler:" in tree.data("toy/reconcilers/request.py")


def test_external_kinds_need_no_multigroup(initialized: Tree, templates: Tree) -> None:
    tree = added(initialized, templates, **POD)
    tree = added(tree, templates, **TOY, resource=True)
    tree = added(tree, templates, **DEPLOYMENT)
    assert [api.has_types for api in project_of(tree).apis] == [False, True, False]


def test_kinds_with_one_name_need_several_groups(initialized: Tree, templates: Tree) -> None:
    own = TOY | {"kind": "Pod"}
    for first, second in ((POD, own | {"resource": True}), (own | {"resource": True}, POD)):
        tree = added(initialized, templates, **first)
        with pytest.raises(ConfigurationError, match="modules have the same names") as caught:
            added(tree, templates, **second)
        assert "--multigroup" in caught.value.hint
        tree = added(several_groups(tree, templates), templates, **second)
        wiring = tree.data(WIRING)
        assert b"PodReconciler as " in wiring
        assert b'.named("pod")' in wiring


def test_own_kinds_in_a_group_of_kubernetes_belong_to_the_project(
    initialized: Tree, templates: Tree
) -> None:
    tree = added(initialized, templates, **DEPLOYMENT, resource=True, controller=False)
    tree = added(tree, templates, **DEPLOYMENT)
    assert b"from toy.api.v1.deployment import Deployment\n" in tree.data(
        "toy/reconcilers/deployment.py"
    )
    assert [api.qualified_group for api in project_of(tree).apis] == ["apps.x.org"]


def test_a_repeated_kind_is_refused_and_force_twice_changes_nothing(
    initialized: Tree, templates: Tree
) -> None:
    tree = added(initialized, templates, **POD)
    with pytest.raises(ConfigurationError, match="has a controller already") as caught:
        added(tree, templates, **POD)
    assert "--force" in caught.value.hint
    with pytest.raises(ConfigurationError, match="has a controller already") as caught:
        added(tree, templates, **POD | {"version": "v2"})
    assert "one is enough" in caught.value.hint
    assert added(tree, templates, **POD, force=True) == tree


def test_an_entry_without_a_controller_gets_one(initialized: Tree, templates: Tree) -> None:
    tree = added(initialized, templates, **POD)
    bare = tree.data("PROJECT").replace(b"- controller: true\n  core", b"- core")
    found = entries(added(initialized.merge({"PROJECT": bare}), templates, **POD))
    assert found == entries(tree)


def test_a_project_for_one_namespace_has_roles_there(templates: Tree) -> None:
    request = InitRequest(domain="x.org", name="toy", namespaced=True)
    tree = added(scaffold.init(request, Tree(), templates).tree(), templates, **POD)
    assert b"verbs=update,namespace=toy-system\n" in tree.data("toy/reconcilers/pod.py")
    tree = added(tree, templates, group="core", version="v1", kind="Node")
    assert b"namespace=" not in tree.data("toy/reconcilers/node.py")


def test_a_missing_wiring_is_reported(initialized: Tree, templates: Tree) -> None:
    files = {path: content for path, content in initialized.items() if path != WIRING}
    [note] = draft_of(Tree(files), templates, **POD).notes
    assert note.message == "`toy/wiring.py` does not exist, so nothing runs `PodReconciler`"


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (POD | {"controller": False}, "nothing to create"),
        (POD | {"version": "V1"}, "is not an API version"),
        (POD | {"kind": "pod"}, "is not a kind"),
        (POD | {"plural": "Pods"}, "is not a plural"),
        (POD | {"deploy": DeployImage(image="a")}, "needs both"),
        (TOY, "has no types of `Toy`"),
        (CERTIFICATE | {"external_domain": "I o"}, "is not an API group"),
        (CERTIFICATE | {"external_domain": "io", "resource": True}, "an external kind"),
        (CERTIFICATE | {"external_path": "a/b", "resource": True}, "an external kind"),
    ],
)
def test_an_invalid_request_is_refused(
    initialized: Tree, templates: Tree, how: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        added(initialized, templates, **how)


def test_an_own_kind_is_not_external(initialized: Tree, templates: Tree) -> None:
    tree = added(initialized, templates, **TOY, resource=True)
    with pytest.raises(ConfigurationError, match="the project's own kind"):
        added(tree, templates, **TOY, external_domain="x.org")
