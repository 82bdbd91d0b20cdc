"""Write the files of a bundle image to a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from olmkit.base import tree as trees
from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import Changes, Tree
from olmkit.bundle import image, layout, metadata, model
from olmkit.edges import disk, paths, whole_folder

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access

CONTAINERFILE: Final = "bundle.Dockerfile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """The folder and the changes in it; `pinned` is the pinned image, empty for a folder."""

    folder: Path
    pinned: str
    changes: Changes


async def unpack(
    reference: str, folder: Path, access: Access, *, force: bool = False, dry_run: bool = False
) -> Unpacked:
    """Write the files of a bundle to `folder`, either all or none.

    With `force`, the folder may exist; files of another bundle in it are removed, all other files
    stay. Raises `ConfigurationError` if the folder has files, and `InputError` if the reference is
    not a bundle.
    """
    from olmkit.edges.images import transports

    before = _read_existing(folder, force=force)
    found = await transports.read_bundle_tree(reference, access)
    wanted = files(found.tree, reference, dict(found.labels))
    stale = frozenset(path for path in before if _is_ours(path, wanted))
    changes = trees.diff(wanted, before, stale=stale)
    _check_links(folder, wanted)
    if not dry_run:
        whole_folder.apply(folder, changes)
    return Unpacked(folder=folder, pinned=found.pinned, changes=changes)


def _read_existing(folder: Path, *, force: bool) -> Tree:
    """Return the files in the folder; raise `ConfigurationError` if it must not be changed."""
    if paths.is_file(folder) or (paths.is_link(folder) and not paths.exists(folder)):
        raise ConfigurationError(f"`{folder}` is not a folder")
    if not paths.is_folder(folder):
        return Tree()
    if not force and paths.entries(folder):
        raise ConfigurationError(
            f"the folder `{folder}` is not empty",
            hint="name a new folder, or pass `--force` to overwrite the bundle in it",
        )
    return disk.read_tree(folder)


def _check_links(folder: Path, desired: Tree) -> None:
    """Raise an error for links: their targets may be outside of the folder."""
    for path in desired:
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            one = folder.joinpath(*parts[:end])
            if paths.is_link(one):
                raise ConfigurationError(
                    f"`{one}` is a link, and olmkit does not follow links when it writes",
                    hint="remove the link, or pass another folder",
                )


def files(tree: Tree, reference: str, labels: dict[str, str]) -> Tree:
    """Return the files of a bundle with a Containerfile that builds the image again.

    Raises `InputError` when there is no bundle in the tree.
    """
    bundle = layout.read(tree, reference)
    wanted = image.files(bundle)
    if CONTAINERFILE in tree:
        return wanted.merge({CONTAINERFILE: tree[CONTAINERFILE]})
    values = {**_bundle_labels(labels), **bundle.annotations}
    return wanted.merge({CONTAINERFILE: metadata.containerfile(values, "")})


def _bundle_labels(labels: dict[str, str]) -> dict[str, str]:
    """Return the labels of an image that describe the bundle."""
    return {
        key: value
        for key, value in sorted(labels.items())
        if key.startswith((model.ANNOTATION_PREFIX, "com.redhat."))
    }


def _is_ours(path: str, desired: Tree) -> bool:
    """Return whether a file is in a folder that contains only bundle files."""
    tops = {one.partition("/")[0] for one in desired if "/" in one}
    return "/" in path and path.partition("/")[0] in tops
