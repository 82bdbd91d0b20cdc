"""The blocks of the tutorials for Helm and Ansible operators, in order, up to the cluster."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from olmkit.base import documents

BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("page", "name"),
    [("first-helm-operator", "greeting-operator"), ("first-ansible-operator", "motd-operator")],
)
def test_the_blocks_of_a_tutorial_work(root: Path, tmp_path: Path, page: str, name: str) -> None:
    text = (root / "docs" / f"{page}.md").read_text("utf-8")
    here, _, on_a_cluster = text.partition("\n## 5. On a cluster\n")
    assert "kubectl apply" in on_a_cluster
    # The collections come from Ansible Galaxy.
    blocks = [one for one in BLOCK.findall(here) if "make collections" not in one]
    assert len(blocks) >= 4
    # The program of this checkout takes precedence over others on the path.
    script = f'set -eu\nolmkit() {{ "{sys.executable}" -m olmkit "$@"; }}\n' + "".join(blocks)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made = documents.load((tmp_path / name / "watches.yaml").read_bytes(), "watches.yaml").value
    (entry,) = ENTRY.findall(text)
    assert made == documents.load(entry.encode(), page).value
    assert list((tmp_path / name / "bundle" / "manifests").glob("*.clusterserviceversion.yaml"))
