"""Where roles, playbooks and collections of a project are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.programs.ansible import installed
from olmkit.edges.programs.ansible.runs import COLLECTIONS, RunContent


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "roles" / "motd").mkdir(parents=True)
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks" / "motd.yml").touch()
    return tmp_path


@pytest.mark.parametrize("role", ["motd", "roles/motd", "/opt/ansible/roles/motd"])
def test_a_role_is_found_as_in_an_image(project: Path, role: str) -> None:
    found = installed.content(role=role, playbook="", folder=project, environment={})
    assert found == RunContent(role=project / "roles" / "motd")


@pytest.mark.parametrize("playbook", ["playbooks/motd.yml", "/opt/ansible/playbooks/motd.yml"])
def test_a_playbook_is_found_as_in_an_image(project: Path, playbook: str) -> None:
    found = installed.content(role="", playbook=playbook, folder=project, environment={})
    assert found == RunContent(playbook=project / "playbooks" / "motd.yml")


def test_other_absolute_paths_are_not_changed(project: Path) -> None:
    for role, playbook in (("/srv/roles/motd", ""), ("", "/srv/playbooks/motd.yml")):
        with pytest.raises(ConfigurationError, match="does not exist"):
            installed.content(role=role, playbook=playbook, folder=project, environment={})


def test_collections_of_the_project_come_first(project: Path) -> None:
    assert installed.collections_path(project, {}) == COLLECTIONS
    (project / "collections" / "ansible_collections").mkdir(parents=True)
    assert installed.collections_path(project, {}) == f"{project}/collections:{COLLECTIONS}"
    assert installed.collections_path(project, {"ANSIBLE_COLLECTIONS_PATH": "/a"}) == "/a"
