"""Entries of `PROJECT`, roles and webhooks for external kinds, compared with kubebuilder's.

`KUBEBUILDER` can name the program; otherwise it is built once.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.jobs.project import scaffold as project
from olmkit.project.scaffold.api import ApiRequest
from olmkit.project.scaffold.external import CORE_GROUPS
from olmkit.project.scaffold.project import InitRequest
from olmkit.project.scaffold.webhook import WebhookRequest

pytestmark = pytest.mark.e2e

INIT = (
    "init --domain my.org --repo example.org/toy --project-name toy --multigroup "
    "--fetch-deps=false --skip-go-version-check"
)
CERTS = "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
# What kubebuilder reads as a group of the project's own domain, and Kubernetes has.
UNKNOWN = frozenset({"discovery", "flowcontrol.apiserver", "resource", "storagemigration"})


def entries(place: Path) -> list[Any]:
    data = (place / "PROJECT").read_bytes()
    return list(documents.load(data, "PROJECT").get("resources"))


def markers(folder: Path, name: str) -> list[str]:
    """Return the markers with one name in all sources."""
    return sorted(
        line.lstrip("/# ")
        for file in [*folder.rglob("*.go"), *folder.rglob("*.py")]
        for line in file.read_text().splitlines()
        if f"+kubebuilder:{name}:" in line
    )


@pytest.fixture
def projects(kubebuilder: str, tmp_path: Path) -> tuple[Path, Path]:
    """One project of kubebuilder, and one of olmkit."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    project.init(ours, InitRequest(domain="my.org", name="toy", multigroup=True))
    subprocess.run([kubebuilder, *INIT.split()], cwd=theirs, check=True, capture_output=True)
    return theirs, ours


def test_entries_and_roles_of_external_kinds_are_those_of_kubebuilder(
    kubebuilder: str, projects: tuple[Path, Path]
) -> None:
    theirs, ours = projects
    wanted = [(group, "", "") for group in sorted(CORE_GROUPS)]
    for group, domain, path in [*wanted, ("cert-manager", "io", CERTS), ("certs", "", CERTS)]:
        words = f"create api --group {group} --version v1 --kind Thing --make=false"
        external = [f"--external-api-path={path}"] if path else []
        external += [f"--external-api-domain={domain}"] if domain else []
        # It runs Go's tools for the new import at the end, which the entry does not need.
        subprocess.run(
            [kubebuilder, *words.split(), "--resource=false", "--controller", *external],
            cwd=theirs,
            check=False,
            capture_output=True,
        )
        request = ApiRequest(
            group=group,
            version="v1",
            kind="Thing",
            resource=False,
            external_domain=domain or None,
            external_path=path,
        )
        project.create_api(ours, request)
    found = {one["group"]: one for one in entries(ours)}
    reference = {one["group"]: one for one in entries(theirs)}
    assert found.keys() == reference.keys()
    assert {group for group in found if found[group] != reference[group]} == UNKNOWN
    for group in UNKNOWN:
        assert (found[group]["core"], reference[group]["domain"]) == (True, "my.org")
    unknown = tuple(f"groups={group}." for group in UNKNOWN)
    same = [
        [line for line in markers(folder, "rbac") if not any(group in line for group in unknown)]
        for folder in (ours / "toy", theirs / "internal")
    ]
    assert same[0] == same[1]
    assert same[0]


def test_webhooks_of_external_kinds_are_those_of_kubebuilder(
    kubebuilder: str, projects: tuple[Path, Path]
) -> None:
    theirs, ours = projects
    for group, kind, domain, path in (
        ("core", "Pod", None, ""),
        ("apps", "Deployment", None, ""),
        ("networking", "Ingress", None, ""),
        ("cert-manager", "Certificate", "io", CERTS),
    ):
        words = f"create webhook --group {group} --version v1 --kind {kind} --make=false"
        flags = ["--defaulting", "--programmatic-validation"]
        flags += [f"--external-api-path={path}", f"--external-api-domain={domain}"] if path else []
        # It runs Go's tools for the new import at the end, which the entry does not need.
        subprocess.run(
            [kubebuilder, *words.split(), *flags], cwd=theirs, check=False, capture_output=True
        )
        request = WebhookRequest(
            group=group,
            version="v1",
            kind=kind,
            defaulting=True,
            validation=True,
            external_domain=domain,
            external_path=path,
        )
        project.create_webhook(ours, request)
    assert entries(ours) == entries(theirs)
    assert markers(ours / "toy", "webhook") == markers(theirs / "internal", "webhook")
