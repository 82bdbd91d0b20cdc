"""Build a hub in a folder: write its files, then replace the folder in one step."""

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
    """The options of a build; the default `title` is the names of the catalogs.

    `base_url` is the URL of the published hub; empty if unknown. `packed`: also write large text
    files compressed with gzip. With `dry_run`, nothing is written. `previous` is the directory or
    the `index.json` of an earlier build, to find changes; `time` is that of this build.
    `image_link` is the URL of a page about an image, with `{image}` for its reference.
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
    """The written files. `changes`: path → change of the file.

    `rendered` are the pages of changed packages, and lists. `failed`: messages about parts that
    cannot be shown.
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
    """Write the pages of the catalogs to `folder`, in one step if the system supports it.

    Raises `InputError` if a catalog cannot be read, or if `folder` has other files.
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
        removed = [path for path in earlier.files if path not in made and _is_there(folder, path)]
        changes |= dict.fromkeys(removed, ChangeKind.REMOVE)
        if target is not None:
            target.finish(removed)
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
    """Return the URL with a slash at its end, or raise `ConfigurationError`."""
    is_address = text.link(written) and not written.startswith("mailto:")
    if written and (not is_address or "?" in written or "#" in written):
        raise ConfigurationError(
            f"`{written}` is not the address of a website",
            hint="write it like `https://example.com/operators/`",
        )
    return f"{written.rstrip('/')}/" if written else ""


def _image_link(written: str) -> str:
    """Raise `ConfigurationError` if it is not a URL with a placeholder for an image."""
    if written and ("{image}" not in written or not text.link(written.replace("{image}", "x"))):
        raise ConfigurationError(
            f"`{written}` is not an address with `{{image}}`",
            hint="write it like `https://scans.example.com/?image={image}`",
        )
    return written


def _previous(path: Path | None) -> news.Earlier | None:
    """Return the index of the earlier build from a file or a directory."""
    if path is None:
        return None
    file = path / INDEX_DATA if paths.is_folder(path) else path
    return news.parse(disk.read_file(file), str(file))


def _time(written: str) -> str:
    """Return the time in RFC 3339, or raise `ConfigurationError`."""
    found = feeds.timestamp(written) if written else ""
    if written and not found:
        raise ConfigurationError(
            f"`{written}` is not a time", hint="write it like `2026-01-31T12:00:00Z`"
        )
    return found


def _earlier(folder: Path) -> Earlier:
    earlier = build_record.parse(disk.read_if_there(folder / build_record.FILE))
    if not earlier.is_hub and paths.match_entries(folder, "*"):
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
