"""The programs and packages of this machine."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path

import pytest

from olmkit.edges import machine
from olmkit.jobs import doctor


def test_extras_are_those_of_the_distribution_and_each_has_a_purpose() -> None:
    extras = machine.extras_of("olmkit")
    assert extras["serve"] == ("grpcio", "prometheus-client", "protobuf")
    assert extras["operator"] == ("olmkit-runtime", "cryptography")
    assert set(extras) - {"all"} == set(doctor.EXTRAS)


def test_a_missing_distribution_has_no_extras_and_no_version() -> None:
    assert machine.extras_of("no-such-distribution") == {}
    assert machine.version_of("no-such-distribution") == ""
    assert machine.version_of("click") == importlib.metadata.version("click")


def test_a_program_is_found_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "helm"
    program.write_text("#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.program("helm") == ""
    program.chmod(0o755)
    assert machine.program("helm") == str(program)
    assert os.environ["PATH"] == str(tmp_path)
