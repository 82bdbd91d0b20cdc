"""Forks on request, as with Ansible; each process runs the program of the first arguments.

It gets the arguments of ansible-runner, then those of ansible-playbook.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from olmkit.edges.programs.ansible import fork_server

PROGRAM = sys.argv[1:-1]


def work(words: Sequence[str]) -> int:
    folder = Path.cwd().parent
    ident = max((folder / "artifacts").iterdir(), key=lambda one: one.stat().st_mtime).name
    os.execv(PROGRAM[0], [*PROGRAM, "run", str(folder), "-i", ident, *words])  # noqa: S606
    return 1


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[-1])) as channel:
        fork_server.serve(channel, work)
