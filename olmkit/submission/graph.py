"""The upgrade graph of an operator from its CSVs, for catalogs that are built from bundles.

Source: `operator_repo` of the pipelines of OpenShift's catalogs. In semver mode, each version
replaces the previous one; else `replaces`, `skips` and `olm.skipRange` are the edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from olmkit.base.versions import InvalidRangeError, Version, VersionRange
from olmkit.submission.operators import SEMVER_MODE, Operator, VersionFolder

Edges = Mapping[str, frozenset[str]]
"""The folders of the versions that can follow each folder's version."""


def channels(operator: Operator) -> tuple[str, ...]:
    """Return the channels of all versions, including default channels, sorted."""
    found = {name for version in operator.versions for name in version.channels}
    found |= {v.default_channel for v in operator.versions if v.default_channel}
    return tuple(sorted(found))


def members(operator: Operator, channel: str) -> tuple[VersionFolder, ...]:
    """Return the versions of a channel, oldest first."""
    found = [version for version in operator.versions if channel in version.channels]
    return tuple(sorted(found, key=lambda version: version.order))


def find(versions: Sequence[VersionFolder], name: str) -> VersionFolder | None:
    """Return the version with this CSV name; else the one whose name has the same version."""
    for version in versions:
        if version.name == name:
            return version
    number = name.partition(".")[2].removeprefix("v")
    same = (version for version in versions if number and version.number == number)
    return next(same, None)


def edges(operator: Operator, channel: str) -> Edges:
    """Return the edges of one channel, from each version to those that can follow it."""
    versions = members(operator, channel)
    found: dict[str, set[str]] = {}
    if operator.update_mode == SEMVER_MODE:
        for old, new in pairwise(versions):
            found.setdefault(old.folder, set()).add(new.folder)
    else:
        by_name = {version.name: version for version in versions}
        by_number = {version.number: version for version in versions if version.number}
        for new in versions:
            for name in (new.replaces, *new.skips):
                number = name.partition(".")[2].removeprefix("v")
                replaced = by_name.get(name) or by_number.get(number)
                if replaced is not None:
                    found.setdefault(replaced.folder, set()).add(new.folder)
            for skipped in _find_skipped(new, versions):
                found.setdefault(skipped.folder, set()).add(new.folder)
    return {folder: frozenset(following) for folder, following in found.items()}


def _find_skipped(new: VersionFolder, versions: Sequence[VersionFolder]) -> Iterator[VersionFolder]:
    """Yield the other versions in the skip range."""
    if not new.skip_range:
        return
    try:
        accepted = VersionRange.parse(new.skip_range)
    except InvalidRangeError:
        return
    for old in versions:
        number = Version.read(old.version or old.number)
        if old is not new and number is not None and number in accepted:
            yield old


def loop(found: Edges) -> tuple[str, ...]:
    """Return the folders of one loop, in the order of upgrading; empty if there is none."""
    done: set[str] = set()
    for start in sorted(found):
        path: list[str] = []
        on_path: dict[str, int] = {}
        stack: list[Iterator[str]] = [iter((start,))]
        while stack:
            following = next(stack[-1], None)
            if following is None:
                stack.pop()
                if path:
                    del on_path[path[-1]]
                    done.add(path.pop())
            elif following in on_path:
                return tuple(path[on_path[following] :])
            elif following not in done:
                on_path[following] = len(path)
                path.append(following)
                stack.append(iter(sorted(found.get(following, ()))))
    return ()
