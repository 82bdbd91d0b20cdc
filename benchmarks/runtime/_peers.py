"""The same small controller on olmkit, kopf and controller-runtime, with their commands.

kopf is installed into a temporary virtual environment; the Go program is built once
and cached next to the programs of the tests. A peer that is not available is reported and skipped.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
KOPF = "kopf==1.45.2"
WORKERS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A controller: its command (the server's address is appended), and its number of changes.

    `events` and `writes` are the numbers that are measured: enough for some seconds.
    """

    name: str
    command: Sequence[str]
    import_command: Sequence[str]  # prints the CPU seconds of its import; empty: has none
    probed: bool  # answers SIGUSR1
    events: int
    writes: int

    def words(self, address: str) -> list[str]:
        return [*self.command, address, str(WORKERS)]


def available(folder: Path, *, only: str | None = None) -> list[Peer]:
    """Return the peers that this machine can run; `folder` is for temporary files."""
    peers = []
    if only in (None, "olmkit"):
        modules = "olmkit.runtime.process, olmkit.runtime.work.builder"
        peers.append(_python(sys.executable, "olmkit", modules, events=60_000, writes=6_000))
    if only in (None, "olmkit-typed"):
        modules = "olmkit.runtime.process, olmkit.runtime.work.builder, olmkit.runtime.kinds"
        peers.append(_python(sys.executable, "olmkit-typed", modules, events=60_000, writes=6_000))
    if only in (None, "kopf") and (python := _kopf(folder)):
        peers.append(_python(python, "kopf", "kopf", events=6_000, writes=2_000))
    if only in (None, "controller-runtime") and (program := _controller_runtime()):
        peers.append(
            Peer(
                name="controller-runtime",
                command=[program],
                import_command=[],
                probed=False,
                events=60_000,
                writes=6_000,
            )
        )
    return peers


def _python(python: str, name: str, modules: str, *, events: int, writes: int) -> Peer:
    measure = (
        f"import time; a = time.process_time(); import {modules}; print(time.process_time()-a)"
    )
    return Peer(
        name=name,
        command=[python, str(HERE / f"_controller_{name.replace('-', '_')}.py")],
        import_command=[python, "-c", measure],
        probed=True,
        events=events,
        writes=writes,
    )


def _kopf(folder: Path) -> str | None:
    try:
        venv.create(folder / "kopf", with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"  {KOPF} cannot have a virtual environment, left out: {error}")
        return None
    python = str(folder / "kopf" / "bin" / "python")
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-input", "--retries", "1", KOPF],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(f"  {KOPF} cannot be installed, left out: {_last_line(done.stderr)}")
        return None
    return python


def _controller_runtime() -> str | None:
    source = HERE / "controller_runtime"
    files = sorted(path for path in source.iterdir() if path.suffix in (".go", ".mod"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = Path(os.environ.get("OLMKIT_CACHE") or Path(home) / "olmkit")
    program = cache / "programs" / f"benchmark-runtime-{digest}" / "controller"
    if program.exists():
        return str(program)
    if shutil.which("go") is None:
        print("  there is no Go here: controller-runtime is left out")
        return None
    print("  building the controller on controller-runtime: once, a minute or two", flush=True)
    work = program.parent.with_suffix(".work")
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(source, work)
    done = subprocess.run(
        ["go", "build", "-mod=mod", "-trimpath", "-ldflags", "-s -w", "-o", "controller", "."],
        cwd=work,
        env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(f"  controller-runtime cannot be built, left out: {_last_line(done.stderr)}")
        return None
    work.rename(program.parent)
    return str(program)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no word about why"
