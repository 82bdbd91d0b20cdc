"""Apply the fixes of findings to the files of a bundle.

One fix may make another possible, so rules run again until no fix is left. A fix is accepted only
if its file can still be read and there is no new error.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from olmkit.base import fixes as texts
from olmkit.base.diagnostics import Diagnostic, Fix, Severity
from olmkit.base.tree import File, Tree
from olmkit.rules import fixes

Judge = Callable[[Tree], Sequence[Diagnostic]]

_MAX_ROUNDS: Final = 10
_MAX_SINGLE: Final = 200  # fixes that are tried one by one if all of them together cause an error


class FixedFiles(NamedTuple):
    """The files after all fixes, the remaining findings, and the number of applied fixes."""

    tree: Tree
    diagnostics: Sequence[Diagnostic]
    fixes: int


def apply_fixes(tree: Tree, root: str, judge: Judge) -> FixedFiles:
    """Return the files with all fixes of findings of `judge`, whose paths start with `root`."""
    found = judge(tree)
    applied = 0
    for _ in range(_MAX_ROUNDS):
        wanted = [one.fix for one in found if one.fix is not None]
        step = _apply(tree, root, wanted, found, judge) if wanted else None
        if step is None:
            break
        tree, found, done = step
        applied += done
    return FixedFiles(tree, found, applied)


def _apply(
    tree: Tree, root: str, fixes: Sequence[Fix], found: Sequence[Diagnostic], judge: Judge
) -> tuple[Tree, Sequence[Diagnostic], int] | None:
    """Return the next state; None if no fix is allowed or changes anything."""
    step = _with(tree, root, fixes)
    if step is not None:
        after = judge(step)
        if not _errors(after) - _errors(found):
            return step, after, len(fixes)
    current: Tree | None = None
    last = found
    done = 0
    # Later places first, so that earlier ones do not move.
    for fix in sorted(fixes, key=lambda one: (one.at.path, one.at.line or 0), reverse=True)[
        :_MAX_SINGLE
    ]:
        step = _with(current or tree, root, [fix])
        if step is None:
            continue
        after = judge(step)
        if not _errors(after) - _errors(last):
            current, last, done = step, after, done + 1
    return None if current is None else (current, last, done)


def _with(tree: Tree, root: str, wanted: Iterable[Fix]) -> Tree | None:
    """Return the files with the fixes; None if nothing changes, or a file can no longer be read."""
    by_path: Mapping[str, list[Fix]] = defaultdict(list)
    for fix in wanted:
        by_path[_relative(root, fix.at.path)].append(fix)
    changed: dict[str, File] = {}
    for path, listed in by_path.items():
        if path not in tree:
            continue
        old = tree[path]
        data = texts.apply(old.data, listed)
        if data != old.data and (
            fixes.is_intact(data, path) or not fixes.is_intact(old.data, path)
        ):
            changed[path] = old._replace(data=data)
    return tree.merge(changed) if changed else None


def _errors(found: Iterable[Diagnostic]) -> set[tuple[str, str, str]]:
    return {
        (one.rule, one.at.path if one.at else "", one.message)
        for one in found
        if one.severity is Severity.ERROR
    }


def _relative(root: str, path: str) -> str:
    if root in ("", "."):
        return path.removeprefix("./")
    return path.removeprefix(f"{root.rstrip('/')}/")
