"""A process in the foreground: its end, and the signals that it receives."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.programs import processes


def run(tmp_path: Path, code: str, **environment: str) -> int:
    words = [sys.executable, "-c", code]
    return processes.run(words, folder=tmp_path, environment={**os.environ, **environment})


def test_the_exit_code_is_that_of_the_process(tmp_path: Path) -> None:
    assert run(tmp_path, "raise SystemExit(7)") == 7


def test_the_end_by_a_signal_is_reported_as_in_a_shell(tmp_path: Path) -> None:
    assert run(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)") == 137


def test_it_runs_in_the_given_directory_and_environment(tmp_path: Path) -> None:
    assert run(tmp_path, "import os; open(os.environ['X'], 'w').close()", X="made") == 0
    assert (tmp_path / "made").exists()


def test_a_missing_program_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot run `/no/such`: no such file"):
        processes.run(["/no/such"], folder=tmp_path, environment={})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_forwarded_once(tmp_path: Path, number: signal.Signals) -> None:
    ready = tmp_path / "ready"

    def send() -> None:
        while not ready.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    sender = threading.Thread(target=send)
    sender.start()
    before = signal.getsignal(number)
    code = run(
        tmp_path,
        "import signal, time\n"
        "seen = []\n"
        f"signal.signal({int(number)}, lambda *_: seen.append(1))\n"
        "open('ready', 'w').close()\n"
        "while not seen: time.sleep(0.01)\n"
        "time.sleep(0.1)\n"
        "raise SystemExit(40 + len(seen))",
    )
    sender.join()
    assert code == 41
    assert signal.getsignal(number) is before


def test_python_path_keeps_its_entries() -> None:
    assert processes.path_with(Path("/a"), {}) == "/a"
    assert processes.path_with(Path("/a"), {"PYTHONPATH": "/b"}) == "/a:/b"


def test_the_memory_limit_is_that_of_the_control_group(tmp_path: Path) -> None:
    assert processes.memory_limit(tmp_path) is None
    (tmp_path / "memory").mkdir()
    old = tmp_path / "memory" / "memory.limit_in_bytes"
    old.write_text("9223372036854771712\n")
    assert processes.memory_limit(tmp_path) is None
    old.write_text("1048576\n")
    assert processes.memory_limit(tmp_path) == 1 << 20
    (tmp_path / "memory.max").write_text("max\n")
    old.unlink()
    assert processes.memory_limit(tmp_path) is None
    (tmp_path / "memory.max").write_text("134217728\n")
    assert processes.memory_limit(tmp_path) == 128 << 20
