"""What `create api` adds to a project, and what it refuses."""

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
from olmkit.project.scaffold import project as scaffold
from olmkit.project.scaffold.api import ApiRequest, DeployImage
from olmkit.project.scaffold.project import Draft, InitRequest

GVK = {"group": "cache", "version": "v1alpha1", "kind": "Memcached"}
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
    return scaffold_api.create_api(ApiRequest(**(GVK | how)), project_of(tree), tree, templates)


def added(tree: Tree, templates: Tree, **how: Any) -> Tree:
    made = tree.merge(draft_of(tree, templates, **how).tree())
    for path, content in made.items():
        if path.endswith(".py"):
            ast.parse(content.data)
    return made


def listed(tree: Tree, path: str) -> list[Any]:
    found = documents.load(tree.data(path), path).get("resources")
    assert isinstance(found, list)
    return found


def test_a_kind_has_types_a_reconciler_and_manifests(initialized: Tree, templates: Tree) -> None:
    tree = added(initialized, templates)
    assert {path for path in tree if path not in initialized} == {
        "config/crd/kustomization.yaml",
        "config/crd/kustomizeconfig.yaml",
        "config/rbac/memcached_admin_role.yaml",
        "config/rbac/memcached_editor_role.yaml",
        "config/rbac/memcached_viewer_role.yaml",
        "config/samples/cache_v1alpha1_memcached.yaml",
        "config/samples/kustomization.yaml",
        "tests/test_memcached.py",
        "tests/test_on_api_server.py",
        "toy/api/v1alpha1/__init__.py",
        "toy/api/v1alpha1/memcached.py",
        "toy/reconcilers/__init__.py",
        "toy/reconcilers/memcached.py",
    }
    assert listed(tree, "config/crd/kustomization.yaml") == ["bases/cache.x.org_memcacheds.yaml"]
    assert "../crd" in listed(tree, scaffold.DEFAULT_OVERLAY)
    assert "../samples" in listed(tree, scaffold.MANIFESTS_OVERLAY)
    assert b"MemcachedReconciler(manager.client)" in tree.data(WIRING)
    [api] = project_of(tree).apis
    assert (api.qualified_group, api.path) == ("cache.x.org", "toy.api.v1alpha1")
    assert api.has_controller
    assert api.is_namespaced


def test_changes_of_the_user_are_kept(initialized: Tree, templates: Tree) -> None:
    mine = initialized.merge(
        {
            WIRING: initialized.data(WIRING) + b"\n\ndef mine() -> None:\n    return  # mine\n",
            scaffold.DEFAULT_OVERLAY: initialized.data(scaffold.DEFAULT_OVERLAY) + b"# mine\n",
            "PROJECT": initialized.data("PROJECT") + b"mine: [1]  # kept\n",
        }
    )
    tree = added(mine, templates)
    assert tree.data(WIRING).endswith(b"def mine() -> None:\n    return  # mine\n")
    assert tree.data(scaffold.DEFAULT_OVERLAY).endswith(b"# mine\n")
    assert b"mine: [1]  # kept\n" in tree.data("PROJECT")


def test_a_repeated_kind_is_refused_and_force_twice_changes_nothing(
    initialized: Tree, templates: Tree
) -> None:
    tree = added(initialized, templates)
    with pytest.raises(ConfigurationError, match=r"has types of `Memcached` .* already"):
        added(tree, templates)
    assert added(tree, templates, force=True) == tree


def test_force_overwrites_the_types(initialized: Tree, templates: Tree) -> None:
    tree = added(initialized, templates)
    path = "toy/api/v1alpha1/memcached.py"
    changed = tree.merge({path: b"# mine\n"})
    assert added(changed, templates, force=True).data(path) == tree.data(path)


