"""Ctrl-C and SIGTERM at several moments: files are unchanged, or complete."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

# The program stops at its change of the disk with that number, after it has printed it: so each
# moment is the same on a fast and on a slow machine. A thread cannot be interrupted: its wait
# ends by itself.
PROGRAM = """
import os, sys, threading, time
left, place, said = [int(sys.argv[1])], sys.argv[2], int(sys.argv[3])

def watch(event, arguments):
    changes = event in ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link") or (
        event == "open" and isinstance(arguments[2], int)
        and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    )
    if changes and left[0] >= 0 and any(place in str(one) for one in arguments):
        left[0] -= 1
        if left[0] < 0:
            os.write(said, b"x")
            time.sleep(10 if threading.current_thread() is threading.main_thread() else 1)

from olmkit.cli import main
os.chdir(place)
sys.addaudithook(watch)
main.main(sys.argv[4:])
"""
MOMENTS = (0, 1, 3, 7, 15)
CASES = {
    "init": "init {here}/out --domain example.com",
    "generate": "generate -C {here}/types",
    "bundle generate": "bundle generate -C {here}/operator --version 0.0.3",
    "bundle build": "bundle build {here}/bundle -t oci:{here}/images:out",
    "catalog add": (
        "catalog add {here}/catalog {here}/newer --channel alpha --image a.example.com/b:v3"
    ),
    "catalog build": "catalog build {here}/catalog -t oci:{here}/images:out",
    "image copy": "image copy oci:{here}/images:in oci:{here}/other:out",
    "hub build": "hub build {here}/catalog -d {here}/pages",
}


@dataclass(frozen=True, slots=True)
class Run:
    """A run that got the signal: its exit code and what it printed to stderr."""

    code: int
    said: str


def state(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b"/"
        for path in sorted(folder.rglob("*"))
    }


def interrupted(here: Path, moment: int, sent: signal.Signals, words: str) -> Run | None:
    """Run the command; return None if it ended before that change of the disk."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as pipe:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(moment), str(here), str(writer), *words.split()],
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            pass_fds=[writer],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.close(writer)
        is_reached = bool(pipe.read(1))
        if is_reached:
            time.sleep(0.02)  # it is in its wait
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(sent)
        _, said = process.communicate(timeout=120)
    return Run(process.returncode, said) if is_reached else None


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    folder = tmp_path_factory.mktemp("start")
    shutil.copytree(root / "bundle/0.0.1", folder / "bundle")
    shutil.copytree(root / "catalog", folder / "catalog")
    shutil.copytree(root / "operator", folder / "operator")
    shutil.copytree(root / "operator", folder / "types")
    shutil.rmtree(folder / "types/config/crd/bases")
    shutil.copytree(root / "bundle/0.0.2", folder / "newer")
    for path in (folder / "newer").rglob("*.yaml"):
        text = (
            path.read_text().replace("v0.0.2", "v0.0.3").replace("version: 0.0.2", "version: 0.0.3")
        )
        path.write_text(
            text.replace(
                "replaces: memcached-operator.v0.0.1", "replaces: memcached-operator.v0.0.2"
            )
        )
    build(folder, "bundle build bundle -t oci:images:in")
    return folder


def build(folder: Path, words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "olmkit", *words.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", CASES)
def test_no_result_is_partial(name: str, start: Path, tmp_path: Path) -> None:
    before = state(start)
    whole = tmp_path / "whole"
    shutil.copytree(start, whole)
    build(whole, CASES[name].format(here="."))
    after = state(whole)
    assert after != before
    tried = 0
    for moment in MOMENTS:
        here = tmp_path / f"moment{moment}"
        shutil.copytree(start, here)
        sent = signal.SIGTERM if moment in (1, 7) else signal.SIGINT
        run = interrupted(here, moment, sent, CASES[name].format(here=here))
        if run is None:
            break
        tried += 1
        assert "Traceback" not in run.said, run.said
        assert run.code in (0, 130, 143), (moment, sent, run)
        found = state(here)
        # Blobs of an image are complete, and the index only names an image with all its blobs.
        kept = {path for path in found if "/blobs/" in f"/{path}" or path.endswith("/blobs")}
        odd = {
            path
            for path, data in found.items()
            if path not in kept and data not in (before.get(path), after.get(path))
        }
        assert not odd, (moment, sent, run, odd)
        # The same command continues, or starts again, and has the same result.
        if found != after:
            build(here, CASES[name].format(here="."))
        end = state(here)
        differs = {path for path in {*end, *after} if end.get(path) != after.get(path)}
        assert not differs, (moment, sent, run, differs)
    assert tried > 0
