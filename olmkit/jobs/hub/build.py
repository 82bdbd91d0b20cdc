"""A hub in a folder: its files are made one after the other and put in place at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from olmkit.base import tree
from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import ChangeKind
from olmkit.edges import disk, paths
from olmkit.edges.next_folder import NextFolder
from olmkit.hub import feeds, news
from olmkit.hub.builds import build_record
from olmkit.hub.builds.build_record import Earlier
from olmkit.hub.builds.files import INDEX_DATA, HubFile, HubFiles, Look
from olmkit.hub.looks import text
from olmkit.hub.news import Moment
from olmkit.jobs.hub import sources
from olmkit.jobs.hub.options import SourceOptions

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """`title` is that of the hub; empty: the names of the catalogs.

    `base_url` is where the hub is published; empty: not known. `packed`: large texts are
    written a second time, compressed with gzip. With `dry_run`, nothing is written. `previous` is
    the directory or the `index.json` of an earlier build, for changes; `time` that of this one.
    `image_link` is the address of what is known of an image, with `{image}` for its reference.
    """

    title: str = ""
    base_url: str = ""
    packed: bool = False
    dry_run: bool = False
    previous: Path | None = None
    time: str = ""
    image_link: str = ""
    source: SourceOptions = field(default_factory=SourceOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What was written. `changes`: path → what happened to the file.

    `rendered` pages are those of packages that changed, and of lists. `failed`: what cannot be
    shown, in words.
    """

    folder: Path
    changes: Mapping[str, ChangeKind]
    packages: int
    pages: int
    files: int
    rendered: int
    failed: tuple[str, ...]


async def build(
    references: Sequence[str], folder: Path, options: BuildOptions, access: Access
) -> Built:
    """Write the pages of the catalogs into `folder`, at one moment where the system can.

    Raises `InputError` when a catalog cannot be read, or when `folder` has other files.
    """
    base_url = _base_url(options.base_url)
    moment = Moment(earlier=_previous(options.previous), time=_time(options.time))
    found = await sources.read(references, options.source, access)
    title = options.title or ", ".join(one.name for one in found)
    earlier = _earlier(folder)
    files = HubFiles(
        found,
        Look(
            title=title,
            base_url=base_url,
            packed=options.packed,
            image_link=_image_link(options.image_link),
        ),
        earlier,
        lambda path, digest: _digest(folder, path) == digest,
        moment,
    )
    with nullcontext() if options.dry_run else NextFolder(folder) as target:
        changes: dict[str, ChangeKind] = {}
        made = set()
        for path, data in files:
            made.add(path)
            _write(HubFile(path, data), folder, target, changes)
        _write(HubFile(build_record.FILE, files.record()), folder, target, changes)
        made.add(build_record.FILE)
        gone = [path for path in earlier.files if path not in made and _is_there(folder, path)]
        changes |= dict.fromkeys(gone, ChangeKind.REMOVE)
        if target is not None:
            target.finish(gone)
    return Built(
        folder=folder,
        changes=dict(sorted(changes.items())),
        packages=sum(len(one.catalog.packages) for one in found),
        pages=files.pages,
        files=len(made),
        rendered=files.rendered,
        failed=files.report(),
    )


def _base_url(written: str) -> str:
    """The address with a slash at its end. Raises `ConfigurationError` when it is not one."""
    is_address = text.link(written) and not written.startswith("mailto:")
    if written and (not is_address or "?" in written or "#" in written):
        raise ConfigurationError(
            f"`{written}` is not the address of a website",
            hint="write it like `https://example.com/operators/`",
        )
    return f"{written.rstrip('/')}/" if written else ""


def _image_link(written: str) -> str:
    """Raises `ConfigurationError` when it is not an address with a place for an image."""
    if written and ("{image}" not in written or not text.link(written.replace("{image}", "x"))):
        raise ConfigurationError(
            f"`{written}` is not an address with `{{image}}`",
            hint="write it like `https://scans.example.com/?image={image}`",
        )
    return written


def _previous(path: Path | None) -> news.Earlier | None:
    """Return the list of the earlier build, which is a file or in a directory."""
    if path is None:
        return None
    file = path / INDEX_DATA if paths.is_folder(path) else path
    return news.parse(disk.read_file(file), str(file))


def _time(written: str) -> str:
    """Return the time as RFC 3339 writes it. Raises `ConfigurationError` when it is not one."""
    found = feeds.timestamp(written) if written else ""
    if written and not found:
        raise ConfigurationError(
            f"`{written}` is not a time", hint="write it like `2026-01-31T12:00:00Z`"
        )
    return found


def _earlier(folder: Path) -> Earlier:
    earlier = build_record.parse(disk.read_if_there(folder / build_record.FILE))
    if not earlier.is_hub and paths.matching(folder, "*"):
        raise InputError(
            f"`{folder}` has files that are not of a hub",
            hint="name a new or empty directory",
        )
    return earlier


def _write(
    file: HubFile, folder: Path, target: NextFolder | None, changes: dict[str, ChangeKind]
) -> None:
    if file.data is None:
        return
    found = disk.read_if_there(folder / tree.clean_path(file.path))
    if found == file.data:
        return
    changes[file.path] = ChangeKind.CREATE if found is None else ChangeKind.UPDATE
    if target is not None:
        target.write(file.path, file.data)


def _digest(folder: Path, path: str) -> str:
    data = disk.read_if_there(folder / tree.clean_path(path))
    return build_record.digest_of(data) if data is not None else ""


def _is_there(folder: Path, path: str) -> bool:
    return paths.is_file(folder / tree.clean_path(path))
