"""The changes of a pull request in a repository of operators.

Source: `detect_changed_operators` of the pipelines of OpenShift's catalogs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from olmkit.base.diagnostics import Location
from olmkit.bundle import model
from olmkit.submission.operators import CATALOGS, OPERATORS


class ChangedFile(NamedTuple):
    """A file that differs from the base: `A` added, `M` changed, `D` deleted."""

    status: str
    path: str


Versions = Mapping[str, frozenset[str]]
"""The version folders of each operator."""


@dataclass(frozen=True, kw_only=True)
class ChangeSet:
    """The changed files, and the versions of the changed operators before and after."""

    files: tuple[ChangedFile, ...]
    before: Versions
    after: Versions
    file_based: frozenset[str] = frozenset()
    root: str = ""

    @cached_property
    def operators(self) -> tuple[str, ...]:
        """Return the operators with a changed file, including those only in a catalog, sorted."""
        of_files = {found for f in self.files if (found := _operator(f.path))}
        return tuple(sorted(of_files))

    @cached_property
    def bundles(self) -> Mapping[tuple[str, str], tuple[ChangedFile, ...]]:
        """The changed files of each version of an operator, by operator and version folder."""
        found: dict[tuple[str, str], list[ChangedFile]] = {}
        for changed in self.files:
            parts = changed.path.split("/")
            if len(parts) > 3 and parts[0] == OPERATORS:
                name, version = parts[1], parts[2]
                if version in self.before.get(name, ()) or version in self.after.get(name, ()):
                    found.setdefault((name, version), []).append(changed)
        return {key: tuple(found[key]) for key in sorted(found)}

    @cached_property
    def unrelated(self) -> tuple[ChangedFile, ...]:
        """Return the changed files that belong neither to an operator nor to a catalog."""
        return tuple(changed for changed in self.files if not _operator(changed.path))

    def at(self, path: str) -> Location:
        """Return the place of a changed file."""
        return Location(path=model.join(self.root, path))


def _operator(path: str) -> str:
    parts = path.split("/")
    if len(parts) >= 3 and parts[0] == OPERATORS:
        return parts[1]
    return parts[2] if len(parts) >= 4 and parts[0] == CATALOGS else ""


def operators(files: tuple[ChangedFile, ...]) -> frozenset[str]:
    """Return the operators with a changed file."""
    return frozenset(found for changed in files if (found := _operator(changed.path)))
