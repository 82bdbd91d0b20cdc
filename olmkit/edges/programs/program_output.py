"""Read the output of a user's program, for example one that generates a catalog."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence

from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.edges.programs import processes


async def read(command: Sequence[str], environment: Mapping[str, str], *, limit: int) -> bytes:
    """Run a program in the current folder and return its standard output.

    Its standard error is shown immediately. Raises `ConfigurationError` if there is no such
    program, and `RemoteError` if it fails or prints more than `limit` bytes.
    """
    shown = shlex.join(command)[:200]
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            env=dict(environment),
        )
    except (OSError, ValueError) as error:
        words = (getattr(error, "strerror", None) or str(error)).lower()
        raise ConfigurationError(f"cannot run `{shown}`: {words}") from error
    try:
        data = await processes.converse(process, limit=limit)
    except processes.TooMuchOutputError:
        raise RemoteError(f"`{shown}` prints more than {limit // 1024 // 1024} MB") from None
    finally:
        if process.returncode is None:
            process.kill()
            await processes.wait_for_end(process)
    if process.returncode:
        raise RemoteError(f"`{shown}` ended with code {process.returncode}")
    return data
