"""Both ways to start runs, with a program that replaces Ansible."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from olmkit.edges.programs.ansible.forks import ForkRunner
from olmkit.edges.programs.ansible.runner_program import AnsibleRunner
from olmkit.edges.programs.ansible.runs import Runner

NAMES = ("fork", "ansible-runner")
_FORKS = Path(__file__).parent / "fake_forks.py"


def runner(
    name: str, command: Sequence[str], environment: Mapping[str, str], folder: Path
) -> Runner:
    """Return the runner with this name; `command` starts the program."""
    if name == "fork":
        forks = (sys.executable, str(_FORKS), *command)
        return ForkRunner(command=forks, environment=environment, folder=folder / "forks")
    return AnsibleRunner(command=command, environment=environment)
