"""A node without enough CPU delays the start of an operator, which no probe must end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

FILES = (
    "olmkit/project/templates/init/config/manager/manager.yaml.tmpl",
    "olmkit/project/templates/watched_ansible/config/manager/manager.yaml.tmpl",
    "olmkit/project/templates/watched_helm/config/manager/manager.yaml.tmpl",
    "operator/config/manager/manager.yaml",
)
PATIENCE = 300  # seconds


def manager(text: str) -> dict[str, Any]:
    plain = text.replace("{{", "<").replace("}}", ">")
    documents = [one for one in yaml.safe_load_all(plain) if one]
    (deployment,) = (one for one in documents if one["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    found: dict[str, Any] = container
    return found


@pytest.mark.parametrize("file", FILES)
def test_a_slow_start_is_not_ended_by_the_liveness_probe(root: Path, file: str) -> None:
    container = manager((root / file).read_text())
    startup, liveness = container["startupProbe"], container["livenessProbe"]
    assert startup["httpGet"] == liveness["httpGet"]
    assert startup["failureThreshold"] * startup["periodSeconds"] >= PATIENCE


@pytest.mark.parametrize("file", FILES)
def test_probes_wait_for_a_process_with_little_cpu(root: Path, file: str) -> None:
    container = manager((root / file).read_text())
    probes = [container[f"{name}Probe"] for name in ("startup", "liveness", "readiness")]
    assert all(one["timeoutSeconds"] >= 5 for one in probes)
