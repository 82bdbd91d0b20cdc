from __future__ import annotations

import io
import logging

import pytest

from olmkit.cli import main
from olmkit.cli.frame import details
from olmkit.cli.frame.terminal import Terminal


def test_requests_and_messages_are_lines_on_stderr() -> None:
    out, err = io.StringIO(), io.StringIO()
    end = details.show(Terminal(out=out, err=err), 1)
    log = logging.getLogger("olmkit.edges.x")
    log.debug("request", extra={"method": "GET", "path": "/api", "code": "200", "seconds": 0.1})
    log.debug("GET %s: %d", "https://registry.example.com/v2/", 401)
    log.warning("a line\nand %s", "y" * 500, extra={"why": "z"})
    logging.getLogger("asyncio").debug("not of olmkit")
    end()
    log.debug("after the end")
    assert out.getvalue() == ""
    assert err.getvalue().splitlines() == [
        "GET /api: 200",
        "GET https://registry.example.com/v2/: 401",
        f"a line\\nand {'y' * 119}… (why=z)",
    ]


def test_repeated_verbose_shows_libraries_and_quiet_shows_nothing() -> None:
    for quiet, said in ((False, "of a library\n"), (True, "")):
        err = io.StringIO()
        end = details.show(Terminal(err=err, quiet=quiet), 2)
        logging.getLogger("aiohttp.x").debug("of a library")
        end()
        assert err.getvalue() == said


def test_each_request_to_a_registry_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    code = main.run(["image", "inspect", "localhost:1/a/b:c", "-v"])
    said = capsys.readouterr()
    assert (code, said.out) == (3, "")
    assert "waiting before another attempt" in said.err
    assert said.err.rstrip().count("error:") == 1
