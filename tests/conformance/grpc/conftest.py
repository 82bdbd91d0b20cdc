"""A served catalog: the real command in its own process, with requests over a socket."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from olmkit.edges.catalog.client import CatalogClient

Serve = Callable[..., contextlib.AbstractContextManager[CatalogClient]]


@contextlib.contextmanager
def _serve(folder: Path, *options: str) -> Iterator[CatalogClient]:
    words = [sys.executable, "-m", "olmkit", "catalog", "serve", str(folder)]
    words += ["--host", "127.0.0.1", "--port", "0", *options]
    # This program with arguments of a test.
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            said = ""
            while not (found := re.search(r"serving .* on (\S+:\d+)", said)):
                line = process.stderr.readline()
                said += line
                assert line, f"the server ended:\n{said}"
            with CatalogClient(found[1]) as client:
                yield client
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 0


@pytest.fixture
def serve() -> Serve:
    return _serve
