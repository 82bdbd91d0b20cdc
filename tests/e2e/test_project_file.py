"""The project file of olmkit, read and rewritten by kubebuilder.

`KUBEBUILDER` can name the program; otherwise it is built once.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from olmkit.base import documents
from olmkit.jobs.project import scaffold as project
from olmkit.project.scaffold.api import ApiRequest, DeployImage
from olmkit.project.scaffold.edit import EditRequest
from olmkit.project.scaffold.project import InitRequest
from olmkit.project.scaffold.webhook import WebhookRequest

pytestmark = pytest.mark.e2e

GRAFANA = "grafana.kubebuilder.io/v1-alpha"
CACHE = {"group": "cache", "kind": "Memcached"}


def test_kubebuilder_reads_the_project_file_of_olmkit_and_loses_nothing(
    kubebuilder: str, tmp_path: Path
) -> None:
    project.init(tmp_path, InitRequest(domain="x.org", name="toy", multigroup=True))
    deploy = DeployImage(image="m:1", command=("m", "-v"), port=11211, user=1001)
    for request in (
        ApiRequest(**CACHE, version="v1", deploy=deploy),
        ApiRequest(**CACHE, version="v2", controller=False),
        ApiRequest(group="", version="v1", kind="World", plural="worldz", namespaced=False),
        ApiRequest(group="core", version="v1", kind="Pod", resource=False),
        ApiRequest(
            group="certs", version="v1", kind="Cert", resource=False, external_path="a.org/certs"
        ),
    ):
        project.create_api(tmp_path, request)
    for hook in (
        WebhookRequest(**CACHE, version="v1", conversion=True, validation=True),
        WebhookRequest(group="core", version="v1", kind="Pod", defaulting=True),
    ):
        project.create_webhook(tmp_path, hook)
    project.edit(tmp_path, EditRequest(namespaced=True))
    path = tmp_path / "PROJECT"
    ours = documents.load(path.read_bytes(), "PROJECT").value

    # A plugin that adds its own files, and its name to the project file.
    words = [kubebuilder, "edit", "--plugins=grafana/v1-alpha"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)

    theirs = documents.load(path.read_bytes(), "PROJECT").value
    assert theirs["plugins"].pop(GRAFANA) == {}
    assert theirs == ours
    # Continue with its file.
    project.create_api(tmp_path, ApiRequest(group="cache", version="v1", kind="Other"))
    assert GRAFANA.encode() in path.read_bytes()
