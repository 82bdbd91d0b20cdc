"""Compare two bundles, and decide whether OLM can upgrade from one to the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from olmkit.bundle.changes import change as changes
from olmkit.bundle.changes import contents, crds, installation, permissions, upgrade
from olmkit.bundle.changes.change import GENERATIONS, BundleChange, BundleDifference, ComparedBundle
from olmkit.bundle.model import Bundle
from olmkit.bundle.summary import summary
from olmkit.bundle.summary.summary import BundleSummary


def compare_bundles(
    old: Bundle, new: Bundle, *, olm: Iterable[str] = GENERATIONS
) -> BundleDifference:
    """Return the differences for some generations of OLM, or raise `InputError`."""
    wanted = tuple(olm)
    before, after = summary.summarize(old), summary.summarize(new)
    found = changes.for_generations(_changes(old, new, before, after), wanted)
    return BundleDifference(
        old=_side(before), new=_side(after), olm=wanted, changes=changes.sort_changes(found)
    )


def owned_versions(found: BundleSummary) -> crds.Owned:
    """Return the CRDs and versions that a CSV owns."""
    return frozenset((one.name, one.version) for one in found.provided if not one.is_api_service)


def _changes(
    old: Bundle, new: Bundle, before: BundleSummary, after: BundleSummary
) -> Iterator[BundleChange]:
    olds, news = summary.manifests_of(old), summary.manifests_of(new)
    yield from upgrade.compare_upgrade(before, after)
    yield from crds.compare_manifests(olds, news, owned=owned_versions(before))
    yield from permissions.compare_permissions(before, after)
    yield from installation.compare_installation(before, after)
    yield from contents.compare_objects(olds, news)
    yield from contents.compare_contents(before, after)


def _side(found: BundleSummary) -> ComparedBundle:
    return ComparedBundle(
        reference=found.reference,
        name=found.name,
        package=found.package,
        version=found.version,
    )
