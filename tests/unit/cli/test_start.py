"""The first page of help is the one that the command-line library would print."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest

from olmkit import __version__
from olmkit.cli import start
from olmkit.cli.main import root

# Runs a command line as the program does, and prints the loaded modules to stderr.
_PROGRAM = """
import sys
from olmkit.cli import start
try:
    start.main()
finally:
    print(*sorted(sys.modules), file=sys.stderr)
"""


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("columns", [1, *range(50, 125)])
def test_the_page_is_that_of_the_library(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    with click.Context(root, info_name="olmkit", **root.context_settings) as context:
        assert start.first_page(columns) == root.get_help(context) + "\n"


@pytest.mark.parametrize("arguments", [[], ["-h"], ["--help"], ["--version"]])
def test_the_library_is_not_imported_for_it(arguments: list[str]) -> None:
    done = run(*arguments, COLUMNS="100")
    assert done.returncode == 0
    assert {"click", "re", "typing"}.isdisjoint(done.stderr.split())
    wanted = f"olmkit {__version__}\n" if arguments == ["--version"] else start.first_page(100)
    assert done.stdout == wanted


def test_every_other_command_line_is_passed_to_the_program() -> None:
    done = run("bundle", "--help")
    assert done.stdout.startswith("Usage: olmkit bundle ")
    assert "click" in done.stderr.split()


def test_a_page_that_cannot_be_written_is_an_error() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            [sys.executable, "-m", "olmkit", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 3
    assert done.stderr.startswith("error: cannot write the result")
