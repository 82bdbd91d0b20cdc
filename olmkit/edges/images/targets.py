"""Where an image can be sent: every kind of reference that a user may name.

Registries and layout folders take piece by piece; archives and engines take a
whole file, which is made next to its place and appears there complete. What knows
only one platform gets the one that is requested.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from olmkit.base.diagnostics import RemoteError
from olmkit.edges.disk import disk_error
from olmkit.edges.images import docker_archive, transfer, transports
from olmkit.edges.images.layout import Layout, temporary
from olmkit.edges.images.transfer import Outcome, Report, Step, silent
from olmkit.edges.images.transports import Access
from olmkit.oci import layer
from olmkit.oci.content import Descriptor
from olmkit.oci.reference import (
    ArchiveReference,
    DockerArchiveReference,
    EngineReference,
    ImageReference,
    LayoutReference,
    Reference,
)
from olmkit.oci.store import Store

if TYPE_CHECKING:
    from olmkit.edges.web import Web


async def send(
    source: Store,
    root: Descriptor,
    target: ImageReference,
    access: Access,
    report: Report = silent,
    *,
    web: Web | None = None,
) -> Descriptor:
    """Bring the image `root` of `source` to `target`; what it is there.

    Several may share one `web`.
    """
    match target:
        case Reference() | LayoutReference():
            async with transports.open_store(target, access, web=web, write=True) as store:
                await transfer.copy(source, store, root, tag=target.tag or "", report=report)
            return root
        case ArchiveReference():
            await _send_archive(source, root, target, report)
            return root
        case DockerArchiveReference():
            image = await transports.look_at(source, root, access)
            names = [target.name] if target.name is not None else []
            await docker_archive.write(source, image, names, transports.local_path(target.file))
            report(Step(image.descriptor, Outcome.SENT))
            return image.descriptor
        case EngineReference():
            from olmkit.edges.images import docker_engine

            image = await transports.look_at(source, root, access)
            await docker_engine.load(source, image, target.name)
            report(Step(image.descriptor, Outcome.SENT))
            return image.descriptor


async def _send_archive(
    source: Store, root: Descriptor, target: ArchiveReference, report: Report
) -> None:
    path = transports.local_path(target.file)
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".olmkit-") as name:
            layout = Layout(Path(name))
            await transfer.copy(source, layout, root, tag=target.tag or "", report=report)
            with temporary(path) as stream:
                _pack(Path(name), stream)
    except FileNotFoundError:
        raise RemoteError(f"cannot write `{path}`: its folder does not exist") from None
    except OSError as error:
        raise disk_error(path, error) from error


def _pack(folder: Path, stream: BinaryIO) -> None:
    """The files of a layout as an archive that is the same on every run."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        size = path.stat().st_size
        stream.write(layer.header(path.relative_to(folder).as_posix(), size=size))
        with path.open("rb") as content:
            shutil.copyfileobj(content, stream)
        stream.write(layer.padding(size))
    stream.write(layer.END)
