"""`olmkit explain`: pages and the list of codes."""

from __future__ import annotations

import json

import pytest

from olmkit.cli import main
from olmkit.rules import codes


def test_all_codes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["explain"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == list(codes.register())


def test_a_page_is_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["explain", "-o", "json", "owned-crd-missing"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["code"] == "CSV025"
