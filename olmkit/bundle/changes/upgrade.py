"""Check whether a bundle follows another one: package, version, and the edges in its CSV.

In a catalog, the entries of the channels decide, not the CSV; `bundle` commands and templates
create the entries from the CSV.
"""

from __future__ import annotations

from collections.abc import Iterator

from olmkit.base.versions import InvalidRangeError, Version, VersionRange
from olmkit.bundle.changes.change import GENERATIONS, V0, V1, Area, BundleChange, ChangeLevel
from olmkit.bundle.summary.summary import BundleSummary


def compare_upgrade(old: BundleSummary, new: BundleSummary) -> Iterator[BundleChange]:
    """Yield the reasons why OLM does not upgrade from the old bundle to the new one."""
    if old.package != new.package:
        yield BundleChange(
            area=Area.UPGRADE,
            rule="package-changed",
            message=f"the package changes from `{old.package}` to `{new.package}`: a bundle "
            "cannot upgrade a bundle of another package",
            level=ChangeLevel.BLOCKS,
            old=old.package,
            new=new.package,
        )
    if old.name == new.name:
        yield BundleChange(
            area=Area.UPGRADE,
            rule="same-name",
            message=f"both bundles have the name `{new.name}`: OLM v0 installs a name once",
            level=ChangeLevel.BLOCKS,
            olm=(V0,),
            hint="give the new bundle a new version and name",
        )
    else:
        yield from _compare_edges(old, new)
    yield from _compare_versions(old, new)


def _compare_versions(old: BundleSummary, new: BundleSummary) -> Iterator[BundleChange]:
    before, after = Version.read(old.version), Version.read(new.version)
    if before is None or after is None:
        return
    is_same = old.version == new.version and old.release == new.release
    if after < before or is_same:
        yield BundleChange(
            area=Area.UPGRADE,
            rule="version-not-higher",
            message=f"the version `{new.version}` is "
            + ("the same as before" if is_same else f"lower than `{old.version}`")
            + ": OLM v1 installs the highest version",
            level=ChangeLevel.BLOCKS,
            olm=(V1,),
            old=old.version,
            new=new.version,
            hint="give the new bundle a higher version",
        )


def _compare_edges(old: BundleSummary, new: BundleSummary) -> Iterator[BundleChange]:
    by = edge(old, new)
    if by:
        yield BundleChange(
            area=Area.UPGRADE,
            rule="upgrade-edge",
            message=f"`{new.name}` upgrades `{old.name}`, by its `{by}`",
            new=by,
        )
        return
    named = ", ".join(
        f"`{key}: {value}`"
        for key, value in (
            ("replaces", new.replaces),
            ("skips", ", ".join(new.skips)),
            ("skipRange", new.skip_range),
        )
        if value
    )
    yield BundleChange(
        area=Area.UPGRADE,
        rule="no-upgrade-edge",
        message=f"the CSV does not declare an upgrade from `{old.name}`"
        + (f" (it has {named})" if named else ""),
        level=ChangeLevel.WARNS,
        olm=GENERATIONS,
        hint=f"set `spec.replaces: {old.name}`, or the annotation `olm.skipRange`, unless the "
        "catalog has the edge",
    )


def edge(old: BundleSummary, new: BundleSummary) -> str:
    """Return the field by which the new bundle follows the old one; empty if there is none."""
    if new.replaces and new.replaces == old.name:
        return "replaces"
    if old.name in new.skips:
        return "skips"
    version = Version.read(old.version)
    if new.skip_range and version is not None:
        try:
            if version in VersionRange.parse(new.skip_range):
                return "olm.skipRange"
        except InvalidRangeError:
            return ""
    return ""
