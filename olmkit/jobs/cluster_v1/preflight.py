"""Checks that find what OLM v1 or the API server would reject, before anything is written.

`install` and `upgrade` check whether OLM supports the bundle, whether its objects already exist,
whether the service account exists and may create them, and whether the API server accepts the
ClusterExtension.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

from olmkit.base.diagnostics import InputError
from olmkit.base.versions import Version
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster.read import or_default
from olmkit.jobs.cluster_v1 import access_review
from olmkit.kube import objects
from olmkit.kube.api import AlreadyExists, Forbidden, Invalid
from olmkit.kube.objects import Manifest, text
from olmkit.olm import install_objects, kinds
from olmkit.olm.preview import Preview
from olmkit.olm.v1 import crd_upgrades, permissions, support
from olmkit.olm.v1 import extension as extensions
from olmkit.olm.v1.permissions import ExtensionPermissions
from olmkit.olm.v1.state import CONTROLLERS, OWNER_LABEL, SYSTEMS


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The service account that OLM v1 installs with; without a name if it needs none.

    `is_new`: olmkit creates it. `is_extended`: olmkit created it, and grants it what it lacks.
    `is_ignored`: this release of OLM v1 uses its own permissions, like all since 1.11. `namespace`
    is that of the installation.
    """

    name: str
    namespace: str
    is_new: bool = False
    is_extended: bool = False
    is_ignored: bool = False

    @property
    def is_checked(self) -> bool:
        """Return whether the install depends on the permissions of the account."""
        return bool(self.name) and not (self.is_new or self.is_ignored)


@dataclass(eq=False)
class MissingPermissionsError(InputError):
    """A service account lacks permissions; `manifests` grant what is missing."""

    manifests: tuple[Manifest, ...] = field(default=(), kw_only=True)


async def release(reader: ClusterObjects) -> Version | None:
    """Return the release of OLM v1, if its Deployment can be read and its image has a tag."""
    for place in SYSTEMS:
        question = reader.find(kinds.DEPLOYMENT, CONTROLLERS[-1], place)
        found = support.release(await or_default(question, None))
        if found is not None:
            return found
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedPermissions:
    """Notes about a bundle, and the roles and bindings to create for the service account."""

    notes: tuple[str, ...] = ()
    granting: tuple[Manifest, ...] = field(default=(), repr=False)


async def check_bundle(
    reader: ClusterObjects,
    brings: Preview,
    *,
    extension: str,
    account: Account,
    is_enforced: bool = True,
) -> CheckedPermissions:
    """Check a bundle, and return notes and roles.

    `is_enforced`: OLM v1 rejects CRD changes that are not known to be safe for existing objects.
    Raises `InputError` if the bundle cannot be installed as `extension`.
    """
    known = await release(reader)
    notes = support.check(brings, known)
    notes += await _check_crds(reader, brings, extension, known, is_enforced=is_enforced)
    if not account.is_checked or not brings.manifests:
        return CheckedPermissions(notes=notes)
    needs = permissions.required_permissions(brings.manifests, extension=extension, release=known)
    try:
        lacking = await access_review.find_missing_permissions(
            reader, account.name, account.namespace, needs
        )
    except Forbidden:
        note = f"whether the service account `{account.name}` has all permissions is not known"
        return CheckedPermissions(
            notes=(*notes, f"{note}: you may not create SubjectAccessReviews")
        )
    granting = await _create_grants(reader, lacking, account, brings.csv, extension)
    if granting and not account.is_extended:
        missing = _missing_permissions(lacking, granting, account, brings.csv)
        if await _is_ours(reader, account):
            missing.hint += ", or pass `--create-service-account`: olmkit created that account"
        raise missing
    return CheckedPermissions(notes=notes, granting=granting)


_CREATE = (
    "create it, or pass `--create-service-account`: then olmkit creates it with the permissions "
    "that the bundle needs"
)


async def check_account(reader: ClusterObjects, account: Account, *, hint: str = _CREATE) -> None:
    """Raise `InputError` if the service account or its namespace does not exist."""
    if not account.is_checked:
        return
    name, place = account.name, account.namespace
    question = reader.find(("v1", "ServiceAccount"), name, place)
    if await or_default(question, {}) is None:
        raise InputError(
            f"the service account `{name}` does not exist in namespace `{place}`",
            hint=hint,
            cause="service-account",
        )


async def check_objects(reader: ClusterObjects, manifests: Iterable[Manifest]) -> None:
    """Validate new objects of OLM v1 with a dry run of the API server.

    Raises `InputError` for objects that it rejects, for example for their version range.
    """
    for one in manifests:
        if one.get("apiVersion") == extensions.API:
            try:
                await reader.create(one, dry_run=True)
            except Invalid as error:
                raise InputError(error.message, cause="object-refused") from error
            except AlreadyExists:
                continue  # a catalog that an earlier install created


