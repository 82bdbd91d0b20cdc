"""Each module that reads YAML reports the missing library, whichever is imported first."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """\
import importlib, sys
from olmkit.base.diagnostics import ConfigurationError
sys.modules["yaml"] = None
try:
    importlib.import_module(sys.argv[1])
except ConfigurationError as error:
    print(error.message)
"""


@pytest.mark.parametrize(
    "module", ["documents", "document_errors", "yaml.events", "yaml.fast", "yaml.positions"]
)
def test_a_missing_library_is_named(module: str) -> None:
    command = [sys.executable, "-c", PROGRAM, f"olmkit.base.{module}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("reading YAML needs the package PyYAML\n", "")
