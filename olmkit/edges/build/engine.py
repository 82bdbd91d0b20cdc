"""Build with a container engine's own program, and export the image from the engine.

Only the common command line of Docker and Podman is used, so that neither needs a library. The
engine's output goes to a callback, line by line.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.oci.content import Platform

Say = Callable[[str], None]
_SHOWN_LINES = 6


async def build(
    engine: str,
    folder: Path,
    containerfile: str,
    name: str,
    *,
    arguments: Mapping[str, str],
    platform: Platform | None,
    environment: Mapping[str, str],
    say: Say,
) -> None:
    """Build the image `name` in the engine from the Containerfile in `folder`.

    Raises `ConfigurationError` if the engine is not installed, and `RemoteError` if it fails.
    """
    words = [_program(engine), "build", "--file", str(folder / containerfile), "--tag", name]
    if platform is not None:
        words += ["--platform", str(platform)]
    # Docker's default network does not exist everywhere; a variable can select the host's network.
    if network := environment.get("OLMKIT_BUILD_NETWORK"):
        words += ["--network", network]
    for key, value in arguments.items():
        words += ["--build-arg", f"{key}={value}"]
    await _run([*words, str(folder)], environment, say, f"`{engine} build` did not succeed")


async def save(engine: str, name: str, file: Path, environment: Mapping[str, str]) -> None:
    """Write the image `name` of the engine to `file`, like `docker save`."""
    words = [_program(engine), "save", "--output", str(file), name]
    await _run(words, environment, lambda _: None, f"`{engine} save` did not succeed")


def _program(engine: str) -> str:
    found = shutil.which(engine)
    if found is None:
        raise ConfigurationError(
            f"`{engine}` is not installed",
            hint="install it, or omit `--engine` to build without an engine",
        )
    return found


async def _run(
    arguments: Sequence[str], environment: Mapping[str, str], say: Say, wrong: str
) -> None:
    process = await asyncio.create_subprocess_exec(
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=dict(environment),
        limit=1 << 20,
    )
    last: deque[str] = deque(maxlen=_SHOWN_LINES)
    try:
        assert process.stdout is not None  # noqa: S101 - requested above
        async for line in process.stdout:
            text = line.decode(errors="replace").rstrip()
            if text:
                last.append(text)
                say(text)
        code = await process.wait()
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise
    if code != 0:
        raise RemoteError("\n".join([f"{wrong}:", *last]))
