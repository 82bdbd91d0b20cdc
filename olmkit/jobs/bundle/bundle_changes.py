"""The changes below each folder that a generated bundle writes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from olmkit.base import findings
from olmkit.base.diagnostics import Diagnostic
from olmkit.base.tree import Change, Changes, Tree, diff
from olmkit.bundle import layout, metadata
from olmkit.bundle.generation import generated_files
from olmkit.bundle.generation.generate import GeneratedBundle
from olmkit.edges import disk, paths
from olmkit.jobs.project import overlay

ANNOTATIONS = f"{layout.DEFAULT_METADATA}/{layout.ANNOTATIONS_FILE}"
DEFAULT_OUTPUT = "bundle"
_CONTAINERFILE = "bundle.Dockerfile"


@dataclass(slots=True, kw_only=True)
class BundleChanges:
    """The changes below each folder, and messages about them."""

    project: Path
    output: Path
    parts: list[tuple[Path, Changes]] = field(default_factory=list)
    notes: list[Diagnostic] = field(default_factory=list)

    def add_manifests(
        self, result: GeneratedBundle, annotations: bytes | None, found: Tree
    ) -> None:
        """Add the manifests and a record of all files; remove other files of an earlier run."""
        files = result.files()
        untouched, changed = generated_files.find_stale(found, (*files, ANNOTATIONS))
        recorded = files if annotations is None else {**files, ANNOTATIONS: annotations}
        files[generated_files.FILE] = generated_files.text(recorded)
        self.parts.append((self.output, diff(Tree(files), found, stale=untouched)))
        self.notes += [
            findings.create(
                "PRJ117",
                f"`{self.output / name}` is no longer generated, but is kept because it was edited",
                hint="remove it if the bundle does not need it",
            )
            for name in sorted(changed)
        ]

    def add_metadata(self, values: Mapping[str, str], annotations: bytes, found: Tree) -> None:
        """Add the annotations, and the Containerfile with the same labels."""
        self.parts.append((self.output, diff(Tree({ANNOTATIONS: annotations}), found)))
        folder, directory = _containerfile_place(self.project, self.output)
        path = folder / _CONTAINERFILE
        existing = Tree({_CONTAINERFILE: disk.read_file(path)}) if paths.exists(path) else Tree()
        data = existing.data(_CONTAINERFILE) if existing else None
        wanted = Tree({_CONTAINERFILE: metadata.containerfile(values, directory, data)})
        self.parts.append((folder, diff(wanted, existing)))


def _containerfile_place(project: Path, output: Path) -> tuple[Path, str]:
    """Return the folder of the Containerfile, and the bundle's path relative to it.

    For the default bundle folder, it is in the project's folder, where Makefiles expect it. For any
    other folder, it is in that folder.
    """
    inside = overlay.inside(project, output)
    return (project, inside) if inside == DEFAULT_OUTPUT else (output, "")


def changes_of_parts(parts: Sequence[tuple[Path, Changes]]) -> Changes:
    changes = [
        Change(change.kind, str(root / change.path), change.wanted, change.found)
        for root, part in parts
        for change in part
    ]
    return Changes(tuple(sorted(changes, key=lambda change: change.path)))
