"""Remove an operator that OLM v1 installed, with its CRDs and their objects.

OLM v1 deletes the CRDs with the ClusterExtension, and the API server deletes their objects with
them. An object with a finalizer would then stay forever, since the operator that removes the
finalizer was deleted. So the objects are deleted first, while the operator runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace

from olmkit.base.diagnostics import InputError
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster import operands as operand_objects
from olmkit.jobs.cluster import operator_removal
from olmkit.jobs.cluster import wait as cluster_wait
from olmkit.jobs.cluster import write as cluster_write
from olmkit.jobs.cluster.leases import find_leases
from olmkit.jobs.cluster.operator_removal import NothingToRemoveError, OperatorRemoval
from olmkit.jobs.cluster.read import created_namespace_note, or_default
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.jobs.cluster.write import Removed
from olmkit.jobs.cluster_v1 import state as states
from olmkit.kube import finalizers, objects
from olmkit.kube.objects import Manifest, text
from olmkit.olm import install_objects, kinds
from olmkit.olm.cluster_state import Objects
from olmkit.olm.v1 import extension as extensions
from olmkit.olm.v1.explain import explain
from olmkit.olm.v1.state import OWNER_LABEL, ExtensionState

_RBAC = "rbac.authorization.k8s.io/v1"
_ACCOUNT_KINDS = (
    *((_RBAC, f"{scope}Role{part}") for part in ("Binding", "") for scope in ("Cluster", "")),
    ("v1", "ServiceAccount"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionRemoval:
    """The objects to delete.

    `operands` are the objects of the CRDs, except of `unread` CRDs, whose conversion webhook does
    not respond. `workloads` are the Deployments. `ours` are the objects that OLM does not delete:
    Leases of the operator, and the catalog, service account and roles that olmkit created.
    `extension` is None if it was deleted before and other objects remain. `is_complete` is False if
    the user did not request to delete the operands, which OLM v1 would delete anyway. `stays`
    describes what is not deleted.
    """

    name: str
    extension: Manifest | None
    operands: Objects
    crds: Objects
    workloads: Objects
    ours: Objects
    is_complete: bool
    unread: Objects = ()
    stays: tuple[str, ...] = ()

    @property
    def all(self) -> Objects:
        """Return all objects, in the order of their deletion."""
        first = () if self.extension is None else (self.extension,)
        return (*self.operands, *first, *self.workloads, *self.crds, *self.ours)


async def plan(
    reader: ClusterObjects,
    name: str,
    *,
    delete_operands: bool,
    report: Report = cluster_wait.silent,
) -> ExtensionRemoval:
    """Return the objects to delete; nothing is written.

    Raises `InputError` if there are no objects for this name, and if several ClusterExtensions
    request this package.
    """
    await states.require_olm(reader)
    extension = await states.find(reader, name)
    owner = name if extension is None else objects.name(extension)
    labels = f"{OWNER_LABEL}={owner}"
    crds = await reader.list(kinds.CRD, labels=labels)
    ours = (*await _catalogs(reader, owner), *await _account(reader, owner))
    if extension is None and not crds and not ours:
        error = await states.not_found_error(reader, name, command="olmkit uninstall")
        if error == explain(ExtensionState(name=name)):
            raise NothingToRemoveError(error.message, cause="not-installed")
        raise InputError(error.message, hint=error.hint, cause=error.cause)
    listing = await operand_objects.list_operands(reader, crds, report=report)
    workloads = await or_default(reader.list(kinds.DEPLOYMENT, labels=labels), ())
    place = text(kinds.spec(extension).get("namespace"))
    place = place or next(filter(None, map(objects.namespace, ours)), "")
    leases = await find_leases(reader, place, map(objects.name, workloads)) if place else []
    return ExtensionRemoval(
        name=owner,
        extension=extension,
        operands=listing.found,
        crds=crds,
        workloads=workloads,
        ours=(*leases, *ours),
        is_complete=delete_operands or not (listing.found or listing.unread),
        unread=tuple(one.crd for one in listing.unread),
        stays=await created_namespace_note(reader, place),
    )


def require_complete(removal: ExtensionRemoval) -> None:
    """Raise `InputError` if operands would be deleted without the user's request."""
    if removal.is_complete:
        return
    count = len(removal.operands)
    counted = f"{count} objects of them exist" if count != 1 else "1 object of them exists"
    if removal.unread and not count:
        names = ", ".join(f"`{objects.name(one)}`" for one in removal.unread)
        counted = f"whether objects of {names} exist is not known: nothing converts them"
    raise InputError(
        f"OLM v1 deletes the CRDs with the ClusterExtension `{removal.name}`, and {counted}",
        hint="pass `--delete-operands` to delete them first, while the operator can clean up",
        cause="operands-exist",
    )


