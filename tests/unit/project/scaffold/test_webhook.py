"""What `create webhook` adds to a project, and what it refuses."""

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
from olmkit.project.scaffold import api as scaffold_api
from olmkit.project.scaffold import project as scaffold
from olmkit.project.scaffold import webhook as scaffold_webhook
from olmkit.project.scaffold.api import ApiRequest
from olmkit.project.scaffold.project import Draft, InitRequest
from olmkit.project.scaffold.webhook import WebhookRequest

WIRING = "toy/wiring.py"


@pytest.fixture(scope="module")
def templates(root: Path) -> Tree:
    return disk.read_tree(root / "olmkit/project/templates")


@pytest.fixture
def initialized(templates: Tree) -> Tree:
    """A project with two versions of a kind."""
    tree = scaffold.init(InitRequest(domain="x.org", name="toy"), Tree(), templates).tree()
    for version, controller in (("v1alpha1", True), ("v1", False)):
        request = ApiRequest(
            group="cache", version=version, kind="Memcached", controller=controller
        )
        project = config.parse(tree.data("PROJECT"), tree.data("pyproject.toml"))
        tree = tree.merge(scaffold_api.create_api(request, project, tree, templates).tree())
    return tree


def draft_of(tree: Tree, templates: Tree, **how: Any) -> Draft:
    request = WebhookRequest(
        **({"group": "cache", "version": "v1alpha1", "kind": "Memcached"} | how)
    )
    project = config.parse(tree.data("PROJECT"), tree.data("pyproject.toml"))
    return scaffold_webhook.create_webhook(request, project, tree, templates)


def added(tree: Tree, templates: Tree, **how: Any) -> Tree:
    made = tree.merge(draft_of(tree, templates, **how).tree())
    for path, content in made.items():
        if path.endswith(".py"):
            ast.parse(content.data)
    return made


def webhooks(tree: Tree, index: int = 0) -> Any:
    return documents.load(tree.data("PROJECT"), "PROJECT").get("resources", index, "webhooks")


def resources(tree: Tree, path: str) -> Any:
    return documents.load(tree.data(path), path).get("resources")


def test_the_kinds_of_webhooks_are_added_one_by_one_to_one_file(
    initialized: Tree, templates: Tree
) -> None:
    tree = added(initialized, templates, validation=True)
    path = "toy/webhooks/memcached_v1alpha1.py"
    assert b"class MemcachedValidator:" in tree.data(path)
    assert b"class MemcachedDefaulter:" not in tree.data(path)
    mine = tree.merge({path: tree.data(path) + b"\n\nMINE = 1\n"})
    tree = added(mine, templates, defaulting=True)
    assert b"MINE = 1\n" in tree.data(path)
    assert b"class MemcachedDefaulter:" in tree.data(path)
    assert b"validating(MemcachedValidator(), Memcached)" in tree.data(WIRING)
    assert b"defaulting(MemcachedDefaulter(), Memcached)" in tree.data(WIRING)
    assert webhooks(tree) == {"defaulting": True, "validation": True, "webhookVersion": "v1"}


def test_each_handler_has_a_test_and_code_of_the_user_is_kept(
    initialized: Tree, templates: Tree
) -> None:
    path = "tests/test_memcached_v1alpha1_webhooks.py"
    tree = added(initialized, templates, defaulting=True)
    assert b"MemcachedValidator" not in tree.data(path)
    mine = tree.merge({path: tree.data(path).replace(b"sample(), sample()", b"mine(), mine()")})
    tree = added(mine, templates, validation=True)
    assert b"once, twice = mine(), mine()" in tree.data(path)
    assert b"import MemcachedDefaulter, MemcachedValidator" in tree.data(path)
    assert tree.data(path).count(b"\ndef test_") == 2


def test_the_round_trip_of_each_spoke_has_a_test(initialized: Tree, templates: Tree) -> None:
    tree = added(initialized, templates, conversion=True)
    test = tree.data("tests/test_memcached_v1_conversion.py")
    assert b"from toy.conversions.memcached_v1 import from_hub, to_hub" in test
    assert "tests/test_memcached_v1alpha1_webhooks.py" not in tree


def test_the_bundle_has_webhooks_and_the_default_overlay_has_none(
    initialized: Tree, templates: Tree
) -> None:
    tree = added(initialized, templates, defaulting=True, validation=True)
    assert resources(tree, "config/webhook/kustomization.yaml") == [
        "manifests.yaml",
        "service.yaml",
    ]
    manifests = resources(tree, scaffold.MANIFESTS_OVERLAY)
    assert "../with-webhooks" in manifests
    assert "../default" not in manifests
    assert tree.data(scaffold.DEFAULT_OVERLAY) == initialized.data(scaffold.DEFAULT_OVERLAY)
    assert "allow-webhook-traffic.yaml" in resources(
        tree, "config/network-policy/kustomization.yaml"
    )