async def check_change(reader: ClusterObjects, extension: Manifest, patch: Manifest) -> None:
    """Validate a change of a ClusterExtension with a dry run of the API server.

    Raises `InputError` if the API server rejects it.
    """
    try:
        await reader.merge(extension, patch, dry_run=True)
    except Invalid as error:
        raise InputError(error.message, cause="object-refused") from error


async def _check_crds(
    reader: ClusterObjects,
    brings: Preview,
    extension: str,
    release: Version | None,
    *,
    is_enforced: bool,
) -> tuple[str, ...]:
    listed = list(brings.crds)
    new = {objects.name(one): one for one in brings.manifests if objects.kind(one) == kinds.CRD[1]}
    notes: tuple[str, ...] = ()
    found = await asyncio.gather(
        *(or_default(reader.find(kinds.CRD, name), None) for name in listed)
    )
    for name, crd in zip(listed, found, strict=True):
        owner = objects.labels_of(crd).get(OWNER_LABEL, "")
        if crd is None:
            continue
        if owner == extension:
            if name in new:
                notes += crd_upgrades.check(crd, new[name], enforced=is_enforced, release=release)
            continue
        if objects.metadata(crd).get("deletionTimestamp"):
            raise InputError(
                f"the CustomResourceDefinition `{name}` is being deleted",
                hint=f"wait, or remove what holds it: `olmkit uninstall {owner or extension} --olm "
                "v1 --delete-operands`",
                cause="crd-ending",
            )
        whose = f"belongs to ClusterExtension `{owner}`" if owner else "was not created by OLM v1"
        raise InputError(
            f"the CustomResourceDefinition `{name}` exists and {whose}",
            hint=f"uninstall `{owner}` first" if owner else "uninstall what created it first",
            cause="object-owned-elsewhere",
        )
    return notes


async def require_ours(reader: ClusterObjects, account: Account) -> None:
    """Raise `InputError` if olmkit did not create the service account."""
    if not await _is_ours(reader, account):
        raise InputError(
            f"olmkit did not create the service account `{account.name}` in namespace "
            f"`{account.namespace}`, and does not change what it may do",
            hint="leave `--create-service-account` out, and apply the manifests that are printed "
            "when permissions are missing",
        )


async def _is_ours(reader: ClusterObjects, account: Account) -> bool:
    question = reader.find(("v1", "ServiceAccount"), account.name, account.namespace)
    found = await or_default(question, None)
    return found is not None and install_objects.is_ours(found)


async def _create_grants(
    reader: ClusterObjects,
    lacking: ExtensionPermissions,
    account: Account,
    csv: str,
    extension: str,
) -> tuple[Manifest, ...]:
    """Return the roles and bindings that grant missing permissions; empty if none are missing.

    Their names are new: an existing role, for example without a binding, keeps what it grants.
    """
    for number in itertools.count(1):
        made = permissions.account_objects(
            lacking,
            account=account.name,
            namespace=account.namespace,
            package=extension,
            suffix=f"-{csv}" if number == 1 else f"-{csv}-{number}",
        )
        granting = tuple(one for one in made if objects.kind(one) != "ServiceAccount")
        existing = [await or_default(reader.current(one), None) for one in granting]
        if not any(existing):
            return granting
    raise AssertionError  # the loop does not end


def _missing_permissions(
    lacking: ExtensionPermissions, granting: tuple[Manifest, ...], account: Account, csv: str
) -> MissingPermissionsError:
    rules = [
        *(permissions.describe_rule(rule) for rule in (*lacking.cluster, *lacking.granted)),
        *(permissions.describe_rule(rule, account.namespace) for rule in lacking.local),
    ]
    counted = f"{len(rules)} permissions" if len(rules) > 1 else "1 permission"
    more = f" and {len(rules) - 1} more" if len(rules) > 1 else ""
    return MissingPermissionsError(
        f"the service account `{account.name}` in namespace `{account.namespace}` lacks {counted} "
        f"that OLM needs to install `{csv}`: {rules[0]}{more}",
        hint="apply the printed manifests, for example with `kubectl apply -f -`",
        manifests=granting,
        cause="service-account-forbidden",
    )


async def account_of(reader: ClusterObjects, extension: Manifest) -> Account:
    """Return the service account of an existing ClusterExtension."""
    spec = kinds.spec(extension)
    return Account(
        name=text(objects.mapping(spec.get("serviceAccount")).get("name")),
        namespace=text(spec.get("namespace")),
        is_ignored=await needs_account(reader) is False,
    )


async def needs_account(reader: ClusterObjects) -> bool | None:
    """Return whether OLM v1 needs a service account; None if its CRD cannot be read."""
    crd = await or_default(reader.find(kinds.CRD, extensions.CRD_NAME), None)
    return None if crd is None else extensions.requires_service_account(crd)
