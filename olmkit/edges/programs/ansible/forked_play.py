"""The program that imports Ansible once and forks for each run.

`python -m olmkit.edges.programs.ansible.forked_play SOCKET`: the number of an open socket.
"""

from __future__ import annotations

import importlib
import os
import socket
import sys
import tempfile
from collections.abc import Sequence

from ansible import constants
from ansible.cli.playbook import PlaybookCLI

from olmkit.edges.programs.ansible import fork_server
from olmkit.edges.programs.ansible.event_stream import STREAM

# Modules that each play imports, regardless of its tasks.
_EARLY = (
    "ansible.executor.module_common",
    "ansible.executor.playbook_executor",
    "ansible.executor.task_queue_manager",
    "ansible.plugins.callback.default",
    "ansible.plugins.connection.local",
    "ansible.plugins.inventory.ini",
    "ansible.plugins.shell.sh",
    "ansible.plugins.strategy.linear",
)


def play(arguments: Sequence[str]) -> int:
    """Run `ansible-playbook` with these arguments in this process; return its exit code."""
    # Python and Ansible have read the variables of the server, not those of the run.
    tempfile.tempdir = None
    constants.DEFAULT_LOCAL_TMP = os.environ["ANSIBLE_LOCAL_TEMP"]
    if roles := os.environ.get("ANSIBLE_ROLES_PATH"):
        constants.DEFAULT_ROLES_PATH = roles.split(os.pathsep)
    sys.stdout = sys.stderr = STREAM
    try:
        PlaybookCLI.cli_executor(["ansible-playbook", *arguments])
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    finally:
        STREAM.end()
    return 0


def main() -> None:
    """Serve the socket."""
    for name in _EARLY:
        importlib.import_module(name)
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        fork_server.serve(channel, play)


if __name__ == "__main__":
    main()
