"""A play of a fork in tests: the last argument of ansible-playbook is its program in Python."""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence

from olmkit.edges.programs.ansible import fork_server


def work(words: Sequence[str]) -> int:
    exec(compile(open(words[-1]).read(), words[-1], "exec"), {"__name__": "play"})  # noqa: PTH123, S102, SIM115
    return 0


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[-1])) as channel:
        fork_server.serve(channel, work)
