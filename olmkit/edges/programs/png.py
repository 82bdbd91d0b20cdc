"""Convert SVG to PNG with a program of this machine."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping

from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.edges.programs import processes

# Each reads SVG from its input and writes PNG to its output.
_CONVERTERS = (
    ("rsvg-convert", "--format=png", "--zoom=2"),
    ("resvg", "--zoom=2", "-", "-c"),
    ("magick", "-density", "192", "svg:-", "png:-"),
)
_LIMIT = 64 * 1024 * 1024
_SECONDS = 60.0


async def from_svg(svg: bytes, environment: Mapping[str, str]) -> bytes:
    """Return the picture in PNG, at twice its natural size.

    Raises `ConfigurationError` if this machine has no converter, and `RemoteError` if the converter
    fails or does not end.
    """
    path = environment.get("PATH")
    found = next((one for one in _CONVERTERS if shutil.which(one[0], path=path)), None)
    if found is None:
        raise ConfigurationError(
            "no program of this machine converts SVG to PNG",
            hint="install `rsvg-convert` (package librsvg2-bin or librsvg2-tools), or use `-o svg`",
        )
    process = await asyncio.create_subprocess_exec(
        *found,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=dict(environment),
    )
    try:
        async with asyncio.timeout(_SECONDS):
            data = await processes.converse(process, svg, limit=_LIMIT)
            code = process.returncode
    except (TimeoutError, processes.TooMuchOutputError):
        process.kill()
        await processes.wait_for_end(process)
        raise RemoteError(f"`{found[0]}` does not make a picture of this graph") from None
    if code or not data.startswith(b"\x89PNG"):
        raise RemoteError(f"`{found[0]}` ended with code {code} and without a picture")
    return data