def test_an_image_creates_a_reconciler_that_works(initialized: Tree, templates: Tree) -> None:
    deploy = DeployImage(image="memcached:1.6", command=("m", '-"x'), port=11211, user=1001)
    tree = added(initialized, templates, deploy=deploy)
    manager = tree.data(scaffold.MANAGER_FILE)
    assert b"- name: MEMCACHED_IMAGE\n          value: memcached:1.6\n" in manager
    assert b"# Namespaces, separated by commas" in manager
    reconciler = tree.data("toy/reconcilers/memcached.py")
    assert b'"command": ["m", \'-"x\'],' in reconciler
    assert b'"runAsUser": 1001,' in reconciler
    sample = documents.load(tree.data("config/samples/cache_v1alpha1_memcached.yaml"), "s")
    assert sample.get("spec") == {"containerPort": 11211, "size": 1}
    plugins = project_of(tree).document.get("plugins", scaffold_api.DEPLOY_IMAGE_PLUGIN)
    assert plugins["resources"][0]["options"] == {
        "containerCommand": 'm,-"x',
        "containerPort": "11211",
        "image": "memcached:1.6",
        "runAsUser": "1001",
    }


def test_one_kind_in_two_groups_has_two_images(initialized: Tree, templates: Tree) -> None:
    flag = b"multigroup: true\n"
    tree = initialized.merge(Tree({"PROJECT": initialized.data("PROJECT") + flag}))
    tree = added(tree, templates, deploy=DeployImage(image="one:1"))
    how = {"group": "web-site", "deploy": DeployImage(image="two:2")}
    tree = added(tree, templates, **how)
    again = added(tree, templates, force=True, deploy=DeployImage(image="one:1"))
    again = added(again, templates, force=True, **how)
    assert again == tree
    manager = tree.data("config/manager/manager.yaml").decode()
    assert "name: MEMCACHED_IMAGE\n          value: one:1\n" in manager
    assert "name: WEB_SITE_MEMCACHED_IMAGE\n          value: two:2\n" in manager
    assert b'environment.get("WEB_SITE_MEMCACHED_IMAGE", "")' in tree.data(WIRING)


def test_a_command_keeps_its_arguments(initialized: Tree, templates: Tree) -> None:
    words = ("sh", '-c\n"', "\\ü\t{{kind}}\0")
    tree = added(initialized, templates, deploy=DeployImage(image="nginx:1", command=words))
    code = ast.parse(tree.data("toy/reconcilers/memcached.py"))
    values = [
        ast.literal_eval(value)
        for node in ast.walk(code)
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == "command"
    ]
    assert values == [list(words)]


def test_another_version_shares_the_kind_and_one_is_stored(
    initialized: Tree, templates: Tree
) -> None:
    tree = added(initialized, templates)
    with pytest.raises(ConfigurationError, match="has a controller already"):
        added(tree, templates, version="v1")
    tree = added(tree, templates, version="v1", controller=False)
    marker = b"# +kubebuilder:storageversion\n"
    assert marker in tree.data("toy/api/v1alpha1/memcached.py")
    assert marker not in tree.data("toy/api/v1/memcached.py")
    assert listed(tree, "config/crd/kustomization.yaml") == ["bases/cache.x.org_memcacheds.yaml"]
    assert len(listed(tree, "config/samples/kustomization.yaml")) == 2


def test_several_groups_have_separate_directories(initialized: Tree, templates: Tree) -> None:
    tree = added(initialized, templates)
    with pytest.raises(ConfigurationError, match="`web-site` differs from it") as caught:
        added(tree, templates, group="web-site")
    assert "--multigroup" in caught.value.hint
    project = tree.merge({"PROJECT": tree.data("PROJECT") + b"multigroup: true\n"})
    tree = added(project, templates, group="web-site")
    assert "toy/api/web_site/v1alpha1/memcached.py" in tree
    assert "toy/reconcilers/web_site/memcached.py" in tree
    assert "config/rbac/web-site_memcached_admin_role.yaml" in tree
    role = tree.data("config/rbac/web-site_memcached_admin_role.yaml")
    assert b"  name: web-site-memcached-admin-role\n" in role
    assert b"import Memcached as WebSiteV1alpha1Memcached\n" in tree.data(WIRING)


def test_a_controller_can_be_added_after_the_types(initialized: Tree, templates: Tree) -> None:
    tree = added(initialized, templates, controller=False)
    assert tree.data(WIRING) == initialized.data(WIRING)
    tree = added(tree, templates, resource=False)
    assert b"MemcachedReconciler" in tree.data(WIRING)
    assert project_of(tree).apis[0].has_controller


