"""The output of programs, and why there is none."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from olmkit.base.diagnostics import ConfigurationError, OlmkitError, RemoteError
from olmkit.edges.programs import program_output

MEGABYTE = 1024 * 1024


def read(code: str, *, limit: int = MEGABYTE) -> bytes:
    words = (sys.executable, "-c", code)
    return asyncio.run(program_output.read(words, os.environ, limit=limit))


def test_the_output_is_read_completely_and_stdin_is_empty() -> None:
    code = "import sys; sys.stdout.write(sys.stdin.read() + 'x' * 200_000)"

    assert read(code) == b"x" * 200_000


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise SystemExit(3)", "ended with code 3"),
        ("while True: print('x' * 9999)", "prints more than 1 MB"),
    ],
)
def test_a_program_that_fails_or_does_not_end_is_reported(code: str, message: str) -> None:
    with pytest.raises(RemoteError, match=message):
        read(code)


@pytest.mark.parametrize("command", [("no-such-program-here",), ("a\0b",)])
def test_a_missing_program_is_reported(command: tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError, match="cannot run") as caught:
        asyncio.run(program_output.read(command, os.environ, limit=MEGABYTE))
    assert isinstance(caught.value, OlmkitError)
