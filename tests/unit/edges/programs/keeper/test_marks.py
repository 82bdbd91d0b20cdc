"""Marked processes end with the process that started them, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from olmkit.edges.programs.keeper import marks, program
from tests.processes import wait_for_end

LIMIT = 60.0  # seconds; a busy machine needs time
# One child without the environment, and one in its own session that has lost its parent.
SCRIPT = """\
trap '' TERM
env -i sleep 600 & echo $! >>pids
(setsid sleep 600 & echo $! >>pids)
echo $$ >>pids
wait
"""
OWNER = """\
import os, subprocess, sys, time
from olmkit.edges.programs.keeper import marks
for script in sys.argv[2:]:
    environment = {"PATH": os.environ["PATH"], marks.VARIABLE: marks.new()}
    subprocess.Popen(["sh", "-c", script], env=environment, start_new_session=True)
other = subprocess.Popen(["sleep", "600"], start_new_session=True)
with open("other", "w") as file:
    file.write(f"{other.pid}\\n")
if sys.argv[1] == "crash":
    while len(open("pids").read().split() if os.path.exists("pids") else []) < 3:
        time.sleep(0.02)
    os.abort()
time.sleep(600)
"""


def numbers(file: Path, count: int) -> list[int]:
    """Return the process IDs in this file."""
    end = time.monotonic() + LIMIT
    while len(found := file.read_text().split() if file.exists() else []) < count:
        assert time.monotonic() < end, found
        time.sleep(0.02)
    return [int(one) for one in found]


def is_running(pid: int) -> bool:
    return any(one == pid for one, _, _ in program.processes())


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, "crash"])
def test_marked_processes_end_with_their_owner(tmp_path: Path, end: str | int) -> None:
    script = SCRIPT if end == signal.SIGKILL else SCRIPT.replace("trap '' TERM\n", "")
    words = (sys.executable, "-c", OWNER, str(end), script)
    owner = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.DEVNULL)
    found, (other,) = numbers(tmp_path / "pids", 3), numbers(tmp_path / "other", 1)
    try:
        if isinstance(end, int):
            assert all(is_running(one) for one in found)
            owner.send_signal(end)
        owner.wait(LIMIT)
        for one in found:
            wait_for_end(one, LIMIT)
        assert is_running(other)
    finally:
        os.kill(other, signal.SIGKILL)


def test_a_mark_belongs_to_one_process_and_its_children() -> None:
    first, second = marks.new(), marks.new()
    started = []
    for mark in (first, second):
        environment = {"PATH": os.environ["PATH"], marks.VARIABLE: mark}
        started.append(subprocess.Popen(["sh", "-c", "sleep 600 & wait"], env=environment))
    try:
        end = time.monotonic() + LIMIT
        while len(program.marked(first)) < 2:
            assert time.monotonic() < end
        program.kill(first)
        assert started[0].wait(LIMIT) == -signal.SIGKILL
        assert program.marked(first) == []
        assert started[1].pid in program.marked(second)
    finally:
        program.kill(second)
        for one in started:
            one.wait(LIMIT)


def test_a_killed_keeper_is_replaced() -> None:
    script = (
        "import os, signal\n"
        "from olmkit.edges.programs.keeper import marks\n"
        "def keepers():\n"
        "    return open(f'/proc/self/task/{os.getpid()}/children').read().split()\n"
        "first = marks.new()\n"
        "(pid,) = keepers()\n"
        "marks.new()\n"
        "assert keepers() == [pid]\n"
        "os.kill(int(pid), signal.SIGKILL)\n"
        "os.waitid(os.P_PID, int(pid), os.WEXITED | os.WNOWAIT)\n"
        "second = marks.new()\n"
        "assert keepers() != [pid]\n"
        "assert second.split('.')[0] == first.split('.')[0]\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=LIMIT)
