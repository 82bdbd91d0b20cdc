"""What `edit` changes in a project, without changes to the user's code."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import Tree
from olmkit.edges import disk
from olmkit.project import config, image_plan, watched_image
from olmkit.project.config import WATCHED_LAYOUTS, Project
from olmkit.project.scaffold import api as scaffold_api
from olmkit.project.scaffold import edit as scaffold_edit
from olmkit.project.scaffold import external as scaffold_external
from olmkit.project.scaffold import project as scaffold
from olmkit.project.scaffold import webhook as scaffold_webhook
from olmkit.project.scaffold.api import ApiRequest, DeployImage
from olmkit.project.scaffold.edit import EditRequest
from olmkit.project.scaffold.project import InitRequest
from olmkit.project.scaffold.watched import project as watched
from olmkit.project.scaffold.webhook import WebhookRequest

RECONCILER = "toy/reconcilers/toy.py"
BASE = "config/manifests/bases/toy.clusterserviceversion.yaml"
TOY = ApiRequest(group="games", version="v1", kind="Toy")
WORLD = ApiRequest(group="games", version="v1", kind="World", namespaced=False)
DEPLOY = ApiRequest(group="games", version="v1", kind="Cache", deploy=DeployImage(image="m:1"))
POD = ApiRequest(group="core", version="v1", kind="Pod", resource=False)
NODE = ApiRequest(group="core", version="v1", kind="Node", resource=False)


@pytest.fixture(scope="module")
def templates(root: Path) -> Tree:
    return disk.read_tree(root / "olmkit/project/templates")


def project_of(tree: Tree) -> Project:
    return config.parse(tree.data("PROJECT"), tree.data("pyproject.toml"))


def initialized(templates: Tree, *apis: ApiRequest, namespaced: bool = False) -> Tree:
    request = InitRequest(domain="x.org", name="toy", namespaced=namespaced)
    tree = scaffold.init(request, Tree(), templates).tree()
    for api in apis:
        make = scaffold_api.create_api if api.resource else scaffold_external.create_controller
        tree = tree.merge(make(api, project_of(tree), tree, templates).tree())
    return tree


def edited(tree: Tree, templates: Tree, **what: Any) -> Tree:
    draft = scaffold_edit.edit(EditRequest(**what), project_of(tree), tree, templates)
    assert draft.notes == []
    return tree.merge(draft.tree())


def test_several_groups_are_enabled_and_disabled(templates: Tree) -> None:
    tree = edited(initialized(templates), templates, multigroup=True)
    assert project_of(tree).is_multigroup
    assert edited(tree, templates, multigroup=True) == tree
    assert edited(tree, templates, multigroup=False) == initialized(templates)


def test_files_of_existing_kinds_are_not_moved(templates: Tree) -> None:
    tree = initialized(templates, TOY)
    [note] = scaffold_edit.edit(
        EditRequest(multigroup=True), project_of(tree), tree, templates
    ).notes
    assert note.message == "files of existing APIs are not moved"


@pytest.mark.parametrize(
    "apis",
    [[], [TOY], [WORLD], [DEPLOY], [POD], [NODE], [TOY, NODE], [POD, WORLD, DEPLOY]],
    ids=lambda apis: "+".join(api.kind for api in apis) or "none",
)
def test_a_project_with_a_changed_scope_equals_a_new_one(
    templates: Tree, apis: list[ApiRequest]
) -> None:
    wide, own = initialized(templates, *apis), initialized(templates, *apis, namespaced=True)

    assert edited(wide, templates, namespaced=True) == own
    assert edited(own, templates, namespaced=False) == wide
    assert edited(own, templates, namespaced=True) == own


def test_roles_for_cluster_scoped_kinds_are_kept_and_bound(templates: Tree) -> None:
    tree = initialized(templates, TOY, WORLD, namespaced=True)
    bindings = list(documents.load_all(tree.data("config/rbac/role_binding.yaml"), "b"))
    assert [one.get("kind") for one in bindings] == ["RoleBinding", "ClusterRoleBinding"]
    assert [one.get("roleRef", "kind") for one in bindings] == ["Role", "ClusterRole"]
    assert b"\nkind: ClusterRole\n" in tree.data("config/rbac/world_admin_role.yaml")
    assert b"\nkind: Role\n" in tree.data("config/rbac/toy_admin_role.yaml")
    assert b"namespace=" not in tree.data("toy/reconcilers/world.py")
    assert tree.data(RECONCILER).count(b",namespace=toy-system\n") == 3


MARKERS = """\
# +kubebuilder:rbac:groups=core;"",resources={secrets,"configmaps"},verbs=get
# +kubebuilder:rbac:groups="",resources=nodes;pods,verbs=get
# +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterroles/finalizers,verbs=get
# +kubebuilder:rbac:urls=/metrics,verbs=get
# +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get,namespace=other
WORDS = "# +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get"
USED = 1  # +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get
"""


@pytest.mark.parametrize("head", ["", "\ufeff"], ids=["plain", "marked"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "dos"])
def test_markers_of_the_user_get_the_namespace_if_they_can_have_one(
    templates: Tree, head: str, end: str
) -> None:
    text = (head + MARKERS).replace("\n", end).encode()
    tree = initialized(templates).merge({"toy/more.py": text})
    own = edited(tree, templates, namespaced=True)
    changed = own.data("toy/more.py").decode().split(end)
    added = ",namespace=toy-system"
    assert [index for index, line in enumerate(changed) if line.endswith(added)] == [0, 6]
    assert own.data("toy/more.py").replace(added.encode(), b"") == text
    assert b"ClusterRoleBinding" in own.data("config/rbac/role_binding.yaml")
    assert edited(own, templates, namespaced=False) == tree


def test_install_modes_follow_the_scope_and_other_lines_are_kept(templates: Tree) -> None:
    tree = initialized(templates)
    mine = tree.data(BASE).replace(b"  installModes:\n", b"  installModes:  # mine\n")
    own = edited(tree.merge({BASE: mine}), templates, namespaced=True)
    modes = documents.load(own.data(BASE), BASE).get("spec", "installModes")
    assert isinstance(modes, list)
    assert [mode["type"] for mode in modes if mode["supported"]] == ["OwnNamespace"]
    assert b"  installModes:  # mine\n" in own.data(BASE)


def test_conversion_in_one_namespace_is_reported(templates: Tree) -> None:
    more = ApiRequest(group="games", version="v2", kind="Toy", controller=False)
    hook = WebhookRequest(group="games", version="v1", kind="Toy", conversion=True)
    for is_namespaced in (False, True):
        tree = initialized(templates, TOY, more, namespaced=is_namespaced)
        draft = scaffold_webhook.create_webhook(hook, project_of(tree), tree, templates)
        if not is_namespaced:
            assert draft.notes == []
            tree = tree.merge(draft.tree())
            request = EditRequest(namespaced=True)
            draft = scaffold_edit.edit(request, project_of(tree), tree, templates)
        [note] = draft.notes
        assert note.message.startswith("OLM lets an operator convert only where it watches all")


def test_sources_that_are_not_python_are_refused_with_their_place(templates: Tree) -> None:
    tree = initialized(templates).merge({"toy/bad.py": b"x = (\n# +kubebuilder:rbac:verbs=get\n"})
    with pytest.raises(InputError, match=r"toy/bad\.py:1:5"):
        edited(tree, templates, namespaced=True)


@pytest.mark.parametrize(
    ("image", "text"),
    [
        ("quay.io/a/b:v2", b"  newName: quay.io/a/b\n  newTag: v2\n"),
        ("quay.io/a/b:latest", b"  newName: quay.io/a/b\n  newTag: latest\n"),
        (
            "quay.io/a/b@sha256:" + "0" * 64,
            b"- digest: sha256:" + b"0" * 64 + b"\n  name: controller\n  newName: quay.io/a/b\n",
        ),
    ],
)
def test_the_image_is_set(templates: Tree, image: str, text: bytes) -> None:
    data = edited(initialized(templates), templates, image=image).data(scaffold.MANAGER_OVERLAY)
    assert text in data
    assert data.count(b"name: controller") == 1
    assert (b"newTag" in data) is (b"digest" not in data)


@pytest.mark.parametrize("image", ["quay.io/a/b", "localhost:5000/a/b"])
def test_an_image_without_a_tag_is_refused(templates: Tree, image: str) -> None:
    with pytest.raises(ConfigurationError, match="has no tag") as raised:
        edited(initialized(templates), templates, image=image)
    assert raised.value.hint == f"write `{image}:v0.0.1`, or `{image}:latest`"
    request = InitRequest(domain="x.org", name="toy", image=image)
    with pytest.raises(ConfigurationError, match="has no tag"):
        scaffold.init(request, Tree(), templates)


def test_an_invalid_image_is_refused(templates: Tree) -> None:
    with pytest.raises(ConfigurationError):
        edited(initialized(templates), templates, image="Not An Image")


@pytest.mark.parametrize(
    ("image", "meant"),
    [
        ("nope", "docker.io/library/nope:latest"),
        ("controller:latest", "docker.io/library/controller:latest"),
        ("a@sha256:" + "0" * 64, "docker.io/library/a@sha256:" + "0" * 64),
    ],
)
def test_an_official_image_of_docker_hub_is_not_the_operator(
    templates: Tree, image: str, meant: str
) -> None:
    with pytest.raises(ConfigurationError) as raised:
        edited(initialized(templates), templates, image=image)
    assert raised.value.message == (
        f"`{image}` means `{meant}`, which cannot be the image of your operator"
    )
    request = InitRequest(domain="x.org", name="toy", image=image)
    with pytest.raises(ConfigurationError, match="cannot be the image of your operator"):
        scaffold.init(request, Tree(), templates)


@pytest.mark.parametrize(
    ("switch", "folder"),
    [("prometheus", "../prometheus"), ("network_policy", "../network-policy")],
)
def test_a_directory_is_enabled_and_disabled_in_all_overlays(
    templates: Tree, switch: str, folder: str
) -> None:
    tree = initialized(templates, TOY)
    request = WebhookRequest(group="games", version="v1", kind="Toy", validation=True)
    webhooks = scaffold_webhook.create_webhook(request, project_of(tree), tree, templates)
    tree = tree.merge(webhooks.tree())
    on = edited(tree, templates, **{switch: True})
    for path in (scaffold.DEFAULT_OVERLAY, scaffold.WEBHOOKS_OVERLAY):
        assert folder not in documents.load(tree.data(path), path).value["resources"]
        assert folder in documents.load(on.data(path), path).value["resources"]
    assert edited(on, templates, **{switch: True}) == on
    assert edited(on, templates, **{switch: False}) == tree


def test_a_project_of_kubebuilder_gets_a_scorecard_configuration(templates: Tree) -> None:
    tree = initialized(templates)
    overlay = "config/manifests/kustomization.yaml"
    lacking = {path: tree[path] for path in tree if not path.startswith("config/scorecard/")}
    listed = tree.data(overlay).replace(b"- ../scorecard\n", b"")
    on = edited(Tree(lacking).merge({overlay: listed}), templates, scorecard=True)
    assert list(on) == list(tree)
    assert b"\n- ../scorecard\n" in on.data(overlay)
    assert on.merge({overlay: tree.data(overlay)}) == tree
    assert edited(tree, templates, scorecard=True) == tree
    off = edited(tree, templates, scorecard=False)
    assert b"\n- ../scorecard\n" not in off.data(overlay)
    assert edited(off, templates, scorecard=True) == tree


def test_the_overlay_of_the_bundle_can_be_missing(templates: Tree) -> None:
    tree = initialized(templates)
    lacking = (
        path for path in tree if not path.startswith(("config/scorecard/", "config/manifests/"))
    )
    on = edited(Tree({path: tree[path] for path in lacking}), templates, scorecard=True)
    assert on.data("config/scorecard/kustomization.yaml")
    assert "config/manifests/kustomization.yaml" not in on


def test_a_directory_that_the_project_lacks_cannot_be_enabled(templates: Tree) -> None:
    tree = initialized(templates)
    without = Tree({path: tree[path] for path in tree if not path.startswith("config/prometheus")})
    with pytest.raises(ConfigurationError, match="no folder `config/prometheus`"):
        edited(without, templates, prometheus=True)
    assert edited(without, templates, prometheus=False) == without


def test_the_domain_can_be_changed_until_there_are_kinds(templates: Tree) -> None:
    assert project_of(edited(initialized(templates), templates, domain="y.org")).domain == "y.org"
    tree = initialized(templates, TOY)
    assert edited(tree, templates, domain="x.org") == tree
    with pytest.raises(ConfigurationError, match="part of the group of `Toy`"):
        edited(tree, templates, domain="y.org")
    with pytest.raises(ConfigurationError, match="not a DNS domain"):
        edited(tree, templates, domain="no domain")


def test_targets_that_a_workflow_runs_and_the_makefile_lacks_are_noted(templates: Tree) -> None:
    tree = initialized(templates)
    project = project_of(tree)
    assert scaffold_edit.edit(EditRequest(ci="github"), project, tree, templates).notes == []
    less = Tree({**tree, "Makefile": b"lint test: x\nIMG := a:b\nimage:\n\tmake chart\n"})
    (note,) = scaffold_edit.edit(EditRequest(ci="github"), project, less, templates).notes
    assert note.message == (
        "`Makefile` has no target `envtest`, `bundle-image`, `build-installer`, `chart`, which "
        "`.github/workflows/operator.yaml` runs"
    )


def test_there_is_no_workflow_for_projects_in_go(templates: Tree) -> None:
    tree = initialized(templates)
    project = replace(project_of(tree), layout=("go.kubebuilder.io/v4",))
    with pytest.raises(ConfigurationError, match="no workflow for projects in go"):
        scaffold_edit.edit(EditRequest(ci="github"), project, tree, templates)


@pytest.mark.parametrize("service", scaffold.CI)
@pytest.mark.parametrize("language", ["helm", "ansible"])
def test_a_workflow_of_charts_and_roles_runs_existing_targets(
    templates: Tree, language: str, service: str
) -> None:
    layout = WATCHED_LAYOUTS[language]
    request = InitRequest(domain="x.org", name="toy", image="quay.io/a/b:v1.0.0", ci=service)
    tree = watched.init(request, language, Tree(), templates).tree()
    assert layout in tree.data("PROJECT").decode()
    (path,) = (one for one in tree if "gitlab" in one or "github" in one)
    workflow = documents.load(tree.data(path), path).value
    steps = workflow["jobs"]["operator"]["steps"] if service == "github" else None
    lines = [one.get("run", "") for one in steps] if steps else workflow["operator"]["script"]
    targets = {word for line in lines if line.startswith("make ") for word in line.split()[1:]}
    makefile = tree.data("Makefile").decode()
    assert "test" in targets
    assert all(f"\n{target}:" in makefile for target in targets)
    installed = [line for line in tree.data(path).decode().splitlines() if "pip install" in line]
    assert len(installed) == 1
    assert ("helm" in tree.data(path).decode()) is (language == "helm")


@pytest.mark.parametrize("service", scaffold.CI)
def test_a_workflow_runs_existing_targets_and_is_kept(templates: Tree, service: str) -> None:
    tree = initialized(templates)
    with_workflow = edited(tree, templates, ci=service)
    [path] = set(with_workflow) - set(tree)
    workflow = documents.load(with_workflow.data(path), path).value
    jobs = workflow["jobs"]["operator"]["steps"] if service == "github" else None
    lines = [one.get("run", "") for one in jobs] if jobs else workflow["operator"]["script"]
    targets = {word for line in lines if line.startswith("make ") for word in line.split()[1:]}
    makefile = tree.data("Makefile").decode()
    assert {"lint", "test", "image", "bundle-image", "chart"} <= targets
    assert not [target for target in targets if f"\n{target}:" not in makefile]
    again = scaffold_edit.edit(
        EditRequest(ci=service), project_of(with_workflow), with_workflow, templates
    )
    assert (again.tree(), [one.message for one in again.notes]) == (
        Tree(),
        [f"`{path}` existed and is kept"],
    )


PINNED = "docker.io/library/python@sha256:" + "a" * 64


def containerfile(tree: Tree) -> list[str]:
    return tree.data("Containerfile").decode().splitlines()


@pytest.mark.parametrize("language", ["python", *WATCHED_LAYOUTS])
def test_the_base_of_the_containerfile_is_pinned(language: str, templates: Tree) -> None:
    request = InitRequest(domain="x.org", name="toy")
    made = (
        scaffold.init(request, Tree(), templates)
        if language == "python"
        else watched.init(request, language, Tree(), templates)
    ).tree()
    assert "ARG BASE=docker.io/library/python:3.13-slim" in containerfile(made)
    assert image_plan.pinned_base(made.data("Containerfile")) == ""

    project = config.parse(made.data("PROJECT"))
    draft = scaffold_edit.edit(EditRequest(base=PINNED), project, made, templates)
    after = made.merge(draft.tree())

    assert [line for line in containerfile(after) if line not in containerfile(made)] == [
        f"ARG BASE={PINNED}"
    ]
    assert "FROM ${BASE}" in containerfile(after)
    assert image_plan.pinned_base(after.data("Containerfile")) == PINNED
    assert [path for path in after if path not in made or after[path] != made[path]] == [
        "Containerfile"
    ]


def test_the_base_of_the_settings_is_pinned_too(templates: Tree) -> None:
    before = initialized(templates)
    settings = before.data("pyproject.toml").replace(
        b"[tool.olmkit]\n", b"[tool.olmkit]\nimage-base = 'python:3'  # ours\n"
    )
    after = edited(before.merge(Tree({"pyproject.toml": settings})), templates, base=PINNED)
    assert f'image-base = "{PINNED}"  # ours\n' in after.data("pyproject.toml").decode()


def test_a_project_without_a_base_argument_cannot_be_pinned(templates: Tree) -> None:
    before = initialized(templates).merge(Tree({"Containerfile": b"FROM scratch\n"}))
    with pytest.raises(ConfigurationError, match="no Containerfile with `ARG BASE=`"):
        edited(before, templates, base=PINNED)


@pytest.mark.parametrize("language", ["python", *WATCHED_LAYOUTS])
def test_packages_are_installed_with_the_hashes_of_the_lock(language: str, templates: Tree) -> None:
    """The Containerfile verifies hashes if the lock has them, and `make lock` writes them."""
    request = InitRequest(domain="x.org", name="toy")
    made = (
        scaffold.init(request, Tree(), templates)
        if language == "python"
        else watched.init(request, language, Tree(), templates)
    ).tree()
    [install] = [
        line for line in containerfile(made) if line.startswith("RUN ") and "--hash=" in line
    ]
    assert "pip install" in install
    assert "--require-hashes" in install
    assert re.search(r"-r \S*requirements\.lock", install)
    assert "requirements.loc[k]" in made.data("Containerfile").decode()
    [lock] = re.findall(r"^\t.*pip compile.*$", made.data("Makefile").decode(), re.MULTILINE)
    assert "--generate-hashes" in lock
    assert lock.endswith("-o requirements.lock")
    if language != "python":
        for requirement in watched_image.requirements(language):
            assert f"'{requirement}'" in lock
            assert requirement.partition("[")[0] in install
    assert image_plan.lock_command(made.data("Makefile"), (), has_pyproject=False) == "make lock"
