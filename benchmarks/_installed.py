"""olmkit as users have it: with its bytecode, as an installer compiles it.

A shell can forbid Python to write bytecode. Every run would then compile the
program again, and the benchmark would measure that.
"""

from __future__ import annotations

import compileall
import os
from pathlib import Path

import olmkit


def prepare() -> None:
    """Let child processes use bytecode, and compile the package once; report it."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    compileall.compile_dir(str(Path(olmkit.__file__).parent), quiet=2)
    print("olmkit's bytecode is compiled beforehand, as in an installation")


def catalogs() -> list[Path]:
    """Return the whole catalogs in OLMKIT_CATALOGS, separated by colons."""
    return [Path(name) for name in os.environ.get("OLMKIT_CATALOGS", "").split(":") if name]
