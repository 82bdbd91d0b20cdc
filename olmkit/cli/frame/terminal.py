"""Streams, color and progress.

Only results are written to stdout; notes, warnings and progress to stderr. The text is the same
without color, and lines are only updated if stderr is a terminal.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from olmkit.cli.frame.waiting import Waiting

_COPIED = 1 << 20  # bytes at once
_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
}
# The sequences of `paint`, and no others that a terminal would interpret.
_PAINT = re.compile(r"(\x1b\[(?:1|2|31|32|33|34|36|0)(?:;(?:1|2))?m)")


class Progress(Protocol):
    """The progress reports of a job."""

    def advance(self, step: str, amount: int = 1) -> None:
        """Advance by `amount`; `step` is the name of the step."""


class Terminal:
    """The output streams: `out` for results, `err` for everything else."""

    def __init__(
        self,
        *,
        out: TextIO | None = None,
        err: TextIO | None = None,
        color: str = "auto",
        quiet: bool = False,
        motion: bool = True,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.out = out or sys.stdout
        self.err = err or sys.stderr
        self.quiet = quiet
        self._bars: RichProgress | None = None
        self._waiting: Waiting | None = None
        environment = environment or {}
        self.color_out = wants_color(self.out, color, environment)
        self.color_err = wants_color(self.err, color, environment)
        self.motion = (
            motion
            and not quiet
            and "OLMKIT_NO_PROGRESS" not in environment
            and environment.get("TERM") != "dumb"
            and _is_terminal(self.err)
        )

    def wait(self, label: str) -> None:
        """Show on a terminal, after a delay, that `label` runs, until something is printed."""
        if self.motion:
            from olmkit.cli.frame import waiting

            self._waiting = waiting.Waiting(self.err, label)
            self._waiting.start()

    def end_wait(self) -> None:
        """Remove that line, before something else writes to the terminal."""
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None

    def result(self, text: str, *, exact: bool = False) -> None:
        """Write a result to stdout, with one newline at the end.

        Control characters are escaped, because results show external data; `exact` is
        for formats that programs read.
        """
        self.end_wait()
        if text:
            text = text if exact else _harmless(text, painted=self.color_out)
            self.out.write(text if text.endswith("\n") else text + "\n")

    def result_bytes(self, data: bytes) -> None:
        """Write bytes to stdout unchanged."""
        self.end_wait()
        self.out.flush()
        binary = getattr(self.out, "buffer", None)
        if binary is None:
            self.out.write(data.decode())
        else:
            binary.write(data)
            binary.flush()

    def result_stream(self, stream: IO[bytes]) -> None:
        """Write bytes to stdout unchanged, in pieces."""
        self.end_wait()
        self.out.flush()
        binary = getattr(self.out, "buffer", None)
        if binary is None:
            self.out.write(stream.read().decode())
        else:
            while piece := stream.read(_COPIED):
                binary.write(piece)
            binary.flush()

    def note(self, text: str) -> None:
        """Print a note to stderr, except in quiet mode."""
        if not self.quiet:
            self.say(text)

    def say(self, text: str) -> None:
        """Print an important message to stderr; if that fails, work continues.

        While a bar moves, it is printed above it. Control characters are escaped.
        """
        self.end_wait()
        text = _harmless(text, painted=self.color_err)
        with contextlib.suppress(OSError):
            if self._bars is not None:
                self._bars.console.print(text, markup=False, highlight=False, soft_wrap=True)
            else:
                self.err.write(text + "\n")

    @contextlib.contextmanager
    def progress(self, label: str, total: int | None = None) -> Iterator[Progress]:
        """Show progress of one task: a bar on a terminal, else one plain line per step."""
        self.end_wait()
        if not self.motion:
            yield _Lines(self)
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        console = Console(file=self.err, no_color=not self.color_err)
        with Bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        ) as bars:
            self._bars = bars
            try:
                yield _Bar(bars, bars.add_task(label, total=total))
            finally:
                self._bars = None


class _Lines:
    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def advance(self, step: str, amount: int = 1) -> None:  # noqa: ARG002 - one line whatever the amount
        self._terminal.note(step)


class _Bar:
    def __init__(self, bars: RichProgress, task: TaskID) -> None:
        self._bars = bars
        self._task = task

    def advance(self, step: str, amount: int = 1) -> None:
        self._bars.update(self._task, advance=amount, description=printable(step))


def paint(text: str, *styles: str, on: bool) -> str:
    """Return `text` in color if `on`, else unchanged."""
    if not on or not text:
        return text
    return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"


def printable(text: str) -> str:
    """Return `text` without characters that move the cursor or change the terminal's state."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(
        char if char in "\n\t" or not _moves(char) else f"\\u{ord(char):04x}" for char in text
    )


def one_line(value: str) -> str:
    """Return external `value` for one line of a result, without line breaks and colors."""
    return printable(value).replace("\n", "\\n")


def _moves(char: str) -> bool:
    import unicodedata  # few texts have such characters

    category = unicodedata.category(char)
    return category[0] == "C" or category in ("Zl", "Zp")


def _harmless(text: str, *, painted: bool) -> str:
    """Return `text` like `printable`, with the colors of `paint` kept if it is `painted`."""
    if text.replace("\n", "").isprintable():
        return text
    if not painted:
        return printable(text)
    parts = _PAINT.split(text)
    parts[::2] = [printable(part) for part in parts[::2]]
    return "".join(parts)


def wants_color(stream: TextIO, choice: str, environment: Mapping[str, str]) -> bool:
    """Return whether to color `stream`: by flag, NO_COLOR, FORCE_COLOR, TERM, stream."""
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return environment.get("TERM") != "dumb" and _is_terminal(stream)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False
