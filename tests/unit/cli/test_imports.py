"""The imports of commands, which determine their start-up time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from olmkit.cli.table import COMMANDS

ROOT = Path(__file__).parents[3]

# Runs each command line in a process that was forked before any import.
_PROGRAM = """
import json, os, sys

def modules(line):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        from olmkit.cli import main
        code = main.run(line)
        found = json.dumps([code, sorted(sys.modules)]).encode()
        while found:
            found = found[os.write(writer, found):]
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return json.loads(data)

json.dump([modules(line) for line in json.load(sys.stdin)], sys.stdout)
"""

# Modules that help must not load: it only needs the command line itself.
_PARTS = [
    "apis",
    "bundle",
    "catalog",
    "edges",
    "hub",
    "hybrid",
    "jobs",
    "kube",
    "oci",
    "olm",
    "project",
    "rules",
    "runtime",
    "submission",
]
_LIBRARIES = {
    *("aiohttp", "asyncio", "grpc", "jinja2", "jsonschema", "jsonschema_rs", "msgspec", "rich"),
    *("ssl", "yaml", "yamlrocks"),
}


def imported(lines: Iterable[list[str]]) -> list[set[str]]:
    """The modules that each command line has imported when it ends with exit code 0."""
    lines = list(lines)
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        cwd=ROOT,
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    answers = json.loads(done.stdout)
    assert [line for line, (code, _) in zip(lines, answers, strict=True) if code] == [], done.stderr
    return [set(modules) for _, modules in answers]


def below(modules: Iterable[str], *packages: str) -> list[str]:
    return sorted(name for name in modules if name in packages or _parent(name, packages))


def _parent(name: str, packages: Iterable[str]) -> bool:
    return any(name.startswith(package + ".") for package in packages)


def test_the_help_of_a_command_does_not_import_its_job() -> None:
    lines = [[*path.split(), "--help"] for path in COMMANDS]
    packages = [f"olmkit.{part}" for part in _PARTS]
    found = {
        " ".join(line): below(modules, *packages, *_LIBRARIES)
        for line, modules in zip(lines, imported(lines), strict=True)
    }
    assert {line: names for line, names in found.items() if names} == {}


NETWORK = ("aiohttp", "asyncio", "grpc", "ssl", "yarl")
UNUSED = ("jinja2", "jsonschema", "pydantic", "rich", "olmkit.hub", "olmkit.runtime")
# Modules that work on local files must not load, by command.
LOCAL: list[tuple[str, tuple[str, ...]]] = [
    ("catalog validate catalog", ("olmkit.olm", "olmkit.project", "olmkit.apis")),
    ("catalog render catalog", ("olmkit.olm", "olmkit.project", "olmkit.apis")),
    (
        "catalog render bundle/0.0.1",
        (
            *("olmkit.olm", "olmkit.project", "olmkit.apis", "olmkit.rules"),
            *(
                "olmkit.bundle.generation.generate",
                "olmkit.catalog.changes",
                "olmkit.catalog.database",
            ),
            *("olmkit.edges.index_database", "sqlite3"),
            *("olmkit.oci", "olmkit.base.versions", "hashlib", "tempfile", "shutil"),
        ),
    ),
    ("catalog list packages catalog", ("olmkit.olm", "olmkit.project", "olmkit.apis")),
    ("bundle validate bundle/0.0.1", ("msgspec", "olmkit.catalog", "olmkit.olm", "olmkit.apis")),
    ("generate -C operator --check", ("olmkit.catalog", "olmkit.oci", "olmkit.olm")),
    ("render -C operator", ("olmkit.catalog", "olmkit.apis", "olmkit.rules")),
    ("completion bash", ("olmkit.base.documents", "yaml", "msgspec", "olmkit.jobs")),
]


def test_local_work_imports_neither_the_network_nor_other_packages() -> None:
    found = {
        line: below(modules, *NETWORK, *UNUSED, *more)
        for (line, more), modules in zip(
            LOCAL, imported(line.split() for line, _ in LOCAL), strict=True
        )
    }
    assert {line: names for line, names in found.items() if names} == {}
