"""What the checks of bundles and of catalogs share: how images are had, what a check gives.

Both are named as folders or as images. Images are pulled before the work begins, so that the
checks themselves need no network; one that cannot be had is an entry with its error.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from olmkit.base import diagnostics as judgement
from olmkit.base.diagnostics import Diagnostic, OlmkitError, Severity
from olmkit.base.tree import Tree
from olmkit.edges import paths

Pulled = Mapping[str, Tree | OlmkitError]
"""The files of images by reference, or why they cannot be had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationResult:
    """What was found in one bundle or catalog, or why it could not be read."""

    reference: str
    name: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    error: OlmkitError | None = None

    @property
    def passed(self) -> bool:
        return self.error is None and not judgement.has_errors(self.diagnostics)

    def count(self, severity: Severity) -> int:
        return sum(found.severity is severity for found in self.diagnostics)


def are_folders(references: Sequence[str]) -> bool:
    """Return whether all are on the disk, so that nothing has to be pulled."""
    return all(paths.exists(Path(name)) for name in references)


async def pull(references: Sequence[str], read: Callable[[str], Awaitable[Tree]]) -> Pulled:
    """Return the files of those that are images, as `read` has them."""
    pulled: dict[str, Tree | OlmkitError] = {}
    for name in references:
        if name in pulled or are_folders((name,)):
            continue
        try:
            pulled[name] = await read(name)
        except OlmkitError as error:
            pulled[name] = error
    return pulled
