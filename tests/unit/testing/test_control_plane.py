"""The programs of a real control plane, and its kubeconfig."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from olmkit.edges.cluster import kubeconfig
from olmkit.testing import control_plane
from olmkit.testing.control_plane import ControlPlane, ControlPlaneError, Programs
from tests.processes import wait_for_end

OWNER = """\
import sys
from pathlib import Path
from olmkit.testing.control_plane import ControlPlane, Programs
words = ("/bin/sh", "-c", "echo $$ >>pids; exec sleep 600")
Path("store").write_text("#!/bin/sh\\necho $$ >>pids; exec sleep 600\\n")
Path("store").chmod(0o700)
with ControlPlane(folder=Path("plane"), programs=Programs(words, str(Path("store").resolve()))):
    pass
"""


def test_the_assets_directory_has_both_programs(tmp_path: Path) -> None:
    for name in ("etcd", "kube-apiserver"):
        (tmp_path / name).touch()
    found = control_plane.programs({"KUBEBUILDER_ASSETS": str(tmp_path)})
    assert found == Programs((f"{tmp_path}/kube-apiserver",), f"{tmp_path}/etcd")


@pytest.mark.parametrize("variable", ["KUBEBUILDER_ASSETS", "PATH"])
def test_missing_programs_are_reported(tmp_path: Path, variable: str) -> None:
    (tmp_path / "etcd").touch(mode=0o755)
    with pytest.raises(ControlPlaneError, match="kube-apiserver"):
        control_plane.programs({variable: str(tmp_path)})


def test_a_kubeconfig_can_impersonate_a_user(tmp_path: Path) -> None:
    plane = ControlPlane(folder=tmp_path, programs=Programs(("false",), "false"))
    plane.ca_file.parent.mkdir()
    plane.ca_file.write_text("")
    path = plane.write_kubeconfig(tmp_path / "config", user="replica-1")
    config = kubeconfig.load(paths=[path])
    assert config.server == plane.url
    assert ("Impersonate-User", "replica-1") in tuple(config.headers)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_server_that_ends_at_once_is_reported_with_its_log(tmp_path: Path) -> None:
    words = Programs(("/bin/sh", "-c", "echo broken; exit 1"), "/bin/true")
    with (
        pytest.raises(ControlPlaneError, match="broken"),
        ControlPlane(folder=tmp_path, programs=words),
    ):
        pass


def test_a_control_plane_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], cwd=tmp_path)
    pids = tmp_path / "pids"
    end = time.monotonic() + 60
    while len(found := pids.read_text().split() if pids.exists() else []) < 2:
        assert time.monotonic() < end, found
        time.sleep(0.02)
    owner.kill()
    owner.wait(60)
    for pid in found:
        wait_for_end(int(pid), 60)