def test_a_hub_is_stored_and_its_spokes_are_converted(initialized: Tree, templates: Tree) -> None:
    draft = draft_of(initialized, templates, version="v1", conversion=True)
    tree = initialized.merge(draft.tree())
    marker = b"# +kubebuilder:storageversion\n"
    assert marker in tree.data("toy/api/v1/memcached.py")
    assert marker not in tree.data("toy/api/v1alpha1/memcached.py")
    assert [note.message for note in draft.notes] == [
        "version `v1alpha1` is no longer the stored one"
    ]
    assert b"def to_hub(" in tree.data("toy/conversions/memcached_v1alpha1.py")
    assert b'version="v1alpha1",\n            to_hub=' in tree.data(WIRING)
    crds = documents.load(tree.data("config/crd/kustomization.yaml"), "k").value
    assert crds["patches"] == [{"path": "patches/webhook_in_memcacheds.yaml"}]
    assert crds["configurations"] == ["kustomizeconfig.yaml"]
    assert webhooks(tree, 1) == {"conversion": True, "spoke": ["v1alpha1"], "webhookVersion": "v1"}
    # No handlers: there are no webhook configurations to render.
    assert resources(tree, "config/webhook/kustomization.yaml") == ["service.yaml"]


def test_without_webhooks_only_the_hub_is_served(initialized: Tree, templates: Tree) -> None:
    tree = added(initialized, templates, conversion=True)
    patch = documents.load(tree.data("config/default/memcacheds_v1alpha1_only.yaml"), "p").value
    assert patch == [
        {"op": "test", "path": "/spec/versions/0/name", "value": "v1"},
        {"op": "remove", "path": "/spec/versions/0"},
        {"op": "remove", "path": "/spec/conversion"},
    ]


