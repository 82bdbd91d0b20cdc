"""Targets of images: every kind of reference that a user may name.

Registries and layout folders receive pieces; archives and engines receive a whole file, which is
built next to its final path and then renamed. A target with only one platform gets the requested
one.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from olmkit.base.diagnostics import OlmkitError, RemoteError
from olmkit.edges.disk import disk_error
from olmkit.edges.images import attached, docker_archive, transfer, transports
from olmkit.edges.images.layout import Layout, temporary
from olmkit.edges.images.transfer import Report, TransferOutcome, TransferStep, silent
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
from olmkit.oci.referrers import Referrer
from olmkit.oci.store import ImageStore

if TYPE_CHECKING:
    from olmkit.edges.network.web import Web


@dataclass(frozen=True, slots=True)
class Sent:
    """An image in the target, and the copied manifests that refer to it."""

    root: Descriptor
    referrers: tuple[Referrer, ...] = ()


async def send(
    source: ImageStore,
    root: Descriptor,
    target: ImageReference,
    access: Access,
    report: Report = silent,
    *,
    web: Web | None = None,
) -> Descriptor:
    """Copy the image `root` of `source` to `target`; return the copied image.

    Several calls may share one `web`.
    """
    return (await _send(source, root, target, access, _Carrier(report), web=web)).root


async def send_with_referrers(
    source: ImageStore,
    root: Descriptor,
    target: ImageReference,
    access: Access,
    report: Report = silent,
) -> Sent:
    """Like `send`, with the signatures and other manifests that refer to the image.

    Docker archives and engines cannot store them.
    """
    return await _send(source, root, target, access, _Carrier(report, with_referrers=True))


@dataclass(frozen=True, slots=True)
class _Carrier:
    """Copies images into a store."""

    report: Report
    with_referrers: bool = False

    async def carry(
        self, source: ImageStore, store: ImageStore, root: Descriptor, tag: str | None
    ) -> tuple[Referrer, ...]:
        await transfer.copy(source, store, root, tag=tag or "", report=self.report)
        if not self.with_referrers:
            return ()
        return await attached.copy(source, store, root, report=self.report)


async def _send(
    source: ImageStore,
    root: Descriptor,
    target: ImageReference,
    access: Access,
    carrier: _Carrier,
    *,
    web: Web | None = None,
) -> Sent:
    match target:
        case LayoutReference():
            with _resumable(target.folder, carrier) as resumed:
                async with transports.open_store(target, access, web=web, write=True) as store:
                    return Sent(root, await resumed.carry(source, store, root, target.tag))
        case Reference():
            async with transports.open_store(target, access, web=web, write=True) as store:
                return Sent(root, await carrier.carry(source, store, root, target.tag))
        case ArchiveReference():
            return Sent(root, await _send_archive(source, root, target, carrier))
        case DockerArchiveReference():
            image = await transports.select_image(source, root, access)
            names = [target.name] if target.name is not None else []
            await docker_archive.write(source, image, names, transports.local_path(target.file))
            carrier.report(TransferStep(image.descriptor, TransferOutcome.SENT))
            return Sent(image.descriptor)
        case EngineReference():
            from olmkit.edges.images import docker_engine

            image = await transports.select_image(source, root, access)
            await docker_engine.load(source, image, target.name)
            carrier.report(TransferStep(image.descriptor, TransferOutcome.SENT))
            return Sent(image.descriptor)


@contextmanager
def _resumable(folder: str, carrier: _Carrier) -> Iterator[_Carrier]:
    """Add to an error that received content is kept in a layout, so it is not copied twice."""
    sent = False

    def report(step: TransferStep) -> None:
        nonlocal sent
        sent = sent or step.outcome is TransferOutcome.SENT
        carrier.report(step)

    try:
        yield replace(carrier, report=report)
    except OlmkitError as error:
        if sent:
            kept = f"`{folder}` keeps what has arrived; run the same command again to continue"
            error.hint = f"{error.hint}; {kept}" if error.hint else kept
        raise


async def _send_archive(
    source: ImageStore, root: Descriptor, target: ArchiveReference, carrier: _Carrier
) -> tuple[Referrer, ...]:
    path = transports.local_path(target.file)
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".olmkit-") as name:
            layout = Layout(Path(name))
            found = await carrier.carry(source, layout, root, target.tag)
            with temporary(path) as stream:
                _pack(Path(name), stream)
            return found
    except FileNotFoundError:
        raise RemoteError(f"cannot write `{path}`: its folder does not exist") from None
    except OSError as error:
        raise disk_error(path, error) from error


def _pack(folder: Path, stream: BinaryIO) -> None:
    """Pack the files of a layout into an archive that is the same on every run."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        size = path.stat().st_size
        stream.write(layer.header(path.relative_to(folder).as_posix(), size=size))
        with path.open("rb") as content:
            shutil.copyfileobj(content, stream)
        stream.write(layer.padding(size))
    stream.write(layer.END)
