"""The syntax of roles and playbooks, as Ansible checks it."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from pathlib import Path

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.edges.programs.ansible import syntax
from olmkit.edges.programs.ansible.runs import RunContent

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ansible") is None, reason="needs the extra `ansible`"
)


def check(tmp_path: Path, tasks: str) -> None:
    role = tmp_path / "roles" / "motd"
    (role / "tasks").mkdir(parents=True, exist_ok=True)
    (role / "tasks" / "main.yml").write_text(tasks)
    content = RunContent(role=role)
    asyncio.run(syntax.check([content, content], dict(os.environ), tmp_path / "plays"))


def test_a_role_that_ansible_cannot_parse_is_reported(tmp_path: Path) -> None:
    check(tmp_path, "- operator_sdk.util.requeue_after: {time: 5s}\n")
    with pytest.raises(InputError, match=r"roles/motd` cannot be run: .*conflicting") as error:
        check(tmp_path, "- debug: {msg: hello}\n  whenn: true\n")
    assert error.value.hint == ""
    with pytest.raises(InputError, match="couldn't resolve") as error:
        check(tmp_path, "- not_there.at_all.k8s: {}\n")
    assert "requirements.yml" in error.value.hint


def test_a_playbook_is_checked_as_it_is(tmp_path: Path) -> None:
    playbook = tmp_path / "play.yml"
    playbook.write_text("- hosts: localhost\n  tasks: {}\n")
    with pytest.raises(InputError, match=r"play\.yml` cannot be run"):
        asyncio.run(
            syntax.check([RunContent(playbook=playbook)], dict(os.environ), tmp_path / "plays")
        )
