"""Check the syntax of roles and playbooks with `ansible-playbook --syntax-check`."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from olmkit.base.diagnostics import InputError
from olmkit.edges.programs import processes
from olmkit.edges.programs.ansible import runs
from olmkit.edges.programs.ansible.runs import RunContent

_OUTPUT = 1 << 20  # bytes
_LOUD = re.compile(r"^\[(?:WARNING|DEPRECATION WARNING)\].*\n?", re.MULTILINE)
_COLLECTIONS = (
    "if it is a module of a collection, install the collections: "
    "`ansible-galaxy collection install -r requirements.yml -p collections`"
)


async def check(
    contents: Iterable[RunContent], environment: Mapping[str, str], folder: Path
) -> None:
    """Raise `InputError` with Ansible's message for the first content that it cannot parse.

    A role is checked through its own playbook, written to `folder`.
    """
    for one in dict.fromkeys(contents):
        playbook = one.playbook or _play_of(one, folder)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ansible", "playbook", "--syntax-check", "-i", "localhost,"),
            str(playbook),
            env=runs.variables(environment, sys.executable) | {"ANSIBLE_NOCOLOR": "1"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output = await processes.converse(process, limit=_OUTPUT)
        if process.returncode:
            said = _LOUD.sub("", output.decode(errors="replace")).strip()
            raise InputError(
                f"`{one.role or one.playbook}` cannot be run: {said}",
                hint=_COLLECTIONS if "couldn't resolve module" in said else "",
            )


def _play_of(content: RunContent, folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    assert content.role is not None  # noqa: S101 - content without a playbook
    file = folder / f"{content.role.name}.yml"
    play = {"hosts": "localhost", "gather_facts": False, "roles": [str(content.role)]}
    file.write_text(json.dumps([play]))
    return file
