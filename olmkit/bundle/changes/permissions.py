"""Describe the permissions that a bundle gains and loses."""

from __future__ import annotations

from collections.abc import Iterator

from olmkit.bundle.changes.change import Area, BundleChange, ChangeLevel
from olmkit.bundle.summary import grants
from olmkit.bundle.summary.grants import Atoms, GrantTarget
from olmkit.bundle.summary.summary import BundleSummary


def compare_permissions(old: BundleSummary, new: BundleSummary) -> Iterator[BundleChange]:
    """Yield new permissions as warnings, as an administrator must agree; others as information."""
    before, after = grants.atoms(old.grants), grants.atoms(new.grants)
    gained, lost = grants.find_uncovered(after, before), grants.find_uncovered(before, after)
    for target, verbs in _merge(gained):
        is_far = grants.is_far_reaching(target, verbs)
        yield BundleChange(
            area=Area.PERMISSIONS,
            rule="permission-added",
            message=f"may now {grants.describe_verbs(verbs)} {target}"
            + (" (far-reaching)" if is_far else ""),
            level=ChangeLevel.WARNS,
            new=sorted(verbs),
        )
    for target, verbs in _merge(lost):
        yield BundleChange(
            area=Area.PERMISSIONS,
            rule="permission-removed",
            message=f"may no longer {grants.describe_verbs(verbs)} {target}",
            old=sorted(verbs),
        )
    for account in sorted(set(new.accounts) - set(old.accounts)):
        yield BundleChange(
            area=Area.PERMISSIONS,
            rule="service-account-added",
            message=f"runs as the service account `{account}`, too",
            new=account,
        )
    for account in sorted(set(old.accounts) - set(new.accounts)):
        yield BundleChange(
            area=Area.PERMISSIONS,
            rule="service-account-removed",
            message=f"no longer runs as the service account `{account}`",
            old=account,
        )


def _merge(atoms: Atoms) -> Iterator[tuple[GrantTarget, frozenset[str]]]:
    """Yield the permissions without those that a wider permission covers."""
    for target, verbs in atoms.items():
        covered = {
            verb
            for other, allowed in atoms.items()
            if other != target and other.covers(target)
            for verb in allowed
        }
        left = frozenset() if "*" in covered else verbs - covered
        if left:
            yield target, left
