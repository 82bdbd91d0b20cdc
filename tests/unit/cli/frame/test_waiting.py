"""The line of a command that prints nothing for a while: when it appears and disappears."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import time
from collections.abc import Iterator
from typing import TextIO

import pytest

from olmkit.cli.frame import waiting
from olmkit.cli.frame.terminal import Terminal


class Screen(io.StringIO):
    """Stderr as a terminal whose bytes can be read."""

    def __init__(self) -> None:
        super().__init__()
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        self.seen = b""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._write

    def look(self) -> bytes:
        with contextlib.suppress(BlockingIOError):
            self.seen += os.read(self._read, 1 << 16)
        return self.seen

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)
        super().close()


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Screen]:
    monkeypatch.setattr(waiting, "PATIENCE", 0.01)
    made = Screen()
    yield made
    made.close()


def made(err: TextIO, *, quiet: bool = False, out: TextIO | None = None) -> Terminal:
    return Terminal(out=out or io.StringIO(), err=err, quiet=quiet, environment={"TERM": "xterm"})


def wait(screen: Screen, text: bytes) -> None:
    end = time.monotonic() + 60
    while text not in screen.look():
        assert time.monotonic() < end, screen.seen
        signal.sigtimedwait((), 0.01)


@pytest.mark.parametrize("way", ["result", "say", "note", "bytes", "stream", "progress", "stop"])
def test_it_appears_and_disappears_before_other_output(screen: Screen, way: str) -> None:
    terminal = made(screen, out=io.StringIO())
    terminal.wait("`catalog render`")
    wait(screen, b"`catalog render` is working, ")
    match way:
        case "result":
            terminal.result("text")
        case "say":
            terminal.say("text")
        case "note":
            terminal.note("text")
        case "bytes":
            terminal.result_bytes(b"text")
        case "stream":
            terminal.result_stream(io.BytesIO(b"text"))
        case "progress":
            with terminal.progress("text"):
                pass
        case _:
            terminal.end_wait()
    assert screen.look().endswith(b"\r\x1b[K")
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_nothing_is_shown_with_quiet_or_without_a_terminal(screen: Screen) -> None:
    before = signal.getsignal(signal.SIGALRM)
    for terminal in (made(screen, quiet=True), made(io.StringIO())):
        terminal.wait("`x`")
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        assert signal.getsignal(signal.SIGALRM) is before
        terminal.end_wait()
    assert screen.look() == b""


def test_the_earlier_signal_handler_is_restored(screen: Screen) -> None:
    before = signal.getsignal(signal.SIGALRM)
    terminal = made(screen)
    terminal.wait("`x`")
    terminal.end_wait()
    terminal.end_wait()
    assert signal.getsignal(signal.SIGALRM) is before
