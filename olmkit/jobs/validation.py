"""Common parts of checks of bundles and catalogs: pulled images and results.

References are folders or images. Images are pulled before the checks, so that the checks need no
network; an image that cannot be pulled is an entry with its error.
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
"""The files of images by reference, or errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationResult:
    """The findings in one bundle or catalog, or the error why it cannot be read."""

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
    """Return whether all references are local, so that nothing must be pulled."""
    return all(paths.exists(Path(name)) for name in references)


async def pull(references: Sequence[str], read: Callable[[str], Awaitable[Tree]]) -> Pulled:
    """Read the references that are images with `read`; return their files or errors."""
    pulled: dict[str, Tree | OlmkitError] = {}
    for name in references:
        if name in pulled or are_folders((name,)):
            continue
        try:
            pulled[name] = await read(name)
        except OlmkitError as error:
            pulled[name] = error
    return pulled