def test_a_custom_plural_and_scope_are_reported(initialized: Tree, templates: Tree) -> None:
    tree = added(initialized, templates, plural="caches", namespaced=False)
    types = tree.data("toy/api/v1alpha1/memcached.py")
    assert b"# +kubebuilder:resource:path=caches,scope=Cluster\n" in types
    assert b".watches_for(Memcached.gvk, GENERATION_CHANGED, namespaced=False)" in tree.data(WIRING)
    assert b"  plural: caches\n" in tree.data("PROJECT")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"group": "Ca_che"}, "is not an API group"),
        ({"version": "V1"}, "`V1` is not an API version"),
        ({"version": "v1.2"}, "is not an API version"),
        ({"version": "1"}, "is not an API version"),
        ({"kind": "memcached"}, "`memcached` is not a kind"),
        ({"kind": "Mem-cached"}, "`Mem-cached` is not a kind"),
        ({"kind": "Manager"}, "would shadow the `Manager`"),
        ({"kind": "--plural"}, "looks like another flag"),
        ({"plural": "Caches"}, "is not a plural"),
        ({"resource": False, "controller": False}, "nothing to create"),
        ({"resource": False}, "has no types of `Memcached`"),
        ({"deploy": DeployImage(image="a"), "controller": False}, "needs both"),
        ({"deploy": DeployImage(image="a"), "namespaced": False}, "is namespaced"),
        ({"deploy": DeployImage(image="a", port=70000)}, "is not a port"),
        ({"deploy": DeployImage(image="a", user=0)}, "is not a valid user ID"),
        ({"deploy": DeployImage(image="a", user=2**31)}, "is not a valid user ID"),
        ({"deploy": DeployImage(image="")}, "`` is not an image"),
        ({"deploy": DeployImage(image='a"b')}, "is not an image"),
    ],
)
def test_an_invalid_request_is_refused(
    initialized: Tree, templates: Tree, how: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        added(initialized, templates, **how)


def test_two_kinds_with_one_crd_name_are_refused(initialized: Tree, templates: Tree) -> None:
    tree = added(initialized, templates)
    with pytest.raises(ConfigurationError, match=r"both would be `memcacheds\.cache\.x\.org`"):
        added(tree, templates, kind="Cache", plural="memcacheds")
    with pytest.raises(ConfigurationError, match="has the plural `memcacheds` in version"):
        added(tree, templates, version="v2", plural="caches", controller=False)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("MemcachedList", "a list of `Memcached` is of the kind `MemcachedList` too"),
        ("MemCached", "differ in upper case letters only"),
        ("Memcacheds", "`memcacheds` is the plural of `Memcached` too"),
    ],
)
def test_a_kind_with_the_names_of_another_is_refused(
    initialized: Tree, templates: Tree, kind: str, words: str
) -> None:
    tree = added(initialized, templates)
    with pytest.raises(ConfigurationError, match=words):
        added(tree, templates, kind=kind, plural="" if kind != "MemCached" else "others")


@pytest.mark.parametrize(
    "kind", ["Image", "Container", "Labels", "Objects", "Self", "New", "Copy", "Wanted", "Status"]
)
def test_the_variable_of_an_object_has_a_unique_name_in_the_reconciler(
    initialized: Tree, templates: Tree, kind: str
) -> None:
    deploy = DeployImage(image="nginx:1", port=80)
    tree = added(initialized, templates, kind=kind, deploy=deploy)
    code = tree.data(f"toy/reconcilers/{scaffold.module_name(kind)}.py")
    compile(
        code, kind, "exec"
    )  # Two parameters with one name are not a syntax error for `ast.parse`.
    assert f"def deployment_for({kind.lower()}_object: {kind}, image: str)".encode() in code
    assert f"{kind.lower()}_object.spec.container_port".encode() in code


def test_a_kind_named_process_keeps_the_test_of_the_process(
    initialized: Tree, templates: Tree
) -> None:
    tree = added(initialized, templates, kind="Process")
    tree = added(tree, templates, kind="Process", force=True)
    assert tree.data("tests/test_process.py") == initialized.data("tests/test_process.py")
    assert b"ProcessReconciler" in tree.data("tests/test_process_reconciler.py")


def test_missing_overlays_are_reported(initialized: Tree, templates: Tree) -> None:
    gone = {scaffold.DEFAULT_OVERLAY, "config/rbac/kustomization.yaml"}
    files = {path: content for path, content in initialized.items() if path not in gone}
    notes = draft_of(Tree(files), templates).notes
    assert {note.at.path for note in notes if note.at} == gone
