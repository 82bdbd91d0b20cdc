"""Bytecode for images: compiled by this Python, reproducible, used without a check of sources."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from olmkit.base import tree as trees
from olmkit.base.tree import File, Tree
from olmkit.edges import disk
from olmkit.edges.build import bytecode
from olmkit.edges.build.bytecode import Compiler

OWN = f"{sys.version_info[0]}.{sys.version_info[1]}"
TAG = sys.implementation.cache_tag
SOURCES = Tree(
    {
        "opt/lib/one/__init__.py": File(b"names = {'a', 'b', 'c'}\nx = 'a' in {'q', 'a', 'z'}\n"),
        "opt/lib/one/old.py": File(b"print 'two'\n"),
        "opt/lib/one/data.txt": File(b"no code\n"),
        "opt/lib/two.py": File(b"def where():\n    return where.__code__.co_filename\n"),
    }
)


@pytest.fixture
def compiler() -> Compiler:
    found = asyncio.run(bytecode.find(OWN))
    assert found is not None
    return found


def test_the_compiler_is_of_the_version_that_is_named(compiler: Compiler) -> None:
    assert compiler.version.startswith(f"{OWN}.")
    assert compiler.tag == TAG
    assert asyncio.run(bytecode.find("3.99")) is None


def test_a_program_that_is_another_python_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {
        "python3.98": "exit 127",
        "python3.97": "echo cpython 3.96.1 x final",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert asyncio.run(bytecode.find("3.98")) is None
    assert asyncio.run(bytecode.find("3.97")) is None


def test_modules_are_compiled_and_other_files_are_ignored(compiler: Compiler) -> None:
    made = asyncio.run(bytecode.compile_modules(compiler, SOURCES))
    assert list(made) == [
        f"opt/lib/__pycache__/two.{TAG}.pyc",
        f"opt/lib/one/__pycache__/__init__.{TAG}.pyc",
    ]
    for file in made.values():
        assert file.data[4:8] == b"\1\0\0\0"  # PEP 552: by hash, and not compared with the source
        assert file.mode == 0o644


def test_the_same_sources_result_in_the_same_bytes(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = asyncio.run(bytecode.compile_modules(compiler, SOURCES))
    monkeypatch.setenv("PYTHONHASHSEED", "77")
    monkeypatch.setenv("PYTHONOPTIMIZE", "2")
    more = SOURCES.merge(Tree({f"a/m{at}.py": File(b"names = 'a', 'two'\n") for at in range(20)}))
    again = asyncio.run(bytecode.compile_modules(compiler, more))
    assert {path: again[path] for path in first} == dict(first)


def test_python_uses_it_where_the_image_has_it(compiler: Compiler, tmp_path: Path) -> None:
    made = asyncio.run(bytecode.compile_modules(compiler, SOURCES))
    disk.apply(tmp_path, trees.diff(SOURCES.merge(made), Tree()))
    # The source has changed, so the output shows that it is not read.
    (tmp_path / "opt/lib/two.py").write_text("raise SystemExit('the source was compiled')\n")
    done = subprocess.run(
        [sys.executable, "-c", "import two; print(two.where())"],
        env={"PYTHONPATH": str(tmp_path / "opt/lib")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == (f"{tmp_path}/opt/lib/two.py\n", "")
