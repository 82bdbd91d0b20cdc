"""Fork a child process for each run, with its own variables and output.

The children start with all modules that are already imported. Both sides send lines of JSON over a
socket. A request includes a file descriptor, which becomes the output:

    {"run": "1", "words": [...], "environment": {...}, "folder": "/..."}
    {"end": "1"}

Responses are `{"ready": true}`, `{"run": "1", "pid": 5}`, `{"run": "1", "code": 0}` with a negative
code for a signal, and `{"run": "1", "error": "..."}` if no process could be started. If the other
side closes the socket, all runs end. This module imports little, because all runs have it in
memory.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from olmkit.edges.programs.ansible import process_tree
from olmkit.edges.programs.ansible.process_tree import ProcessMark
from olmkit.edges.programs.keeper.program import VARIABLE

GRACE = 5.0
"""Seconds from SIGTERM to SIGKILL."""
_CHUNK = 64 * 1024
_DESCRIPTORS = 16  # for one read
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>
_FAULT = 70  # EX_SOFTWARE of <sysexits.h>

Work = Callable[[Sequence[str]], int]
"""Receives the words of a request, and returns the exit code."""


def serve(channel: socket.socket, work: Work) -> None:
    """Fork on request until the other side closes the socket."""
    waking, waker = socket.socketpair()
    waker.setblocking(False)
    waking.setblocking(False)
    signal.signal(signal.SIGCHLD, _nothing)
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    if sys.platform == "linux":
        # Orphaned processes of a run would become zombies of the operator, the first process.
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    gc.collect()
    # Prevents copies of pages with these objects by the garbage collector.
    gc.freeze()
    _Server(channel, waking, work).run()


class _Child:
    """A child process; `ending` is the time when it is killed."""

    def __init__(self, ident: str, mark: str) -> None:
        self.ident = ident
        self.mark = mark
        self.ending: float | None = None
        self.known: list[ProcessMark] = []


class _Server:
    def __init__(self, channel: socket.socket, waking: socket.socket, work: Work) -> None:
        self.channel = channel
        self.waking = waking
        self.work = work
        self.children: dict[int, _Child] = {}
        self.pending = b""
        self.outputs: list[int] = []

    def run(self) -> None:
        self.say(ready=True)
        try:
            while True:
                ready, _, _ = select.select([self.channel, self.waking], [], [], self.patience())
                if self.waking in ready:
                    self.waking.recv(_CHUNK)
                if self.channel in ready and not self.receive():
                    break
                self.reap()
                self.kill_late()
        except OSError:
            # The error cannot be reported.
            traceback.print_exc()
        for pid, child in self.children.items():
            process_tree.kill(pid, mark=child.mark)

    def say(self, **message: Any) -> None:
        self.channel.sendall(json.dumps(message).encode() + b"\n")

    def patience(self) -> float | None:
        times = [one.ending for one in self.children.values() if one.ending is not None]
        return max(0.0, min(times) - time.monotonic()) if times else None

    def receive(self) -> bool:
        """Handle a request; return whether the other side is still connected."""
        data, outputs, _, _ = socket.recv_fds(self.channel, _CHUNK, _DESCRIPTORS)
        self.outputs += outputs
        *lines, self.pending = (self.pending + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "end" in message:
                self.end(message["end"])
            else:
                self.fork(message, self.outputs.pop(0))
        return bool(data)

    def fork(self, request: Mapping[str, Any], output: int) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            os.close(output)
            self.say(run=request["run"], error=(error.strerror or str(error)).lower())
            return
        if pid == 0:
            for one in (self.channel, self.waking):
                one.close()
            _work(self.work, request, output, self.outputs)
        os.close(output)
        self.children[pid] = _Child(request["run"], request["environment"].get(VARIABLE, ""))
        self.say(run=request["run"], pid=pid)

    def end(self, ident: str) -> None:
        """Request the end of a run; processes that do not end are killed later."""
        for pid, child in self.children.items():
            if child.ident == ident and child.ending is None:
                child.ending = time.monotonic() + GRACE
                child.known = process_tree.tree(pid)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGTERM)

    def kill_late(self) -> None:
        for pid, child in self.children.items():
            if child.ending is not None and child.ending <= time.monotonic():
                process_tree.kill(pid, child.known, mark=child.mark)
                child.ending += GRACE

    def reap(self) -> None:
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if found is None:
                return
            child = self.children.pop(found.si_pid, None)
            if child is not None:
                # Before its process ID is free: the remaining processes of its session end with it.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(found.si_pid, signal.SIGKILL)
                if child.ending is not None:
                    process_tree.kill(found.si_pid, child.known, mark=child.mark)
            _, status = os.waitpid(found.si_pid, 0)
            if child is not None:
                self.say(run=child.ident, code=os.waitstatus_to_exitcode(status))


def _work(work: Work, request: Mapping[str, Any], output: int, others: Sequence[int]) -> NoReturn:
    """Set up the run in the new process, run it, and exit."""
    code = _FAULT
    try:
        os.setsid()
        waker = signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        for one in (nothing, output, waker, *others):
            os.close(one)
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        code = work(request["words"])
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _nothing(*_: object) -> None:
    """Do nothing; with a handler, the end of a child wakes the server."""
