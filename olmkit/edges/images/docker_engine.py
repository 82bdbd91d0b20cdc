"""Images of a Docker engine, through its archives.

The engine has no API for individual layers, so an image is transferred as a whole: saved to a
temporary file and read from there, or written there and loaded. Needs the extra `docker`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.edges.images import docker_archive
from olmkit.oci.image import Image
from olmkit.oci.reference import Reference
from olmkit.oci.store import ImageStore, RegistryError


@contextlib.asynccontextmanager
async def open_image(name: Reference) -> AsyncIterator[ImageStore]:
    """Open a store with the single image `name` of the engine."""
    with tempfile.TemporaryDirectory(prefix="olmkit-") as folder:
        path = Path(folder, "image.tar")
        await asyncio.to_thread(_save, name, path)
        yield docker_archive.open_archive(path)


async def load(source: ImageStore, image: Image, name: Reference) -> None:
    """Load `image`, whose layers are in `source`, into the engine as `name`."""
    with tempfile.TemporaryDirectory(prefix="olmkit-") as folder:
        path = Path(folder, "image.tar")
        await docker_archive.write(source, image, [name], path)
        await asyncio.to_thread(_load, path)


def _save(name: Reference, path: Path) -> None:
    with _engine() as (client, errors), path.open("wb") as stream:
        try:
            for chunk in client.images.get(str(name)).save():
                stream.write(chunk)
        except errors.ImageNotFound:
            raise RegistryError(
                f"the Docker engine has no image `{name}`",
                hint="run `docker images` to list its images",
                status=404,
            ) from None


def _load(path: Path) -> None:
    with _engine() as (client, _), path.open("rb") as stream:
        client.images.load(stream)


@contextlib.contextmanager
def _engine() -> Any:
    try:
        import docker
        from docker import errors
    except ImportError:
        raise ConfigurationError(
            "images of a Docker engine need the package `docker`, which is not installed",
            hint='install it: `pip install "olmkit[docker]"`',
        ) from None
    _knock(os.environ.get("DOCKER_HOST") or docker.constants.DEFAULT_UNIX_SOCKET)
    client = None
    try:
        client = docker.from_env()
        yield client, errors
    except errors.DockerException as error:
        raise RemoteError(f"the Docker engine refuses: {str(error)[:300]}") from error
    except OSError as error:
        raise _silent() from error
    finally:
        if client is not None:
            client.close()


def _knock(host: str) -> None:
    """Check whether an engine listens, because the library otherwise leaks its socket."""
    scheme, _, path = host.partition("://")
    if scheme not in ("unix", "http+unix"):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        try:
            trial.connect(f"/{path.lstrip('/')}")
        except OSError as error:
            raise _silent() from error


def _silent() -> RemoteError:
    return RemoteError(
        "the Docker engine does not answer",
        hint="check that it runs and that you may use it: `docker version`",
    )
