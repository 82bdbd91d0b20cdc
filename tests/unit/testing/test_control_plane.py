"""The programs of a real control plane, and its kubeconfig."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.edges.cluster import kubeconfig
from olmkit.testing import control_plane
from olmkit.testing.control_plane import ControlPlane, ControlPlaneError, Programs


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
