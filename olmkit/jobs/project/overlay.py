"""Render overlays of a project to manifests or to a Helm chart.

Only files in the project's folder are read: a link that leaves it is an error. Unsupported features
of kustomize are errors with their place, so that the output never differs silently.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from pathlib import Path

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, Diagnostic, InputError
from olmkit.base.documents import Document
from olmkit.base.tree import Changes, Tree, diff
from olmkit.edges import disk, paths
from olmkit.kube import rollout
from olmkit.kube.objects import Manifest
from olmkit.oci.reference import Reference
from olmkit.project import chart
from olmkit.project.chart import ChartRequest
from olmkit.project.kustomize import build as kustomize

DEFAULT = "config/default"
_CATALOGS = "`olmkit catalog render` renders catalogs and bundles"

# The limit of a manifest stream; an operator's is smaller.
MAX_INPUT_SIZE = 64 * 1024 * 1024


def render(
    project: Path, overlay: str = DEFAULT, *, findings: list[Diagnostic] | None = None
) -> tuple[Document, ...]:
    """Render the objects of an overlay, in the order in which they are applied.

    `overlay` is a folder relative to the project; `findings` collects warnings. Raises
    `ConfigurationError` if it does not exist or has no kustomization, and `InputError` if it cannot
    be rendered.
    """
    folder = project / overlay
    inner = inside(project, folder)
    if inner is None:
        raise ConfigurationError(
            f"`{folder}` is outside the project",
            hint=f"name the project with `-C`, and give the overlay relative to it; {_CATALOGS}",
        )
    if not paths.is_folder(folder):
        raise ConfigurationError(
            f"`{folder}` is not a folder",
            hint="run it in the project's folder or name that with `-C`, and the overlay as it is "
            f"seen from there; {_CATALOGS}",
        )
    if not kustomize.is_overlay(reader(project), inner):
        raise ConfigurationError(
            f"`{folder}` has no kustomization file",
            hint=f"name a folder with one, such as `{DEFAULT}`; {_CATALOGS}",
        )
    return kustomize.render(
        reader(project), inner, shown=lambda path: str(project / path), findings=findings
    )


def with_image(rendered: tuple[Document, ...], image: str) -> tuple[Manifest, ...]:
    """Return the objects of an overlay with `image` for the operator, unless it is empty.

    Raises `ConfigurationError` for an invalid image, and if the objects have no operator container.
    """
    found = tuple(document.value for document in rendered)
    if not image:
        return found
    Reference.parse(image)
    return rollout.with_image(found, image)


def write_stream(
    project: Path, file: Path, found: Iterable[Manifest], *, dry_run: bool = False
) -> Changes:
    """Write the objects to one file as a YAML stream, and create its parent folders."""
    place = project / file
    if paths.is_folder(place):
        raise ConfigurationError(f"`{place}` is a folder", hint="name a file in it")
    root, prefix = _root(project, place.parent)
    name = f"{prefix}{place.name}"
    present = {name: disk.read_file(place)} if paths.exists(place) else {}
    changes = diff(Tree({name: stream(found)}), Tree(present))
    if not dry_run:
        disk.apply(root, changes)
    return changes


def write_chart(
    project: Path,
    folder: Path,
    found: Iterable[Manifest],
    request: ChartRequest,
    *,
    dry_run: bool = False,
) -> Changes:
    """Write a Helm chart that installs the objects to a folder, which is created if needed.

    Files without the line that marks them as generated belong to the author and are not changed.
    Raises like `chart.chart`, and `ConfigurationError` for a folder with other files and no chart.
    """
    place = project / folder
    if paths.exists(place) and not paths.is_folder(place):
        raise ConfigurationError(f"`{place}` is not a folder")
    present = _files(place)
    if present and "Chart.yaml" not in present:
        raise ConfigurationError(
            f"`{place}` is not empty and has no `Chart.yaml`", hint="name a separate folder"
        )
    wanted = chart.chart(found, request)
    generated = {path for path in present if chart.is_generated(present.data(path))}
    written = {path: wanted[path] for path in wanted if path not in present or path in generated}
    stale = generated - set(wanted)
    existing = {path: present[path] for path in present if path in {*written, *stale}}
    root, prefix = _root(project, place)
    changes = diff(
        Tree({f"{prefix}{path}": file for path, file in written.items()}),
        Tree({f"{prefix}{path}": file for path, file in existing.items()}),
        stale=frozenset(f"{prefix}{path}" for path in stale),
    )
    if not dry_run:
        disk.apply(root, changes)
    return changes


def _root(project: Path, place: Path) -> tuple[Path, str]:
    """Return the base of paths in messages (the project, if the folder is in it), and a prefix.

    The prefix is the folder relative to the base; it is empty or ends with a slash.
    """
    inner = inside(project, place)
    if inner is None:
        return place, ""
    return project, "" if inner == "." else f"{inner}/"


def _files(folder: Path) -> Tree:
    """Return the files of a chart's folder, without links and files too large to be generated."""
    if not paths.exists(folder):
        return Tree()
    found = {}
    for path in disk.files_of(folder):
        data = disk.read_file(path, limit=MAX_INPUT_SIZE)
        found[path.relative_to(folder).as_posix()] = data
    return Tree(found)


def stream(found: Iterable[Manifest]) -> bytes:
    """Return the objects as one YAML stream, byte for byte like kustomize."""
    return documents.dump_all(found)


def reader(project: Path) -> kustomize.Reader:
    """Return a function that reads files of a project by path, and returns None if missing."""

    def read(path: str) -> bytes | None:
        file = project / path
        try:
            if not paths.is_file(file):
                return None
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return None
            raise disk.disk_error(file, error) from error
        if not paths.is_within(file, project):
            raise InputError(f"`{file}` is a link that leaves `{project}`")
        return disk.read_file(file, limit=MAX_INPUT_SIZE)

    return read


def inside(project: Path, path: Path) -> str | None:
    """Return `path` relative to the project, or `None` if it is outside."""
    try:
        return paths.resolve(path).relative_to(paths.resolve(project)).as_posix()
    except ValueError:
        return None
