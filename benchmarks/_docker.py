"""The Docker engine of a benchmark, and the builders that its `docker build` has.

Since version 23 `docker build` is BuildKit, whose client is a plugin that is not in
Debian's package; that package still has the earlier builder. Both are
distinguished here, so that a benchmark measures what its readers have.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

Environment = Mapping[str, str]

MISSING = "  there is no Docker engine here: install docker.io, or set DOCKER_HOST"


@contextlib.contextmanager
def builders(folder: Path) -> Iterator[Mapping[str, Environment]]:
    """Return each available builder with the variables that select it; none without an engine.

    The engine is the one at DOCKER_HOST, or one that is started in `folder`, which
    needs root and Debian's docker.io.
    """
    folder.mkdir(parents=True)
    with _engine(folder) as engine:
        if engine is None:
            print(MISSING)
            yield {}
            return
        choices: dict[str, Environment] = {
            "BuildKit": {**engine, **_plugin(folder), "DOCKER_BUILDKIT": "1"},
            "legacy builder": {**engine, "DOCKER_BUILDKIT": "0"},
        }
        found = {name: choice for name, choice in choices.items() if _builds(folder, choice)}
        for name in choices.keys() - found.keys():
            print(f"  docker's {name} does not work here: left out")
        yield found


@contextlib.contextmanager
def _engine(folder: Path) -> Iterator[Environment | None]:
    """Return the variables with which `docker` finds an engine, or None if there is none."""
    if shutil.which("docker") and _answers({}):
        yield {}
        return
    daemon = shutil.which("dockerd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if daemon is None or not shutil.which("docker") or os.geteuid() != 0:
        yield None
        return
    found = {"DOCKER_HOST": f"unix://{folder}/socket"}
    words = [daemon, "-H", found["DOCKER_HOST"], "--data-root", f"{folder}/data"]
    words += ["--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid"]
    words += ["--bridge=none", "--iptables=false"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)
    try:
        for _ in range(300):
            if process.poll() is not None or _answers(found):
                break
            time.sleep(0.1)
        yield found if process.poll() is None and _answers(found) else None
    finally:
        process.terminate()
        process.wait()


def _plugin(folder: Path) -> Environment:
    """Return where `docker` finds a client of BuildKit, if it has no client itself."""
    if _succeeds(["docker", "buildx", "version"], {}) or shutil.which("go") is None:
        return {}
    built = subprocess.run(
        ["sh", str(ROOT / "scripts/build-programs"), "buildx"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if built.returncode:
        return {}
    plugins = folder / "configuration/cli-plugins"
    plugins.mkdir(parents=True)
    (plugins / "docker-buildx").symlink_to(Path(built.stdout.strip(), "buildx"))
    return {"DOCKER_CONFIG": str(plugins.parent)}


def _builds(folder: Path, environment: Environment) -> bool:
    context = folder / "context"
    context.mkdir(exist_ok=True)
    (context / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /\n")
    return _succeeds(["docker", "build", "-q", str(context)], environment)


def _answers(environment: Environment) -> bool:
    return _succeeds(["docker", "version"], environment)


def _succeeds(words: Sequence[str], environment: Environment) -> bool:
    done = subprocess.run(
        words, env={**os.environ, **environment}, capture_output=True, check=False
    )
    return done.returncode == 0