async def carry_out(
    reader: ClusterObjects,
    removal: ExtensionRemoval,
    *,
    remove_finalizers: bool = False,
    report: Report,
    timeouts: Timeouts,
) -> Removed:
    """Delete the operands, then the ClusterExtension; wait until OLM has deleted its objects.

    `remove_finalizers`: remove the finalizers of operands, for an operator that no longer runs.
    """
    extension = () if removal.extension is None else (removal.extension,)
    whole = OperatorRemoval(
        operands=removal.operands,
        operator=[extension],
        definitions=(),
        unread=removal.unread,
        may_go_first=bool(extension),
        remove_finalizers=remove_finalizers and bool(removal.operands or removal.unread),
    )
    clock = asyncio.get_running_loop().time
    end = clock() + timeouts.seconds
    done = await operator_removal.carry_out(reader, whole, report=report, timeouts=timeouts)
    if done.left:
        held = await cluster_write.find_held(reader, done.left)
        return replace(done, hint=_hint(held))
    created = (*removal.workloads, *removal.crds)
    rest = timeouts.rest(end)
    left = await cluster_wait.wait_until_deleted(reader, created, report=report, timeouts=rest)
    done = _join(done, Removed(gone=tuple(one for one in created if one not in left), left=left))
    if left:
        return done
    steps = [(one,) for one in removal.ours]
    rest = timeouts.rest(end)
    return _join(done, await cluster_write.delete(reader, steps, report=report, timeouts=rest))


def _hint(held: Objects) -> str:
    """Return a hint about finalizers that block the deletion; empty if none do."""
    names = {name for one in held for name in finalizers.of_operators(one)}
    if not names:
        return ""
    listed = ", ".join(f"`{one}`" for one in sorted(names))
    return (
        f"wait until the owner of the finalizers {listed} removes them; if it "
        "no longer runs, pass `--remove-finalizers`, which skips their clean-up"
    )


def _join(before: Removed, after: Removed) -> Removed:
    return replace(after, gone=(*before.gone, *after.gone))


async def _catalogs(reader: ClusterObjects, name: str) -> Objects:
    """Return the catalogs that olmkit created only for this ClusterExtension."""
    others = [
        extensions.catalog_name(extensions.request_of(one))
        for one in await reader.list(extensions.CLUSTER_EXTENSION)
        if objects.name(one) != name
    ]
    return tuple(_ours(await reader.list(extensions.CLUSTER_CATALOG), name, others))


async def _account(reader: ClusterObjects, name: str) -> Objects:
    """Return the bindings, roles and service account that olmkit created for it."""
    labels = f"{install_objects.MANAGED_BY}=olmkit,{install_objects.PART_OF}={name}"
    found = [
        one
        for kind in _ACCOUNT_KINDS
        for one in await or_default(reader.list(kind, labels=labels), ())
    ]
    return tuple(found)


def _ours(catalogs: Iterable[Manifest], name: str, others: list[str]) -> Iterable[Manifest]:
    for one in catalogs:
        part_of = objects.labels_of(one).get(install_objects.PART_OF)
        if install_objects.is_ours(one) and part_of == name and objects.name(one) not in others:
            yield one
