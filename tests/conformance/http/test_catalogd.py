"""Every answer of catalogd's own handler (v1.11.0, with `metas`), compared with olmkit's.

`catalogd.jsonl` has its answers to the requests of `requests.py`, in their order, about two
catalogs. One olmkit process serves both, without TLS and with it. With `--e2e`, the
handler is built, and must give the recorded answers; `OLMKIT_RECORD=1` records them again.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from olmkit.runtime.serve import self_signed

HERE = Path(__file__).parent
IGNORED_RANGES = (
    *("bytes=5-4", "lines=0-1", "bytes=x-y", "bytes=-", "bytes", "bytes=--5", "bytes =0-9"),
    *("bytes=0-9;", "bytes=+1-2", "bytes=1-+2", "bytes=0-9, ", "bytes=0-1,5-6", "bytes=9-0,1-2"),
    *("bytes=0-0,0-0", "bytes=0-1,999999-", "bytes=999999-,9999999-"),
)
LONG_RANGES = ("bytes=0-99999999999999999999", "bytes=-99999999999999999999")
MALFORMED_QUERY = re.compile(r"metas\?.*(;|%zz|%$)")


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
    """The address of the server of olmkit for both catalogs."""
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
    """Return the requests whose answers differ, with both answers."""
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
    """Return whether a difference is intended: olmkit follows RFC 9110, catalogd Go's libraries."""
    sent, path = row["headers"], row["path"]
    got, had = mine["status"], theirs["status"]
    since, given, accepted = (
        sent.get(name, "") for name in ("If-Modified-Since", "Range", "Accept-Encoding")
    )
    same_body = mine.get("body") == theirs.get("body")
    return (
        # A condition that is not a date is ignored (13.1.3).
        (had == 500 and since != "" and got == 200)
        # HEAD has the headers of GET (9.3.2).
        or (row["method"] == "HEAD" and accepted != "identity" and same_body and got == had == 200)
        # `*` includes gzip (12.5.3).
        or (accepted == "*" and same_body)
        # zstd is not offered: Python has it from 3.14 on.
        or ("zstd" in accepted and got == had == 200)
        # A range of an unknown form or unit is ignored (14.2), and so are several.
        or (got == 200 and had in (206, 416) and given in IGNORED_RANGES)
        # The last 0 bytes cannot be sent, units have any case, numbers have any length (14.1).
        or ((got, had) == (416, 206) and given == "bytes=-0")
        or ((got, had) == (206, 416) and given in ("BYTES=0-9", *LONG_RANGES))
        # A part of a query that cannot be decoded counts: the rest would request something else.
        or (MALFORMED_QUERY.search(path) is not None and (got == 400 or mine["body"] == ""))
        # Paths are not rewritten.
        or (had == 307 and got in (400, 404))
        # A method that HTTP does not have is refused before its path is read.
        or (row["method"] in requests.UNKNOWN_METHODS and (got, had) == (400, 405))
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


@pytest.mark.e2e
def test_the_recorded_answers_are_those_of_the_handler(tmp_path: Path) -> None:
    script = HERE.parent.parent.parent / "scripts/build-programs"
    built = subprocess.run(
        [script, "catalogd-handler"], stdout=subprocess.PIPE, text=True, check=True
    )
    program = Path(built.stdout.strip()) / "catalogd-handler"
    place = tmp_path / "place"
    place.mkdir()
    running: list[subprocess.Popen[str]] = []
    address = ""
    try:
        # The last one answers for all: the results of the others are in the same place.
        for name, folder in requests.write(tmp_path).items():
            words = [program, folder, name, place]
            process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
            running.append(process)
            assert process.stderr is not None
            address = process.stderr.readline().strip().rpartition("/")[2]
        answers = requests.ask(address, requests.rows())
    finally:
        for process in running:
            process.kill()
            process.communicate()
    lines = [json.dumps(answer, sort_keys=True) for answer in answers]
    record = HERE / "catalogd.jsonl"
    if os.environ.get("OLMKIT_RECORD"):
        record.write_text("".join(f"{line}\n" for line in lines))
    assert lines == record.read_text().splitlines()
