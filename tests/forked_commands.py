"""Commands of olmkit that run in children of a process which has already imported it.

    python tests/forked_commands.py     serves one request per line of its input

A start of Python and the imports take most of the time of a short command, and the tests with a
cluster run thousands of them. A child has its own directory, variables and streams, as a process
that is started by a shell.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

# Parts of olmkit that commands import, and libraries that they import when they need them.
PARTS = ("base", "kube", "oci", "bundle", "catalog", "olm", "rules", "edges", "jobs", "cli")
LIBRARIES = ("aiohttp", "grpc", "google.protobuf.message_factory", "rich.console", "yaml")


@dataclass(frozen=True, slots=True)
class Ended:
    """The exit code of a command, and what it printed."""

    code: int
    out: str
    err: str


class ForkedCommands:
    """A process with olmkit, which starts with the first command and ends with this one."""

    def __init__(self) -> None:
        self._server: subprocess.Popen[str] | None = None

    def run(self, words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Ended:
        """Run one command to its end."""
        if self._server is None:
            self._server = subprocess.Popen(
                [sys.executable, __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            atexit.register(self._end, self._server)
        server = self._server
        assert server.stdin is not None
        assert server.stdout is not None
        with tempfile.TemporaryDirectory() as place:
            out, err = Path(place, "out"), Path(place, "err")
            request = {
                "words": [*words],
                "folder": str(folder),
                "environment": dict(environment),
                "streams": [os.devnull, str(out), str(err)],
            }
            server.stdin.write(json.dumps(request) + "\n")
            server.stdin.flush()
            code = server.stdout.readline()
            assert code, "the process that runs the commands has ended"
            return Ended(int(code), out.read_text(), err.read_text())

    @staticmethod
    def _end(server: subprocess.Popen[str]) -> None:
        server.communicate()  # without input it ends


def serve() -> None:
    """Run a child for each request, and write its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _import_all()
    gc.collect()
    gc.freeze()  # a collection in a child would copy all pages
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become_command(**json.loads(line))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _import_all() -> None:
    import olmkit

    for found in pkgutil.walk_packages(olmkit.__path__, "olmkit."):
        if found.name.split(".")[1] in PARTS and not found.name.endswith(".__main__"):
            importlib.import_module(found.name)
    for name in LIBRARIES:
        importlib.import_module(name)


def _become_command(
    *, words: list[str], folder: str, environment: dict[str, str], streams: list[str]
) -> NoReturn:
    from olmkit.cli import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, path in enumerate(streams):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), number)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - for the whole process
        for number, mode in enumerate(("r", "w", "w"))
    )
    sys.argv = ["olmkit", *words]
    code: str | int | None = 0
    try:
        main.main(words)
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
        code = 1
    # What Python does at its end, but for the end of each module, which would copy all pages.
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
    atexit._run_exitfuncs()  # noqa: SLF001
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


if __name__ == "__main__":
    serve()
