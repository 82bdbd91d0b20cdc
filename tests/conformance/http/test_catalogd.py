"""Every answer of catalogd's own handler (v1.11.0, with `metas`), against ours.

`catalogd.jsonl` has its answers to the requests of `requests.py`, in their order, about two
catalogs. Ours come from one process that serves both, without TLS and with it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from olmkit.runtime.serve import self_signed

HERE = Path(__file__).parent
INVALID_RANGES = ("bytes=5-4", "lines=0-1", "bytes=x-y", "bytes=-")


def _requests() -> Any:
    spec = importlib.util.spec_from_file_location("catalogd_requests", HERE / "requests.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


requests = _requests()


@contextmanager
def served(folder: Path, *more: str | Path) -> Iterator[str]:
    """The address of our server for both catalogs."""
    folders = [str(path) for path in requests.write(folder).values()]
    words = ["catalog", "serve", *folders, "--host", "127.0.0.1", "--port", "0", *map(str, more)]
    with subprocess.Popen(
        [sys.executable, "-m", "olmkit", *words, "--http-port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stderr is not None
        said = [process.stderr.readline() for _ in folders]
        try:
            yield said[-1].split()[-1]
        finally:
            process.terminate()
            process.communicate()


def differences(address: str, tls: ssl.SSLContext | None = None) -> list[str]:
    """The requests to which our answer is another, with both answers."""
    rows = requests.rows()
    theirs = [json.loads(line) for line in (HERE / "catalogd.jsonl").read_text().splitlines()]
    assert len(rows) == len(theirs)
    return [
        f"{row['method']} {row['path'][:80]} {row['headers']}: {_short(mine)}, not {_short(answer)}"
        for row, mine, answer in zip(rows, requests.ask(address, rows, tls), theirs, strict=True)
        if mine != answer and not is_better(row, mine, answer)
    ]


def _short(answer: dict[str, Any]) -> str:
    return f"{answer['status']} {answer.get('headers')} {len(answer.get('body', ''))} bytes"


def is_better(row: dict[str, Any], mine: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Where we differ on purpose: RFC 9110 decides, and catalogd has what Go's library does."""
    headers = row["headers"]
    got, had = mine["status"], theirs["status"]
    return (
        # A condition that is not a date is ignored (13.1.3).
        ((got, had) == (200, 500) and headers.get("If-Modified-Since") == "yesterday")
        # So is a range of an unknown unit or form (14.2).
        or ((got, had) == (200, 416) and headers.get("Range") in INVALID_RANGES)
        # The last 0 bytes cannot be sent (14.1.2).
        or ((got, had) == (416, 206) and headers.get("Range") == "bytes=-0")
        # `*` includes gzip (12.5.3).
        or (headers["Accept-Encoding"] == "*" and mine["body"] == theirs["body"])
        # Paths are not rewritten.
        or ((got, had) == (404, 307) and "/../" in row["path"])
    )


def test_answers_are_those_of_catalogd(tmp_path: Path) -> None:
    with served(tmp_path) as address:
        assert differences(address) == []


def test_answers_over_tls_are_the_same(tmp_path: Path) -> None:
    certificate, key = self_signed.make()
    files = tmp_path / "tls.crt", tmp_path / "tls.key"
    for path, data in zip(files, (certificate, key), strict=True):
        path.write_bytes(data)
    tls = ssl.create_default_context(cadata=certificate.decode())
    (tmp_path / "catalogs").mkdir()
    with served(tmp_path / "catalogs", "--tls-cert", files[0], "--tls-key", files[1]) as address:
        assert differences(address, tls) == []
