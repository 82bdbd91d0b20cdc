"""Remove an operator that OLM installed completely, in a safe order.

The order is: the operands, while the operator can still clean up; the Subscription and its
unfinished InstallPlan, so that OLM installs nothing again; the CSV; the objects that olmkit created
for it; and finally the CRDs, if requested. Each deletion is verified with the API server, and
objects that OLM creates in the meantime are deleted too.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from dataclasses import replace

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster import operator_removal
from olmkit.jobs.cluster import read as cluster_read
from olmkit.jobs.cluster import wait as cluster_wait
from olmkit.jobs.cluster import write as cluster_write
from olmkit.jobs.cluster.operator_removal import OperatorRemoval
from olmkit.jobs.cluster.read import or_default
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.jobs.cluster.write import Removed
from olmkit.jobs.cluster_v0 import leftovers, uninstall_plan
from olmkit.jobs.cluster_v0.uninstall_plan import UninstallOptions, UninstallPlan
from olmkit.kube import finalizers, objects
from olmkit.kube.api import Forbidden, NotFound
from olmkit.kube.objects import Manifest
from olmkit.olm import kinds
from olmkit.olm.explain import explanation
from olmkit.olm.explain.installs import explain

_FOREGROUND = "foregroundDeletion"


async def carry_out(
    reader: ClusterObjects, plan: UninstallPlan, *, report: Report, timeouts: Timeouts
) -> Removed:
    """Delete the objects step by step, each step finished before the next.

    OLM may create more objects at the same time: a CSV of a deleted plan, its Operator object, the
    roles of an OperatorGroup. So the job checks for them until none has appeared for some time.
    """
    deleted: list[Manifest] = []
    groups = [one for one in plan.ours if objects.kind(one) == kinds.OPERATOR_GROUP[1]]
    clock = asyncio.get_running_loop().time
    end = clock() + timeouts.seconds
    quiet = timeouts.settled if _is_settled(plan) else timeouts.believed
    since, late = clock(), plan
    while late.all or late.unread or clock() - since < quiet:
        if late.all or late.unread:
            await _release(reader, late, report)
            rest = timeouts.rest(end)
            done = await _delete(reader, late, report=report, timeouts=rest)
            deleted += done.gone
            if done.left:
                hint = await _hint(reader, done.left, plan)
                return replace(done, gone=tuple(deleted), hint=hint)
            since = clock()
        await asyncio.sleep(timeouts.interval)
        look = functools.partial(_late, reader, late, groups)
        late = await cluster_wait.retry(look, report, end)
        if late.subscriptions or clock() >= end:
            break  # keep a Subscription that a user creates again
    return Removed(gone=tuple(deleted), left=late.subscriptions or late.all)


async def _release(reader: ClusterObjects, made: UninstallPlan, report: Report) -> None:
    """Remove the operator's label from InstallPlans that stay for other operators.

    OLM adds the label again as long as the Subscription exists, so this is repeated later.
    """
    label = kinds.operator_label(made.options.package, made.options.namespace)
    for plan in made.shared_plans:
        with contextlib.suppress(NotFound, Forbidden):
            await reader.merge(plan, {"metadata": {"labels": {label: None}}})
            report(f"removed the label {label} from {explanation.subject(plan)}")


async def _delete(
    reader: ClusterObjects, plan: UninstallPlan, *, report: Report, timeouts: Timeouts
) -> Removed:
    """Delete the operands, the operator, and the CRDs."""
    whole = OperatorRemoval(
        operands=plan.operands,
        operator=plan.operator,
        definitions=plan.definitions,
        unread=plan.unread,
        may_go_first=bool(plan.csvs),
        remove_finalizers=plan.options.remove_finalizers,
    )
    return await operator_removal.carry_out(reader, whole, report=report, timeouts=timeouts)


async def _hint(
    reader: ClusterObjects, remaining: tuple[Manifest, ...], plan: UninstallPlan
) -> str:
    """Return a hint: who must remove which finalizer, why it is not removed, and what to do."""
    held = await or_default(cluster_write.find_held(reader, remaining), ())
    if not held:
        return await or_default(_garbage_collector_hint(reader, remaining), "")
    kept = finalizers.of_operators(held[0])
    names = ", ".join(f"`{name}`" for name in kept)
    is_of_olm = objects.kind(held[0]) == kinds.CSV[1]
    subject = "OLM" if is_of_olm else "the operator"
    setters = sorted({name for one in kept if (name := finalizers.set_by(held[0], one))})
    parts = [f"{explanation.subject(held[0])} waits until {subject} removes the finalizer {names}"]
    if setters and not is_of_olm:  # it need not be the operator
        listed = ", ".join(f"`{name}`" for name in setters)
        waits = f"{explanation.subject(held[0])} waits until its finalizer {names} is removed"
        parts = [f"{waits}, which {listed} has set"]
    if not is_of_olm and plan.csvs:
        parts += await or_default(_trouble(reader, plan.options), [])
    if not plan.options.remove_finalizers:
        parts.append("`--remove-finalizers` does it instead")
    return "; ".join(parts)


async def _garbage_collector_hint(reader: ClusterObjects, remaining: tuple[Manifest, ...]) -> str:
    """Return a hint about an object that waits for the garbage collector, if there is one."""
    for one in remaining:
        found = await reader.current(one)
        if found is not None and finalizers.contains(found, _FOREGROUND):
            return (
                f"{explanation.subject(one)} waits until the cluster's garbage collector has "
                "deleted what it owns; read the log of kube-controller-manager"
            )
    return ""


async def _trouble(reader: ClusterObjects, options: UninstallOptions) -> list[str]:
    """Return why the operator does not work, if that is known."""
    seen = await cluster_read.snapshot(reader, options.namespace, logs=False)
    found = explain(await cluster_read.add_details(reader, seen), options.package)
    return [] if found.is_ready else [f"the operator is not ready: {found.message}"]


def _is_settled(plan: UninstallPlan) -> bool:
    """Return whether OLM is idle: the CSV that it has chosen is installed."""
    states = [kinds.status(one) for one in plan.subscriptions]
    return not plan.plans and all(
        one.get("installedCSV") and one.get("installedCSV") == one.get("currentCSV")
        for one in states
    )


async def undo(
    reader: ClusterObjects, subscription: Manifest, *, report: Report, timeouts: Timeouts
) -> Removed:
    """Delete a Subscription and the objects that OLM created for it, except CRDs."""
    options = UninstallOptions(
        namespace=objects.namespace(subscription),
        package=kinds.subscription_key(subscription).package,
        keep_ours=True,
    )
    seen = await cluster_read.snapshot(reader, options.namespace, logs=False)
    made = await uninstall_plan.removal(reader, options, seen, report=report)
    return await carry_out(reader, made, report=report, timeouts=timeouts)


async def _late(
    reader: ClusterObjects, before: UninstallPlan, groups: list[Manifest]
) -> UninstallPlan:
    """Return remaining objects of an operator that was removed."""
    seen = await cluster_read.snapshot(reader, before.options.namespace, logs=False)
    found = await uninstall_plan.removal(reader, before.options, seen, sources=before.sources)
    roles = await leftovers.find_for_groups(reader, groups)
    return replace(found, leftovers=(*found.leftovers, *roles))