def test_a_repeated_webhook_is_refused_and_force_twice_changes_nothing(
    initialized: Tree, templates: Tree
) -> None:
    how = {"conversion": True, "validation": True, "defaulting": True}
    tree = added(initialized, templates, **how)
    with pytest.raises(ConfigurationError, match="has a webhook for defaulting already"):
        added(tree, templates, defaulting=True)
    assert added(tree, templates, force=True, **how) == tree


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({}, "no webhook is requested"),
        ({"kind": "Other", "validation": True}, "has no types of `Other`"),
        ({"validation": True, "spokes": ("v1",)}, "belongs to `--conversion`"),
        ({"conversion": True, "spokes": ("v9",)}, "no version `v9`"),
    ],
)
def test_an_invalid_request_is_refused(
    initialized: Tree, templates: Tree, how: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        added(initialized, templates, **how)


def test_one_version_needs_no_conversion(templates: Tree) -> None:
    tree = scaffold.init(InitRequest(domain="x.org", name="toy"), Tree(), templates).tree()
    request = ApiRequest(group="cache", version="v1alpha1", kind="Memcached")
    project = config.parse(tree.data("PROJECT"), tree.data("pyproject.toml"))
    tree = tree.merge(scaffold_api.create_api(request, project, tree, templates).tree())
    with pytest.raises(ConfigurationError, match="has one version"):
        added(tree, templates, conversion=True)


def test_another_spoke_is_added_to_the_existing_ones(initialized: Tree, templates: Tree) -> None:
    tree = added(initialized, templates, conversion=True)
    request = ApiRequest(group="cache", version="v2", kind="Memcached", controller=False)
    project = config.parse(tree.data("PROJECT"), tree.data("pyproject.toml"))
    draft = scaffold_api.create_api(request, project, tree, templates)
    assert [note.message for note in draft.notes] == [
        "version `v2` of `Memcached` is not converted yet"
    ]
    tree = tree.merge(draft.tree())
    mine = tree.merge({WIRING: tree.data(WIRING).replace(b"made = C", b"# mine\n    made = C")})
    tree = added(mine, templates, conversion=True, spokes=("v2",))
    wiring = tree.data(WIRING)
    assert b"# mine\n" in wiring
    assert wiring.count(b"made.add(") == 1
    assert b"to_hub=memcached_v1.to_hub" in wiring
    assert b"to_hub=memcached_v2.to_hub" in wiring
    assert b"import memcached_v1, memcached_v2\n" in wiring
    assert webhooks(tree)["spoke"] == ["v1", "v2"]
    patch = documents.load(tree.data("config/default/memcacheds_v1alpha1_only.yaml"), "p").value
    assert [one["path"] for one in patch if one["op"] == "remove"] == [
        "/spec/versions/2",
        "/spec/versions/0",
        "/spec/conversion",
    ]


def test_a_wiring_in_another_form_is_reported_with_the_missing_lines(
    initialized: Tree, templates: Tree
) -> None:
    tree = added(initialized, templates, conversion=True)
    request = ApiRequest(group="cache", version="v2", kind="Memcached", controller=False)
    project = config.parse(tree.data("PROJECT"), tree.data("pyproject.toml"))
    tree = tree.merge(scaffold_api.create_api(request, project, tree, templates).tree())
    own = b"def conversions():\n    return made_of(Memcached.gvk)\n"
    start = tree.data(WIRING).index(b"def conversions(")
    tree = tree.merge({WIRING: tree.data(WIRING)[:start] + own})
    draft = draft_of(tree, templates, conversion=True, spokes=("v2",))
    [note] = draft.notes
    assert note.message == "`toy/wiring.py` does not convert version `v2` yet"
    assert "to_hub=memcached_v2.to_hub" in note.hint


POD: dict[str, Any] = {"group": "core", "version": "v1", "kind": "Pod"}
CERTIFICATE: dict[str, Any] = {"group": "cert-manager", "version": "v1", "kind": "Certificate"}


def test_webhooks_of_external_kinds_get_plain_manifests(initialized: Tree, templates: Tree) -> None:
    tree = added(initialized, templates, **POD, defaulting=True)
    tree = added(tree, templates, **POD, validation=True)
    tree = added(tree, templates, **CERTIFICATE, defaulting=True, external_domain="io")
    handlers = tree.data("toy/webhooks/pod_v1.py").decode()
    assert "async def default(self, pod_object: Manifest, request: AdmissionRequest)" in handlers
    assert "def validate_create(self, new: Manifest, " in handlers
    assert "path=/mutate--v1-pod,mutating=true," in handlers
    assert 'groups="",resources=pods,' in handlers
    assert "groups=cert-manager.io,resources=certificates," in (
        tree.data("toy/webhooks/certificate_v1.py").decode()
    )
    wiring = tree.data(WIRING).decode()
    for path, call in (
        ("/mutate--v1-pod", "defaulting_plain(PodDefaulter())"),
        ("/validate--v1-pod", "validating_plain(PodValidator())"),
        ("/mutate-cert-manager-io-v1-certificate", "defaulting_plain(CertificateDefaulter())"),
    ):
        assert f'        "{path}",\n        {call},\n' in wiring
    resources = documents.load(tree.data("PROJECT"), "PROJECT").get("resources")
    assert isinstance(resources, list)
    assert resources[-2:] == [
        POD
        | {
            "core": True,
            "path": "k8s.io/api/core/v1",
            "webhooks": {"defaulting": True, "validation": True, "webhookVersion": "v1"},
        },
        CERTIFICATE
        | {
            "domain": "io",
            "external": True,
            "webhooks": {"defaulting": True, "webhookVersion": "v1"},
        },
    ]


def test_a_known_external_kind_does_not_need_its_domain_again(
    initialized: Tree, templates: Tree
) -> None:
    tree = added(initialized, templates, **CERTIFICATE, defaulting=True, external_domain="io")
    tree = added(tree, templates, **CERTIFICATE, validation=True)
    assert webhooks(tree, 2) == {"defaulting": True, "validation": True, "webhookVersion": "v1"}
    with pytest.raises(ConfigurationError, match="has the plural `certificates`"):
        added(tree, templates, **CERTIFICATE, plural="certs", validation=True)
    with pytest.raises(ConfigurationError, match="webhook for validation already"):
        added(tree, templates, **CERTIFICATE, validation=True)


def test_an_irregular_plural_of_an_external_kind_is_reported(
    initialized: Tree, templates: Tree
) -> None:
    tree = added(
        initialized, templates, **CERTIFICATE, plural="certs", defaulting=True, external_domain="io"
    )
    assert b"resources=certs," in tree.data("toy/webhooks/certificate_v1.py")
    assert b"plural: certs\n" in tree.data("PROJECT")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (POD | {"conversion": True}, "can be converted only by its owner"),
        (POD | {"kind": "pod", "defaulting": True}, "is not a kind"),
        (POD | {"plural": "Pods", "defaulting": True}, "is not a plural"),
        (CERTIFICATE | {"defaulting": True}, "has no types of `Certificate`"),
        ({"defaulting": True, "external_domain": "x.org"}, "the project's own kind"),
        ({"defaulting": True, "plural": "others"}, "has the plural `memcacheds`"),
        (POD | {"kind": "Memcached", "defaulting": True}, "modules have the same names"),
    ],
)
def test_impossible_webhooks_of_external_kinds_are_refused(
    initialized: Tree, templates: Tree, how: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        draft_of(initialized, templates, **how)
