"""Scaffolded projects: complete after each command, without any added code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError, Severity
from olmkit.base.tree import Changes
from olmkit.jobs.bundle import generate as bundle
from olmkit.jobs.bundle import validate as check
from olmkit.jobs.bundle.generate import BundleGenerateOptions
from olmkit.jobs.bundle.validate import CheckOptions
from olmkit.jobs.project import generate as generating
from olmkit.jobs.project import overlay
from olmkit.jobs.project import scaffold as project
from olmkit.project.scaffold.api import ApiRequest, DeployImage
from olmkit.project.scaffold.edit import EditRequest
from olmkit.project.scaffold.project import InitRequest
from olmkit.project.scaffold.webhook import WebhookRequest

Step = ApiRequest | WebhookRequest | EditRequest

PLAIN = ApiRequest(group="cache", version="v1alpha1", kind="Memcached")
V1 = ApiRequest(group="cache", version="v1", kind="Memcached", controller=False)
DEPLOY = ApiRequest(
    group="cache",
    version="v1alpha1",
    kind="Memcached",
    deploy=DeployImage(image="docker.io/library/memcached:1.6", port=11211, user=1001),
)


def hooks(*, version: str = "v1alpha1", group: str = "cache", **how: bool) -> WebhookRequest:
    return WebhookRequest(group=group, version=version, kind="Memcached", **how)  # type: ignore[arg-type]


def external(group: str, version: str, kind: str, **how: Any) -> ApiRequest:
    return ApiRequest(group=group, version=version, kind=kind, resource=False, **how)


PROJECTS: dict[str, tuple[dict[str, bool], Sequence[Step]]] = {
    "nothing yet": ({}, []),
    "one kind": ({}, [PLAIN]),
    "types alone": ({}, [ApiRequest(group="cache", version="v1", kind="Toy", controller=False)]),
    "of a cluster": ({}, [ApiRequest(group="c", version="v1", kind="Toy", namespaced=False)]),
    "without a group": ({}, [ApiRequest(group="", version="v1", kind="Toy", plural="toyz")]),
    "an image": ({}, [DEPLOY]),
    "two kinds": ({}, [PLAIN, ApiRequest(group="cache", version="v1", kind="RedisCluster")]),
    "two versions": ({}, [PLAIN, V1]),
    "namespaced": ({"namespaced": True}, [DEPLOY]),
    "several groups": (
        {"multigroup": True},
        [PLAIN, ApiRequest(group="web.site", version="v1", kind="Memcached")],
    ),
    "external kinds alone": (
        {},
        [external("apps", "v1", "Deployment"), external("core", "v1", "Node")],
    ),
    "external kinds": (
        {"multigroup": True},
        [
            DEPLOY,
            external("core", "v1", "Pod"),
            external("apps", "v1", "Deployment"),
            external("cert-manager", "v1", "Issuer", external_domain="io"),
            external("cert-manager", "v1", "ClusterIssuer", external_domain="io", namespaced=False),
        ],
    ),
    "external kinds in a namespace": (
        {"namespaced": True},
        [external("core", "v1", "ConfigMap"), PLAIN, external("networking", "v1", "IngressClass")],
    ),
    "a default": ({}, [PLAIN, hooks(defaulting=True)]),
    "a check": ({}, [DEPLOY, hooks(validation=True)]),
    "a conversion": ({}, [PLAIN, V1, hooks(conversion=True)]),
    "all webhooks": (
        {},
        [DEPLOY, hooks(defaulting=True, validation=True), V1, hooks(version="v1", conversion=True)],
    ),
    "external webhooks alone": (
        {},
        [
            WebhookRequest(group="core", version="v1", kind="Pod", defaulting=True),
            WebhookRequest(
                group="cert-manager",
                version="v1",
                kind="Issuer",
                validation=True,
                external_domain="io",
            ),
        ],
    ),
    "namespaced later": (
        {},
        [
            DEPLOY,
            hooks(defaulting=True),
            external("core", "v1", "Node"),
            EditRequest(namespaced=True),
            ApiRequest(group="cache", version="v1", kind="World", namespaced=False),
        ],
    ),
    "of all namespaces later": ({"namespaced": True}, [DEPLOY, EditRequest(namespaced=False)]),
    "webhooks in several groups": (
        {"multigroup": True},
        [
            PLAIN,
            ApiRequest(group="web", version="v1", kind="Memcached"),
            hooks(validation=True),
            hooks(group="web", version="v1", validation=True),
        ],
    ),
}


def scaffolded(folder: Path, flags: dict[str, bool], steps: Sequence[Step]) -> Path:
    place = folder / "toy-operator"
    request = InitRequest(domain="example.com", name="toy-operator", **flags)  # type: ignore[arg-type]
    project.init(place, request)
    for step in steps:
        apply_step(place, step)
    return place


def apply_step(place: Path, step: Step, *, dry_run: bool = False) -> Changes:
    match step:
        case ApiRequest():
            return project.create_api(place, step, dry_run=dry_run).changes
        case WebhookRequest():
            return project.create_webhook(place, step, dry_run=dry_run).changes
        case EditRequest():
            return project.edit(place, step, dry_run=dry_run).changes


@pytest.mark.parametrize(("flags", "steps"), PROJECTS.values(), ids=PROJECTS)
def test_a_scaffolded_project_is_up_to_date_and_has_a_bundle_without_findings(
    tmp_path: Path, flags: dict[str, bool], steps: Sequence[Step]
) -> None:
    place = scaffolded(tmp_path, flags, steps)
    result = generating.generate(place, dry_run=True)
    assert [change.path for change in result.changes] == []
    assert result.diagnostics == ()
    assert overlay.render(place)
    if not steps:
        return
    made = bundle.generate(place, BundleGenerateOptions())
    assert [found for found in made.diagnostics if found.severity is not Severity.INFO] == []
    [verdict] = check.validate_bundles([str(place / "bundle")], CheckOptions())
    assert [found.message for found in verdict.diagnostics] == []


@pytest.mark.parametrize(
    "name", ["external kinds in a namespace", "all webhooks", "namespaced later"]
)
def test_a_dry_run_lists_all_files_that_are_then_written_and_writes_nothing(
    tmp_path: Path, name: str
) -> None:
    flags, steps = PROJECTS[name]
    place = scaffolded(tmp_path, flags, [])
    for step in steps:
        before = files(place)
        told = apply_step(place, step, dry_run=True)
        assert files(place) == before
        assert apply_step(place, step) == told
        after = files(place)
        assert {one.path for one in told} == {
            path for path in after if after[path] != before.get(path)
        }


def files(place: Path) -> dict[str, bytes]:
    return {
        path.relative_to(place).as_posix(): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize(
    "name", ["an image", "a default", "external kinds", "external webhooks alone"]
)
def test_a_scaffolded_project_passes_its_own_make_test(
    tmp_path: Path, lend_environment: Callable[[Path], None], name: str
) -> None:
    place = scaffolded(tmp_path, *PROJECTS[name])
    lend_environment(place)
    done = subprocess.run(
        ["make", "test", f"OLMKIT={sys.executable} -m olmkit"],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "VENV": ".venv", "PYTEST_ADDOPTS": "-p no:cacheprovider"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def conversion_test(place: Path) -> str:
    """Return the output of the scaffolded test of the conversion."""
    generating.generate(place)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "nothing_is_lost"],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return done.stdout + done.stderr


def test_the_test_of_a_conversion_fails_until_no_field_is_lost(tmp_path: Path) -> None:
    place = scaffolded(tmp_path, {}, [DEPLOY, V1, hooks(version="v1", conversion=True)])
    assert "the conversion from v1alpha1 to v1 is not written yet" in conversion_test(place)

    module = place / "toy_operator/conversions/memcached_v1alpha1.py"
    module.write_text(re.sub(r"raise CannotConvert\(.*\)", "return manifest", module.read_text()))
    found = conversion_test(place)
    assert "`.spec.foo` is lost" in found
    assert "`.spec.containerPort` is lost" in found
    assert "2 failed" in found

    types = (place / "toy_operator/api/v1alpha1/memcached.py").read_text()
    hub = place / "toy_operator/api/v1/memcached.py"
    status = "# +kubebuilder:subresource:status\n"
    stored = f"{status}# +kubebuilder:storageversion\n"
    assert status in types
    hub.write_text(types.replace('version="v1alpha1"', 'version="v1"').replace(status, stored))
    assert "2 passed" in conversion_test(place)


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    place = tmp_path / "toy"
    result = project.init(place, InitRequest(domain="example.com", name="toy"), dry_run=True)
    assert result.changes
    assert not place.exists()
    place = scaffolded(tmp_path, {}, [])
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*")}
    assert project.create_api(place, PLAIN, dry_run=True).changes
    assert {path: path.stat().st_mtime_ns for path in place.rglob("*")} == before


def test_a_directory_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("")
    with pytest.raises(ConfigurationError, match=r"is not empty: it holds `x\.py`"):
        project.init(tmp_path, InitRequest(domain="example.com", name="toy"))
    (tmp_path / "x.py").unlink()
    (tmp_path / ".git").mkdir()
    (tmp_path / "README.md").write_text("mine\n")
    project.init(tmp_path, InitRequest(domain="example.com", name="toy"))
    assert (tmp_path / "README.md").read_text() == "mine\n"


def test_a_project_in_another_language_is_not_scaffolded(tmp_path: Path) -> None:
    (tmp_path / "PROJECT").write_text('layout: [go.kubebuilder.io/v4]\nversion: "3"\n')
    with pytest.raises(ConfigurationError, match="is written in Go"):
        project.create_api(tmp_path, PLAIN)


def test_a_project_file_of_an_older_version_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "PROJECT").write_text('layout: [go.kubebuilder.io/v2]\nversion: "2"\n')
    with pytest.raises(ConfigurationError) as caught:
        project.create_api(tmp_path, PLAIN)
    assert [found.rule for found in caught.value.diagnostics] == ["PRJ002"]


def test_sources_with_errors_stop_it_before_a_write(tmp_path: Path) -> None:
    place = scaffolded(tmp_path, {}, [PLAIN])
    types = place / "toy_operator/api/v1alpha1/memcached.py"
    types.write_text(types.read_text() + "\nx = = 1\n")
    before = files(place)
    with pytest.raises(InputError, match="nothing is written"):
        project.create_api(place, ApiRequest(group="cache", version="v1", kind="Other"))
    assert files(place) == before


def test_files_that_do_not_match_the_sources_are_removed_again(tmp_path: Path) -> None:
    place = scaffolded(tmp_path, {}, [PLAIN])
    types = (place / "toy_operator/api/v1alpha1/memcached.py").read_text()
    hand = place / "toy_operator/api/v1/hand.py"  # the same kind, which is not in PROJECT
    hand.parent.mkdir()
    hand.write_text(types.replace("Memcached", "Other"))
    before = files(place)
    with pytest.raises(InputError, match="nothing is written"):
        project.create_api(place, ApiRequest(group="cache", version="v1", kind="Other"))
    assert files(place) == before


def test_image_and_overlays_of_a_go_project_are_edited(tmp_path: Path) -> None:
    overlay_file = tmp_path / "config/manager/kustomization.yaml"
    overlay_file.parent.mkdir(parents=True)
    (tmp_path / "PROJECT").write_text('layout: [go.kubebuilder.io/v4]\nversion: "3"\n')
    overlay_file.write_text("resources:\n- manager.yaml\n")
    project.edit(tmp_path, EditRequest(image="quay.io/x/y:v7"))
    assert overlay_file.read_text() == (
        "images:\n- name: controller\n  newName: quay.io/x/y\n  newTag: v7\n"
        "resources:\n- manager.yaml\n"
    )
    with pytest.raises(ConfigurationError, match="is written in Go"):
        project.edit(tmp_path, EditRequest(image="quay.io/x/y:v7", multigroup=True))


def test_the_image_of_the_operator_is_edited(tmp_path: Path) -> None:
    place = scaffolded(tmp_path, {}, [EditRequest(image="quay.io/x/y:v7")])
    containers = [
        one.get("spec", "template", "spec", "containers", 0, "image")
        for one in overlay.render(place)
        if one.get("kind") == "Deployment"
    ]
    assert containers == ["quay.io/x/y:v7"]
