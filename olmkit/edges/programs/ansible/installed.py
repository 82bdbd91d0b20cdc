"""Find installed parts: Ansible, ansible-runner, and the roles and playbooks of entries."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.programs.ansible import runs
from olmkit.edges.programs.ansible.forks import ForkRunner
from olmkit.edges.programs.ansible.runner_program import AnsibleRunner
from olmkit.edges.programs.ansible.runs import RunContent, Runner

RunnerName = Literal["fork", "ansible-runner"]
_OLDEST = (2, 19)
_HOME = "/opt/ansible/"  # the project's files in an image
_ROLES = os.pathsep.join(
    ("~/.ansible/roles", "/usr/share/ansible/roles", "/etc/ansible/roles")  # Ansible's own
)


async def runner(environment: Mapping[str, str], name: RunnerName, folder: Path) -> Runner:
    """Return the runner for this Python; raise `ConfigurationError` if it is not installed.

    `folder` is private to the process.
    """
    is_forked = name == "fork"
    for module in ("ansible",) if is_forked else ("ansible", "ansible_runner"):
        if importlib.util.find_spec(module) is None:
            raise ConfigurationError(
                f"the Python package `{module}` is not installed",
                hint="install olmkit with its extra `ansible`",
            )
    version = importlib.metadata.version("ansible-core")
    if tuple(int(one) for one in version.split(".")[:2]) < _OLDEST:
        raise ConfigurationError(
            f"ansible-core {version} is too old: it loses values that are marked as unsafe",
            hint="install olmkit with its extra `ansible`",
        )
    configured = environment.get("ANSIBLE_INVENTORY")
    inventory = Path(configured) if configured else None
    skips_facts = environment.get("ANSIBLE_GATHERING") == "explicit"
    if is_forked:
        return ForkRunner(
            command=(sys.executable, "-m", "olmkit.edges.programs.ansible.forked_play"),
            environment=environment,
            folder=folder,
            inventory=inventory,
            skips_facts=skips_facts,
        )
    return AnsibleRunner(
        command=(sys.executable, "-m", "ansible_runner"),
        environment=environment,
        inventory=inventory,
        skips_facts=skips_facts,
    )


def roles_path(folder: Path, environment: Mapping[str, str]) -> str:
    """Return `ANSIBLE_ROLES_PATH` of runs: the current value, else the project's `roles` first.

    `folder` is that of the watches file.
    """
    if configured := environment.get("ANSIBLE_ROLES_PATH"):
        return configured
    own = dict.fromkeys(str((place / "roles").absolute()) for place in (Path.cwd(), folder))
    return os.pathsep.join([*own, _ROLES])


def collections_path(folder: Path, environment: Mapping[str, str]) -> str:
    """Return `ANSIBLE_COLLECTIONS_PATH` of runs: the current value, else the project's first.

    `folder` is that of the watches file; the project may have `collections` there.
    """
    if configured := environment.get("ANSIBLE_COLLECTIONS_PATH"):
        return configured
    own = folder / "collections"
    has_own = (own / "ansible_collections").is_dir()
    return os.pathsep.join(
        [str(own.absolute()), runs.COLLECTIONS] if has_own else [runs.COLLECTIONS]
    )


def content(
    *, role: str, playbook: str, folder: Path, environment: Mapping[str, str]
) -> RunContent:
    """Return the playbook or role of an entry; raise `ConfigurationError` if it is missing.

    Paths are relative to the working directory, or to `folder`, that of the watches file. A role is
    looked up like in ansible-operator: path, collections, paths of roles, `roles/`. For a path in
    `/opt/ansible`, where images have the project, `folder` is used if that path does not exist.
    """
    if playbook:
        for place in (Path.cwd() / playbook, folder / playbook, *_outside(playbook, folder)):
            if place.is_file():
                return RunContent(playbook=place.resolve())
        raise ConfigurationError(f"the playbook `{playbook}` does not exist")
    for place in _places(role, folder, environment):
        if place.is_dir():
            return RunContent(role=place.resolve())
    raise ConfigurationError(
        f"the role `{role}` does not exist",
        hint="name its folder, or the folder that holds it in `ANSIBLE_ROLES_PATH`",
    )


def _places(role: str, folder: Path, environment: Mapping[str, str]) -> list[Path]:
    found = [Path(role)] if Path(role).is_absolute() else []
    parts = role.split(".")
    if len(parts) == 3:
        configured = environment.get("ANSIBLE_COLLECTIONS_PATH", "")
        home = Path(environment.get("HOME", "/")) / ".ansible" / "collections"
        default = f"/usr/share/ansible/collections{os.pathsep}{home}"
        below = Path("ansible_collections", parts[0], parts[1], "roles", parts[2])
        found += [Path(one) / below for one in (configured or default).split(os.pathsep)]
    for one in environment.get("ANSIBLE_ROLES_PATH", "").split(os.pathsep):
        if one:
            found += [Path(one) / role, Path(one) / "roles" / role]
    for place in (Path.cwd(), folder):
        found += [place / "roles" / role, place / role]
    return [*found, *_outside(role, folder)]


def _outside(path: str, folder: Path) -> list[Path]:
    """Return where a file of the image is outside of it: in the project."""
    inside = path.removeprefix(_HOME)
    return [] if inside == path else [folder / inside]
