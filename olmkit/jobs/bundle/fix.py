"""Apply the fixes of rules to the files of bundles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from olmkit.base import tree as trees
from olmkit.base.diagnostics import ConfigurationError, Diagnostic, InputError, OlmkitError
from olmkit.base.tree import Changes, Tree
from olmkit.bundle import layout
from olmkit.edges import disk, paths
from olmkit.jobs.bundle.validate import CheckOptions
from olmkit.rules import engine, fixing


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedBundle:
    """The changes to a bundle, and the number of fixes; with a dry run, what would change."""

    reference: str
    changes: Changes
    count: int


def fix_bundles(
    references: Sequence[str], options: CheckOptions, *, dry_run: bool = False
) -> tuple[FixedBundle, ...]:
    """Apply the fixes to each folder; with `dry_run`, write nothing.

    A bundle that cannot be read is skipped: the check reports it. Raises `ConfigurationError` for
    an image, and `RemoteError` if a file cannot be written.
    """
    rules = options.rules()
    severities = options.chosen_profile.severities
    fixed = []
    for reference in references:
        folder = Path(reference)
        if not paths.is_folder(folder):
            raise ConfigurationError(
                f"`{reference}` is not a folder, so it cannot be fixed",
                hint="fix the folder that the image was built from",
            )

        def judge(tree: Tree, reference: str = reference) -> Sequence[Diagnostic]:
            try:
                bundle = layout.read(tree, reference)
            except InputError:
                return ()
            return engine.run(bundle, rules, facts=options.facts, severities=severities)

        try:
            found = disk.read_tree(folder)
        except OlmkitError:
            continue
        done = fixing.apply_fixes(found, reference, judge)
        changes = trees.diff(done.tree, found)
        if not dry_run:
            disk.apply(folder, changes)
        fixed.append(FixedBundle(reference=reference, changes=changes, count=done.fixes))
    return tuple(fixed)
