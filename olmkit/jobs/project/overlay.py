"""Overlays of a project, rendered: the manifests that a kustomization describes.

Reading is bounded by the project's folder: a link that leaves it is refused.
What is not supported of kustomize is an error with its place, so that nothing
differs silently.
"""

from __future__ import annotations

import errno
from pathlib import Path

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, Diagnostic, InputError
from olmkit.base.documents import Document
from olmkit.edges import disk, paths
from olmkit.project.kustomize import build as kustomize

DEFAULT = "config/default"

# A stream of manifests; larger ones do not belong to an operator.
MAX_INPUT_SIZE = 64 * 1024 * 1024


def render(
    project: Path, overlay: str = DEFAULT, *, findings: list[Diagnostic] | None = None
) -> tuple[Document, ...]:
    """The objects of an overlay of a project, in the order in which they are applied.

    `overlay` is a folder seen from the project; `findings` takes warnings. Raises
    `ConfigurationError` when it is not there or has no kustomization, `InputError` for what
    cannot be rendered.
    """
    folder = project / overlay
    inner = inside(project, folder)
    if inner is None:
        raise ConfigurationError(
            f"`{folder}` is outside the project",
            hint="name the project with `-C`, and give the overlay relative to it",
        )
    if not paths.is_folder(folder):
        raise ConfigurationError(
            f"`{folder}` is not a folder",
            hint="run it in the project's folder or name that with `-C`, and the overlay as it is "
            "seen from there",
        )
    if not kustomize.is_overlay(reader(project), inner):
        raise ConfigurationError(
            f"`{folder}` has no kustomization file",
            hint=f"name a folder with one, such as `{DEFAULT}`",
        )
    return kustomize.render(
        reader(project), inner, shown=lambda path: str(project / path), findings=findings
    )


def stream(rendered: tuple[Document, ...]) -> bytes:
    """The objects as one YAML stream, byte for byte as kustomize writes it."""
    return documents.dump_all(document.value for document in rendered)


def reader(project: Path) -> kustomize.Reader:
    """Reads files of a project by their path in it; None for what is not there."""

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
    """`path` relative to the project, `None` when it lies elsewhere."""
    try:
        return paths.resolved(path).relative_to(paths.resolved(project)).as_posix()
    except ValueError:
        return None
