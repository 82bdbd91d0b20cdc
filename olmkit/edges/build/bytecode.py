"""The bytecode of an image's Python files, compiled on this machine for the Python of the image.

Without it, a container compiles all imported modules at each start, because its root file system is
read-only. The files have the form of PEP 552 that Python does not compare with the source
(unchecked hash-based): equal sources give equal bytes, regardless of time, machine and platform.
Only the version of the compiling Python matters, so it is part of the input of an image.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from olmkit.base import tree as trees
from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import File, Tree
from olmkit.edges import disk

# Prints its identity; a shim of a version manager exits with an error.
_ABOUT: Final = (
    "import sys; print(sys.implementation.name, '.'.join(map(str, sys.version_info[:3])), "
    "sys.implementation.cache_tag, sys.version_info.releaselevel)"
)
# Compiles each file below the current folder that its input names, and skips files that are not
# Python of this version, such as templates and tests of old versions.
_PROGRAM: Final = """
import json, marshal, sys
from importlib.util import MAGIC_NUMBER, source_hash

flags = (0b01).to_bytes(4, "little")
for path, compiled in json.load(sys.stdin):
    with open(path, "rb") as file:
        source = file.read()
    try:
        code = compile(source, "/" + path, "exec", dont_inherit=True, optimize=0)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        continue
    with open(compiled, "wb") as file:
        file.write(MAGIC_NUMBER + flags + source_hash(source) + marshal.dumps(code))
"""
# The user's environment must not change the result.
_ENVIRONMENT: Final = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
_OPTIONS: Final = ("-s", "-S", "-W", "ignore")


@dataclass(frozen=True, slots=True)
class Compiler:
    """A Python that compiles: its program, its `version` such as `3.13.1`, its cache tag."""

    program: str
    version: str
    tag: str


async def find(python: str) -> Compiler | None:
    """Return the CPython of version `python`, such as `3.13`, on this machine; None without one."""
    for program in _candidates(python):
        try:
            process = await asyncio.create_subprocess_exec(
                *(program, *_OPTIONS, "-c", _ABOUT),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
        except OSError:
            continue
        printed, _ = await process.communicate()
        words = printed.decode(errors="replace").split()
        if process.returncode != 0 or len(words) != 4:
            continue
        name, version, tag, level = words
        # The bytecode of a release candidate differs.
        if name == "cpython" and level == "final" and version.startswith(f"{python}."):
            return Compiler(program, version, tag)
    return None


def missing_compiler_error(python: str) -> ConfigurationError:
    """Return the error for required bytecode without a compiler."""
    return ConfigurationError(
        f"no Python {python} on this machine can compile the bytecode of the image",
        hint=f"install it, so that `python{python}` is on `PATH`, or build with `--no-bytecode`",
    )


async def compile_modules(compiler: Compiler, files: Tree) -> Tree:
    """Return the bytecode of the modules in `files`, whose paths are those in the image.

    Files that are not Python of this version have none. Raises `ConfigurationError` if the compiler
    fails.
    """
    wanted = {path: _cache_path(path, compiler.tag) for path in files if path.endswith(".py")}
    if not wanted:
        return Tree()
    with tempfile.TemporaryDirectory(prefix="olmkit-bytecode-") as name:
        sources, target = Path(name) / "sources", Path(name) / "compiled"
        written = Tree({path: File(files.data(path)) for path in wanted})
        await asyncio.to_thread(disk.apply, sources, trees.diff(written, Tree()))
        for path in wanted.values():
            (target / path).parent.mkdir(parents=True, exist_ok=True)
        request = [(path, str(target / wanted[path])) for path in sorted(wanted)]
        await _run(compiler, sources, json.dumps(request).encode())
        made = await asyncio.to_thread(disk.read_tree, target)
        return Tree({path: File(file.data) for path, file in made.items()})


def _cache_path(path: str, tag: str) -> str:
    """Return the path of a file's bytecode (PEP 3147)."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/__pycache__/{name.removesuffix('.py')}.{tag}.pyc".lstrip("/")


def _candidates(python: str) -> Iterator[str]:
    if python == f"{sys.version_info[0]}.{sys.version_info[1]}":
        yield sys.executable
    if (found := shutil.which(f"python{python}")) is not None:
        yield found


async def _run(compiler: Compiler, folder: Path, request: bytes) -> None:
    process = await asyncio.create_subprocess_exec(
        *(compiler.program, *_OPTIONS, "-c", _PROGRAM),
        cwd=folder,
        env=_ENVIRONMENT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, output = await process.communicate(request)
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise
    if process.returncode != 0:
        lines = output.decode(errors="replace").strip().splitlines()[-1:]
        raise ConfigurationError(
            f"Python {compiler.version} cannot compile the image's bytecode: {''.join(lines)}",
            hint="build with `--no-bytecode`",
        )
