"""`operator/` is the scaffold of olmkit with hand-written changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from olmkit.jobs.project import scaffold as project
from olmkit.project.scaffold.api import ApiRequest, DeployImage
from olmkit.project.scaffold.project import InitRequest
from olmkit.project.scaffold.webhook import WebhookRequest

# The commands: init, create api for both versions, create webhook.
INIT = InitRequest(
    domain="example.com",
    name="memcached-operator",
    image="quay.io/example/memcached-operator:v0.0.2",
)
DEPLOY = DeployImage(image="docker.io/library/memcached:1.6.39-alpine", port=11211, user=1001)
HUB = ApiRequest(group="cache", version="v1alpha1", kind="Memcached", deploy=DEPLOY)
SPOKE = ApiRequest(group="cache", version="v1beta1", kind="Memcached", controller=False)
WEBHOOKS = WebhookRequest(
    group="cache",
    version="v1alpha1",
    kind="Memcached",
    defaulting=True,
    validation=True,
    conversion=True,
)

PACKAGE = "memcached_operator"
# Scaffolded, and changed since then, as authors do.
WRITTEN = {
    "README.md": "tells of this operator",
    "pyproject.toml": "its version and words; format and lint are the repository's",
    f"{PACKAGE}/__init__.py": "says what this operator does",
    f"{PACKAGE}/__main__.py": "its lease is that of this operator in Go: one of both works",
    f"{PACKAGE}/api/v1alpha1/memcached.py": "the API",
    f"{PACKAGE}/api/v1beta1/memcached.py": "the API",
    f"{PACKAGE}/conversions/memcached_v1beta1.py": "how the versions differ",
    f"{PACKAGE}/reconcilers/memcached.py": "the reconciling",
    f"{PACKAGE}/webhooks/memcached_v1alpha1.py": "what is defaulted and warned of",
    f"{PACKAGE}/wiring.py": "a Service and pods are watched too",
    "config/samples/cache_v1alpha1_memcached.yaml": "a sample of this API",
    "config/samples/cache_v1beta1_memcached.yaml": "a sample of this API",
    "config/manifests/bases/memcached-operator.clusterserviceversion.yaml": "words for catalogs",
}
# Scaffolded from markers, which are the author's.
GENERATED = {
    "config/crd/bases/cache.example.com_memcacheds.yaml",
    "config/rbac/role.yaml",
    "config/webhook/manifests.yaml",
}
# Hand-written files next to scaffolded ones.
ADDED = {
    f"{PACKAGE}/decisions.py": "what reconciling decides",
    "config/releases/0.0.1/kustomization.yaml": "what is a release's own",
    "config/releases/0.0.2/kustomization.yaml": "what is a release's own",
}
# Scaffolded, and missing here: the repository has one of each.
LEFT_OUT = {
    ".gitignore": "the repository's",
    ".pre-commit-config.yaml": "the repository's `make check`",
    "Makefile": "the repository's",
    "tests/test_memcached.py": "`tests/memcached`, since no test may be in `operator/`",
    "tests/test_memcached_v1alpha1_webhooks.py": "`tests/memcached`, as above",
    "tests/test_memcached_v1beta1_conversion.py": "`tests/memcached`, as above",
    "tests/test_on_api_server.py": "`tests/memcached`, as above",
    "tests/test_process.py": "`tests/memcached`, since no test may be in `operator/`",
}
_PASSING = {"__pycache__", ".ruff_cache", ".mypy_cache", "dist"}


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not _PASSING & set(path.parts)
    }


@pytest.fixture(scope="module")
def scaffolded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("scaffold") / "memcached-operator"
    project.init(folder, INIT)
    project.create_api(folder, HUB)
    project.create_api(folder, SPOKE)
    project.create_webhook(folder, WEBHOOKS)
    return files(folder)


def test_the_operator_is_scaffold_and_hand_written_parts(
    scaffolded: dict[str, bytes], root: Path
) -> None:
    found = files(root / "operator")
    assert {path for path in found if path not in scaffolded} == ADDED.keys()
    assert {path for path in scaffolded if path not in found} == LEFT_OUT.keys()
    changed = {path for path in scaffolded if found.get(path, scaffolded[path]) != scaffolded[path]}
    assert changed == WRITTEN.keys() | GENERATED


def test_another_version_is_added_to_hand_written_code(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "operator"
    shutil.copytree(root / "operator", copy, ignore=shutil.ignore_patterns(*_PASSING))
    again = ApiRequest(group="cache", version="v2", kind="Memcached", controller=False)
    result = project.create_api(copy, again)
    assert f"{PACKAGE}/api/v2/memcached.py" in {change.path for change in result.changes}
    assert [found.message for found in result.diagnostics] == [
        "version `v2` of `Memcached` is not converted yet"
    ]
    request = WebhookRequest(
        group="cache", version="v1alpha1", kind="Memcached", conversion=True, spokes=("v2",)
    )
    assert project.create_webhook(copy, request).diagnostics == ()
    wiring = (copy / PACKAGE / "wiring.py").read_text()
    assert "to_hub=memcached_v2.to_hub" in wiring
    assert "def memcached_of(" in wiring
